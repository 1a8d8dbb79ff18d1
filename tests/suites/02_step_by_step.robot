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

An Image Fits Its Budgets
    ${elf} =    Build Firmware    hello_world    exact
    Flash Should Not Exceed    ${elf}    64 KB
    RAM Should Not Exceed    ${elf}    16 KB
