*** Settings ***
Documentation       A case file runs images that this project did not build; and a case that should
...                 fail does.
Resource            ../../robot/tflm.resource
Resource            output.resource
Suite Setup         Bring An Image
Test Template       Case Should End As


*** Test Cases ***                          FILE       CASE                                   VERDICT
Records Equal The Reference                 ${FILE}    an image of one's own                  pass
Printed Values Equal The Reference          ${FILE}    the same, read from its text           pass
A Tight Budget Fails                        ${FILE}    a budget that is too tight             fail
Another Model Fails                         ${FILE}    another model than the image runs      fail
A Finding That Never Comes Fails            ${FILE}    a finding that never comes             fail


*** Keywords ***
Bring An Image
    [Documentation]    Puts an ELF beside a copy of tests/cases/hil.toml, as a user would have them.
    ${folder} =    New Output Folder    own
    ${elf} =    Build Firmware    hello_world    exact
    Copy File    ${elf}    ${folder}/hello_world.elf
    VAR    ${FILE}    ${folder}/hil.toml    scope=SUITE
    Copy File    ${CURDIR}/../cases/hil.toml    ${FILE}
