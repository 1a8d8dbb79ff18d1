*** Settings ***
Documentation       What the five operators of person detection cost a hello_world that does not need
...                 them, and what empty resolver slots cost. Figures of standalone builds, but for the
...                 tests tagged zephyr, which are skipped where there is no Zephyr workspace.
Resource            ../../robot/tflm.resource


*** Test Cases ***
Five Operators Cost Thousands Of Bytes Of Flash
    ${one} =    Size Of    hello_world    exact
    ${six} =    Size Of    hello_world    person_detection
    ${grown} =    Evaluate    $six.flash - $one.flash
    Log    +${grown} B of flash    console=${TRUE}
    Should Be True    4000 < ${grown} < 40000

Five Operators Cost 36 Bytes Of RAM Each
    [Documentation]    A registration of seven words, a code and a parser. The linker aligns what
    ...    follows the resolver to 16 B; under Zephyr with tflite-micro the five cost 176 or 184 B.
    ${one} =    Size Of    hello_world    exact
    ${six} =    Size Of    hello_world    person_detection
    ${grown} =    Evaluate    $six.ram - $one.ram
    Log    +${grown} B of RAM    console=${TRUE}
    Should Be True    abs(${grown} - 5 * 36) < 16

Five Operators Cost 20 KB Of Flash And 180 Bytes Of RAM With The Real Runtime
    [Documentation]    The same two images of Zephyr and tflite-micro. How much flash depends on the
    ...    compiler and on tflite-micro's revision (19,356 to 20,860 B were seen), the RAM on alignment alone.
    [Tags]    zephyr
    ${one} =    Size Of    hello_world    exact    zephyr
    ${six} =    Size Of    hello_world    person_detection    zephyr
    ${flash} =    Evaluate    $six.flash - $one.flash
    ${ram} =    Evaluate    $six.ram - $one.ram
    Log    +${flash} B of flash, +${ram} B of RAM    console=${TRUE}
    Should Be True    15000 < ${flash} < 26000
    Should Be True    abs(${ram} - 5 * 36) < 16

Empty Slots Cost RAM
    ${one} =    Size Of    hello_world    exact
    ${many} =    Size Of    hello_world    too_large
    ${grown} =    Evaluate    $many.ram - $one.ram
    Log    31 empty slots: +${grown} B of RAM    console=${TRUE}
    Should Be True    abs(${grown} - 31 * 36) < 16


*** Keywords ***
Size Of
    [Documentation]    Flash and RAM of a sample in one configuration; skips without the builder.
    [Arguments]    ${sample}    ${resolver}    ${builder}=standalone
    TRY
        ${elf} =    Build Firmware    ${sample}    ${resolver}    ${builder}
    EXCEPT    no Zephyr workspace*    type=GLOB    AS    ${reason}
        Skip    ${reason}
    END
    ${size} =    Get Size    ${elf}
    RETURN    ${size}
