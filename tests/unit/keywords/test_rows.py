"""The library learns which rows a suite will run before it builds and runs them all at once."""

import io
from pathlib import Path

from robot import api

SUITE = """
*** Settings ***
Library           harness.keywords.TflmHil
Suite Setup       Note Rows
Test Template     Take

*** Test Cases ***
first     hello_world    exact
second    digits         exact

*** Keywords ***
Note Rows
    ${library} =    Get Library Instance    harness.keywords.TflmHil
    Set Global Variable    ${ROWS}    ${library.rows}

Take
    [Arguments]    ${sample}    ${configuration}
    Should Be Equal    ${{sorted($ROWS)}}    ${{$EXPECTED}}
"""


def test_all_rows_without_a_choice(tmp_path):
    expected = [("digits", "exact"), ("hello_world", "exact")]
    suite = SUITE.replace("$EXPECTED", repr(expected))
    assert _passes(tmp_path, suite)


def test_only_the_chosen_rows(tmp_path):
    suite = SUITE.replace("$EXPECTED", repr([("digits", "exact")]))
    assert _passes(tmp_path, suite, "second")


def _passes(tmp_path: Path, text: str, *names: str) -> bool:
    path = tmp_path / "rows.robot"
    path.write_text(text)
    suite = api.TestSuite.from_file_system(path)
    if names:
        suite.filter(included_tests=list(names))
    result = suite.run(output=None, stdout=io.StringIO(), stderr=io.StringIO())
    assert result.suite.statistics.total == (len(names) or 2)
    return result.return_code == 0
