*** Settings ***
Documentation       Is every intermediate tensor right, not only the last one? The target stops where
...                 each operator asks for its output, and what the one before it wrote is read from
...                 memory. The firmware knows nothing of it.
Resource            ../../robot/tflm.resource
Library             harness.keywords.layers.Layers
Test Template       Every Operator Should Equal The Reference


*** Test Cases ***      SAMPLE               MODEL
Sine                    hello_world          hello_world_int8.tflite
Sine In Float           hello_world_float    hello_world_float32.tflite
Digits                  digits               digits_int8.tflite
Digits CNN              digits_cnn           digits_cnn_int8.tflite
Residual                residual             residual_int8.tflite
Chime                   chime                chime_int8.tflite
Custom Operator         atan                 atan_float32.tflite


*** Keywords ***
Every Operator Should Equal The Reference
    [Documentation]    The second inference: what the first one left in the arena must not matter.
    [Arguments]    ${sample}    ${model}
    ${elf} =    Build Firmware    ${sample}
    Layers Should Equal Reference    ${elf}    ${model}    inference=1
