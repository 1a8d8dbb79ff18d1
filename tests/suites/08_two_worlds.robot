*** Settings ***
Documentation       Do samples in the non-secure world, on the project's own secure image, what the
...                 resolver table says of them, as they do alone? Every line that they print goes
...                 through a gateway.
Resource            ../../robot/tflm.resource
Resource            output.resource
Test Template       Non-Secure Sample Should Behave As The Table Says


*** Test Cases ***                          SAMPLE               RESOLVER
hello_world exact                           hello_world          exact
hello_world missing                         hello_world          missing
hello_world checked                         hello_world          checked
hello_world console                         hello_world          console
hello_world_float exact                     hello_world_float    exact
digits exact                                digits               exact
atan custom                                 atan                 custom

Step By Step
    [Template]    NONE
    ${folder} =    Build Firmware    hello_world    exact    standalone-ns
    Resolver Check Should Say    ${folder}    hello_world_int8.tflite    ok
    Flash Should Not Exceed    ${folder}    64 KB
    Start Target    ${folder}    ${TARGET}    model=hello_world_int8.tflite
    Wait For Inference    count=10
    Outputs Should Match Reference
    Target Should Report Nothing
    [Teardown]    Stop Target

Interrupts In Both Worlds
    [Documentation]    SysTick, PendSV and a timer's interrupt by the non-secure vector table, SysTick
    ...    and a software interrupt by the secure one, in the middle of each other's work.
    [Template]    NONE
    Skip If    $CHIP.lower() not in ("", "nrf9160")    the example is for the nRF9160
    ${folder} =    Make Example    two_worlds
    Run Case    ${folder}/hil.toml


*** Keywords ***
Make Example
    [Documentation]    Makes a copy of an example; returns the folder. Images that lie in the
    ...    example's own folder are made anew.
    [Arguments]    ${name}
    ${folder} =    New Output Folder    ${name}
    Copy Directory    ${CURDIR}/../../examples/${name}    ${folder}
    ${code}    ${said} =    Run And Return Rc And Output    make --always-make -C "${folder}"
    Should Be Equal As Integers    ${code}    0    ${said}
    RETURN    ${folder}

Non-Secure Sample Should Behave As The Table Says
    [Arguments]    ${sample}    ${resolver}
    Run Sample Case    ${sample}    ${resolver}    ${TARGET}    builder=standalone-ns
