*** Settings ***
Documentation       Whole test sets through one booted image: every output equals the reference to
...                 the bit, and the accuracy on the device is the one on the model's card.
Resource            ../../robot/tflm.resource
Test Template       Device Should Be As Accurate As The Card Says


*** Test Cases ***      SAMPLE        MODEL
Digits                  digits        digits_int8.tflite
Digits CNN              digits_cnn    digits_cnn_int8.tflite
Residual                residual      residual_int8.tflite


*** Keywords ***
Device Should Be As Accurate As The Card Says
    [Documentation]    Feeds the 400 held-out digits through the console.
    [Arguments]    ${sample}    ${model}
    ${result} =    Run Sample Case    ${sample}    console    ${TARGET}
    Accuracy Should Equal The Card    ${result}    ${model}
