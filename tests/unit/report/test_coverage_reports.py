"""What ran, as people and as tools read it."""

import io
import json
import re

from results import case_result

from harness.case.result import CaseResult
from harness.elf.call_tree import CallNode, CallTree
from harness.elf.coverage import Coverage
from harness.report.coverage import lcov, lines_run, print_profiles, profile, profiles
from harness.report.html import html


def traced(functions: dict[str, int], name: str = "a case") -> CaseResult:
    coverage = Coverage(functions, {"src/a.c": {1: True, 2: False, 9: True}})
    return case_result(name=name, coverage=coverage)


def test_shares_are_of_all_instructions_and_the_tail_is_one_row():
    coverage = Coverage({f"f{n}": 100 - n for n in range(30)}, {})
    rows = profile(coverage, most=10)
    assert [row.function for row in rows[:2]] == ["f0", "f1"]
    assert rows[-1].function == "20 more functions"
    assert sum(row.instructions for row in rows) == coverage.instructions
    assert abs(sum(row.part for row in rows) - 1) < 1e-12


def test_a_trace_of_nothing_has_no_shares_and_divides_by_nothing():
    assert profile(Coverage()) == ()
    assert lines_run(Coverage()) == "0 of 0 lines of code ran"


def test_the_profile_is_printed_for_cases_that_were_traced_only():
    stream = io.StringIO()
    plain = case_result(name="other")
    print_profiles([traced({"main(int)": 3, "[odd]": 1}), plain], stream)
    shown = stream.getvalue()
    assert re.search(r"75\.0 % +main\(int\)", shown)
    assert "[odd]" in shown
    assert "2 of 3 lines of code ran (66.7 %)" in shown
    assert "other" not in shown


def test_lcov_holds_each_case_under_a_name_that_lcov_takes():
    trace = lcov([traced({}, "an ö case"), traced({}, "b")])
    names = [line for line in trace.splitlines() if line.startswith("TN:")]
    assert names == ["TN:an___case_simulator", "TN:b_simulator"]
    assert trace.count("SF:src/a.c") == 2


def test_the_page_shows_coverage_and_profile():
    page = html([traced({"hot<T>": 9, "cold": 1})])
    assert "2 of 3 lines of code ran" in page
    assert "hot&lt;T&gt;" in page and "90.0 %" in page


NODES = (
    CallNode(0, "", 0),
    CallNode(0, "main", 30),
    CallNode(1, "f<T>", 20),
    CallNode(2, "main", 50),
)
CALLS = case_result(coverage=Coverage({}, {}, calls=CallTree(NODES)))


def test_a_profile_has_own_and_inclusive_instructions():
    rows = profile(CALLS.evidence.coverage)
    assert [(row.function, row.instructions, row.inclusive) for row in rows] == [
        ("main", 80, 100), ("f<T>", 20, 70),
    ]  # fmt: skip


def test_folded_stacks_hold_every_instruction_once():
    assert profiles([CALLS], folded=True) == "main 30\nmain;f<T> 20\nmain;f<T>;main 50\n"


def test_a_speedscope_file_has_a_profile_for_each_case():
    document = json.loads(profiles([CALLS, CALLS], folded=False))
    assert [one["name"] for one in document["shared"]["frames"]] == ["main", "f<T>"]
    assert len(document["profiles"]) == 2
    first = document["profiles"][0]
    assert (first["type"], first["endValue"], sum(first["weights"])) == ("sampled", 100, 100)
    assert first["samples"] == [[0], [0, 1], [0, 1, 0]]
