*** Settings ***
Documentation       What the five operators of person detection cost a hello_world that does not need
...                 them, and what empty resolver slots cost. Figures of standalone builds.
Resource            ../robot/tflm.resource


*** Test Cases ***
Five Operators Cost Thousands Of Bytes Of Flash
    ${one} =    Size Of    hello_world    exact
    ${six} =    Size Of    hello_world    person_detection
    ${grown} =    Evaluate    $six.flash - $one.flash
    Log    +${grown} B of flash    console=${TRUE}
    Should Be True    4000 < ${grown} < 40000

Five Operators Cost 36 Bytes Of RAM Each
    [Documentation]    A registration of seven words, a code and a parser. The linker aligns what
    ...    follows the resolver to 16 B; under Zephyr with tflite-micro the five cost 184 B.
    ${one} =    Size Of    hello_world    exact
    ${six} =    Size Of    hello_world    person_detection
    ${grown} =    Evaluate    $six.ram - $one.ram
    Log    +${grown} B of RAM    console=${TRUE}
    Should Be True    abs(${grown} - 5 * 36) < 16

Empty Slots Cost RAM
    ${one} =    Size Of    hello_world    exact
    ${many} =    Size Of    hello_world    too_large
    ${grown} =    Evaluate    $many.ram - $one.ram
    Log    31 empty slots: +${grown} B of RAM    console=${TRUE}
    Should Be True    abs(${grown} - 31 * 36) < 16


*** Keywords ***
Size Of
    [Documentation]    Flash and RAM of a sample in one configuration.
    [Arguments]    ${sample}    ${resolver}
    ${elf} =    Build Firmware    ${sample}    ${resolver}
    ${size} =    Get Size    ${elf}
    RETURN    ${size}
