"""GitHub's annotations: where they point to, and text that stays one line."""

from __future__ import annotations

import pytest
from results import case_result

from harness.case.result import Verdict
from harness.report.annotations import annotated

CASES = (
    '[[case]]\nname = "a"\nelf = "a.elf"\n\n[[case]]\nname = \'b, the "other"\'\nelf = "b.elf"\n'
)


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.c").write_text("")
    (tmp_path / "hil.toml").write_text(CASES)
    return tmp_path


def told(workspace, **given):
    result = case_result(**{"verdict": Verdict.FAIL, "name": "a", **given})
    return list(annotated([result], workspace / "hil.toml", workspace))


def test_a_failure_stands_at_the_source_line_that_it_names(workspace):
    [line] = told(workspace, verdict=Verdict.FIRMWARE, reason="pc is in Reset at main.c:87")
    assert line == (
        "::error file=src/main.c,line=87,title=a on simulator%3A firmware::"
        "pc is in Reset at main.c:87"
    )


def test_a_place_in_a_file_that_is_not_here_or_twice_here_is_not_guessed(workspace):
    (workspace / "main.c").write_text("")
    for reason in ("pc is in Reset at main.c:87", "k_panic at fatal.c:119"):
        [line] = told(workspace, reason=reason)
        assert line.startswith("::error file=hil.toml,line=2,")


def test_a_copy_in_a_build_folder_does_not_count(workspace):
    (workspace / "build").mkdir()
    (workspace / "build" / "main.c").write_text("")
    assert told(workspace, reason="at main.c:87")[0].startswith("::error file=src/main.c,line=87,")


def test_a_failure_without_a_place_stands_at_its_case(workspace):
    [line] = told(workspace, name='b, the "other"', reason="3 of 10 values differ")
    assert line.startswith(
        '::error file=hil.toml,line=6,title=b%2C the "other" on simulator%3A fail'
    )


def test_without_a_case_file_there_is_no_place(workspace):
    result = case_result(verdict=Verdict.FAIL, reason="no")
    assert list(annotated([result], None, workspace)) == [
        "::error title=case on simulator%3A fail::no"
    ]


def test_what_a_device_printed_cannot_begin_a_command_of_its_own(workspace):
    [line] = told(workspace, reason="x\r\n::error::100 %")
    assert line.endswith("::x%0D%0A::error::100 %25")


def test_skips_are_warnings_and_passes_are_silent(workspace):
    assert told(workspace, verdict=Verdict.SKIPPED)[0].startswith("::warning ")
    assert told(workspace, verdict=Verdict.PASS) == []
