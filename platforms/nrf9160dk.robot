*** Comments ***
For Renode's own test runner, not for this project's `robot tests/`:

    renode-test --variable BIN:path/to/zephyr.elf --variable "LINE:Hello World!" platforms/nrf9160dk.robot


*** Variables ***
# Another image, and a line of its console.
${BIN}              ${EMPTY}
${LINE}             x_value: 5.969026, y_value: -0.319624
${SCRIPT}           ${CURDIR}/nrf9160dk.resc

${BUTTON1_CNF}      0x50842718      # P0.06
${LED1_CNF}         0x50842708      # P0.02
${OUTSET}           0x50842508
${OUTCLR}           0x5084250C
${IN}               0x50842510


*** Keywords ***
Start Image
    IF    not $BIN
        ${built}    Run Process    tflm-hil    build    hello_world
        Should Be Equal As Integers    ${built.rc}    0    ${built.stderr}
        Set Suite Variable    ${BIN}    ${built.stdout}
    END
    Execute Command    $bin=@${BIN}
    Execute Command    include @${SCRIPT}
    Create Terminal Tester    sysbus.uarte0    timeout=10

Level Of Button1 Should Be
    [Arguments]    ${level}
    Execute Command    emulation RunFor "0.002"
    ${levels}    Execute Command    sysbus ReadDoubleWord ${IN}
    ${bit}    Evaluate    int($levels.strip(), 16) >> 6 & 1
    Should Be Equal As Integers    ${bit}    ${level}


*** Test Cases ***
Should Boot
    Start Image
    Wait For Line On Uart    ${LINE}

Should Boot Again After A Reset
    Start Image
    Wait For Line On Uart    ${LINE}
    Execute Command    machine Reset
    Wait For Line On Uart    ${LINE}

Should See A Button
    Start Image
    Execute Command    sysbus WriteDoubleWord ${BUTTON1_CNF} 0xC    # an input, pulled up
    Level Of Button1 Should Be    1
    Execute Command    sysbus.p0.button1 Press
    Level Of Button1 Should Be    0
    Execute Command    sysbus.p0.button1 Release
    Level Of Button1 Should Be    1

Should Keep A Button In A Reset
    Start Image
    Execute Command    sysbus.p0.button1 Press
    Execute Command    machine Reset
    Execute Command    sysbus WriteDoubleWord ${BUTTON1_CNF} 0xC
    Level Of Button1 Should Be    0

Should Light An Led
    Start Image
    Create Led Tester    sysbus.p0.led1
    Execute Command    sysbus WriteDoubleWord ${LED1_CNF} 1    # an output
    Assert Led State    false
    Execute Command    sysbus WriteDoubleWord ${OUTSET} 0x4
    Assert Led State    true
    Execute Command    sysbus WriteDoubleWord ${OUTCLR} 0x4
    Assert Led State    false
