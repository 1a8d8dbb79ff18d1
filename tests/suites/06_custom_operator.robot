*** Settings ***
Documentation       Does the runtime call a custom operator as documented: init and free once a node,
...                 prepare before the first invoke, invoke once an inference, also where set-up
...                 fails on the way? The kernel of the sample atan counts its calls itself.
Resource            ../../robot/tflm.resource
Library             harness.keywords.lifecycle.OperatorLifecycle


*** Variables ***
${MODEL}            atan_float32.tflite


*** Test Cases ***
Ten Inferences Call It As Documented
    ${result} =    Run Sample Case    atan    exact
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan
    ...    init=1    prepare=1    invoke=10    free=1    reset=2    order=iprvrf

The Order Of Registration Changes Nothing
    ${result} =    Run Sample Case    atan    custom
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan    order=iprvrf

Inputs From The Host Change Nothing
    ${result} =    Run Sample Case    atan    console
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan    invoke=100    order=iprvrf

A Second Registration That Is Refused Does Not Call It Twice
    ${result} =    Run Sample Case    atan    custom_duplicate
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan    init=1    invoke=10    free=1

What Was Initialized Is Freed Although The Arena Was Too Small To Prepare It
    ${result} =    Run Sample Case    atan    arena_too_small
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan    init=1    prepare=0    invoke=0    free=1

What Was Prepared Is Freed Although The Arena Was One Byte Short
    ${result} =    Run Sample Case    atan    arena_one_byte_short
    Lifecycle Should Be As Documented    ${result}    Atan    ${MODEL}
    Lifecycle Should Count    ${result}    Atan    prepare=1    invoke=0    free=1

A Kernel That Could Not Be Registered Is Never Called
    ${result} =    Run Sample Case    atan    custom_too_small
    Lifecycle Should Count    ${result}    Atan
    ...    init=0    prepare=0    invoke=0    free=0    reset=0
