*** Settings ***
Documentation       The keywords one by one, as in a suite of one's own.
Resource            ../../robot/tflm.resource
Test Teardown       Stop Target


*** Test Cases ***
Ten Inferences Equal The Reference To The Bit
    Build And Start    hello_world    exact    model=hello_world_int8.tflite
    Wait For Inference    count=10
    Outputs Should Match Reference
    Target Should Report Nothing

A Missing Operator Is Named
    Build And Start    hello_world    missing
    Wait For End
    Target Should Report Missing Operator    FULLY_CONNECTED

A Resolver That Is Too Small Names The Refused Operator
    Build And Start    hello_world    too_small
    Wait For End
    Target Should Report    resolver_too_small    SOFTMAX

A Session Is Looked Into
    Build And Start    hello_world    exact
    ${x} =    Wait For Line    x_value: (\\S+),
    Should Be Equal    ${x}    0.000000
    ${words} =    Read Memory    g_vectors    size=8
    Length Should Be    ${words}    8
    Run For    1 ms
    ${stack} =    Call Stack
    Should Contain    ${stack}    main
    Reset Target
    # A board has gone on printing until its reset pin fell.
    Wait For Line    ~HIL 0 boot
    ${x} =    Wait For Line    x_value: (\\S+),
    Should Be Equal    ${x}    0.000000

An Image Fits Its Budgets
    ${elf} =    Build Firmware    hello_world    exact
    Flash Should Not Exceed    ${elf}    64 KB
    RAM Should Not Exceed    ${elf}    16 KB
