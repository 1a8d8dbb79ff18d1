*** Settings ***
Documentation       Do samples in the non-secure world, on the project's own secure image, what the
...                 resolver table says of them, as they do alone? Every line that they print goes
...                 through a gateway. A target without TrustZone-M (Renode before 1.17) cannot:
...                 ``--exclude two-worlds``.
Resource            ../../robot/tflm.resource
Test Tags           two-worlds
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


*** Keywords ***
Non-Secure Sample Should Behave As The Table Says
    [Arguments]    ${sample}    ${resolver}
    Run Sample Case    ${sample}    ${resolver}    ${TARGET}    builder=standalone-ns
