"""What a user reads of a failing case: all that is wrong, once, with its console line and hint."""

import io
from xml.etree import ElementTree

from results import case_result

from harness.base.findings import Finding, Kind
from harness.case.result import CaseResult, Verdict
from harness.report.html import html
from harness.report.junit import junit
from harness.report.problems import ValuePair, problem_lines, value_pairs
from harness.report.terminal import print_failures, print_table


def failing(**changes) -> CaseResult:
    return case_result(**({"verdict": Verdict.FAIL, "reason": "short"} | changes))


def text(result: CaseResult) -> str:
    stream = io.StringIO()
    print_table([result], stream)
    print_failures([result], stream)
    return stream.getvalue()


MISSING = Finding(Kind.MISSING_OPERATOR, "Didn't find op", "CONV_2D", 3)


def test_a_problem_that_is_a_finding_stands_there_once_with_its_kind_and_line():
    result = failing(problems=("Didn't find op", "nothing came"), findings=(MISSING,))
    assert problem_lines(result) == [
        "missing_operator CONV_2D: Didn't find op (console line 3)",
        "nothing came",
    ]


def test_a_kind_that_the_message_begins_with_stands_there_once():
    access = Finding(Kind.UNMODELLED_ACCESS, "unmodelled access: write at UARTE0+0x50c", "UARTE0")
    assert problem_lines(failing(problems=("x",), findings=(access,)))[1:] == [access.message]


def test_notes_come_last():
    note = Finding(Kind.APPROXIMATION, "roughly")
    result = failing(problems=("x",), findings=(note, MISSING, note))
    assert [line.partition(":")[0] for line in problem_lines(result)] == [
        "x",
        "missing_operator CONV_2D",
        "approximation",
    ]


def test_findings_that_are_not_problems_follow():
    note = Finding(Kind.LOG_ERROR, "late")
    result = failing(problems=("Didn't find op",), findings=(note, MISSING))
    assert problem_lines(result)[1:] == ["log_error: late"]


def test_equal_findings_are_shown_once_with_their_number():
    faults = tuple(Finding(Kind.FAULT, "Hard fault", line=line) for line in range(1, 9))
    assert problem_lines(failing(problems=("Hard fault",), findings=faults)) == [
        "fault: Hard fault (8 times, console lines 1, 2, 3, 4, 5, ...)"
    ]


def test_every_problem_and_the_hint_stand_in_text_junit_and_html():
    result = failing(problems=("flash is over", "ram is over"), hint="make it smaller")
    xml = ElementTree.fromstring(junit([result]).encode()).find(".//failure").text
    for shown in (text(result), xml, html([result])):
        for words in ("flash is over", "ram is over", "make it smaller"):
            assert words in shown


def test_in_a_pipe_each_case_is_one_line_without_trailing_blanks():
    shown = text(failing(reason="why " * 60, problems=("why",)))
    row = next(line for line in shown.splitlines() if line.startswith("case"))
    assert row.count("why") == 60
    assert all(line == line.rstrip() for line in shown.splitlines())


def test_a_subject_that_the_message_does_not_name_is_named():
    refused = Finding(Kind.RESOLVER_TOO_SMALL, "Couldn't register builtin op #25", "SOFTMAX")
    named = Finding(Kind.MISSING_OPERATOR, "Didn't find op for 'CONV_2D'", "CONV_2D")
    assert problem_lines(failing(problems=(refused.message,), findings=(refused, named))) == [
        "resolver_too_small SOFTMAX: Couldn't register builtin op #25",
        "missing_operator: Didn't find op for 'CONV_2D'",
    ]


def test_values_that_differ_are_told_apart_from_other_details():
    pairs, rest = value_pairs(
        "result 1: right is -10, expected -11\n"
        "input 0\n  [0, 3]: obtained 4.5, expected 5, 0.1 allowed\nand 3 more"
    )
    assert pairs == [
        ValuePair("result 1: right", "-10", "-11"), ValuePair("[0, 3]", "4.5", "5, 0.1 allowed"),
    ]  # fmt: skip
    assert rest == "input 0\nand 3 more"


def test_a_long_line_of_a_device_is_searched_in_linear_time():
    assert value_pairs(" is " * 200_000)[0] == []
