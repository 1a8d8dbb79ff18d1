import io
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import report
from harness.case.result import CaseResult, Size, Verdict
from harness.findings import Finding, Kind
from harness.uart.scrapers import TestResult


def result(**changes) -> CaseResult:
    values = {
        "name": "hello_world-exact",
        "sample": "hello_world",
        "resolver": "exact",
        "builder": "standalone",
        "target": "simulator",
        "verdict": Verdict.PASS,
        "reason": "20 values of 20 inferences equal",
        "outputs_compared": 20,
        "size": Size(20_000, 7_000),
        "instructions": 5_344,
    } | changes
    return CaseResult(**values)


def text(results) -> str:
    stream = io.StringIO()
    report.print_table(results, stream)
    report.print_failures(results, stream)
    return stream.getvalue()


def test_the_table_shows_cost_and_verdict_of_each_case():
    shown = text([result()])
    for word in ("hello_world", "exact", "20,000", "7,000", "5,344", "pass", "1 of 1"):
        assert word in shown


def test_a_failure_shows_its_findings_and_where_they_stand():
    finding = Finding(Kind.MISSING_OPERATOR, "Didn't find op", "CONV_2D", 2)
    shown = text([result(verdict=Verdict.FAIL, reason="no outputs", findings=(finding,))])
    assert "missing_operator CONV_2D: Didn't find op (console line 2)" in shown


def test_markup_in_console_text_is_shown_and_not_obeyed():
    assert "[bold]x[/bold]" in text([result(verdict=Verdict.FAIL, reason="[bold]x[/bold]")])
    page = report.html([result(verdict=Verdict.FAIL, reason="<script>alert(1)</script>")])
    assert "<script>" not in page


@given(st.text())
def test_any_console_text_gives_xml_that_can_be_read(reason):
    document = report.junit([result(verdict=Verdict.FAIL, reason=reason, details=reason)])
    ElementTree.fromstring(document.encode())


@pytest.mark.parametrize(
    ("verdict", "element"),
    [(Verdict.FAIL, "failure"), (Verdict.FIRMWARE, "failure"), (Verdict.ERROR, "error"),
     (Verdict.SKIPPED, "skipped")],
)  # fmt: skip
def test_junit_counts_each_verdict_as_what_it_is(verdict, element):
    root = ElementTree.fromstring(report.junit([result(), result(verdict=verdict)]).encode())
    assert root.find("testsuite").get("tests") == "2"
    assert len(root.findall(f".//{element}")) == 1


def test_the_page_needs_nothing_from_elsewhere():
    page = report.html([result()])
    assert "http" not in page.replace("http-equiv", "")
    assert "hello_world-exact" in page


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 100, 160])
def test_on_a_terminal_each_case_is_one_line_with_its_name_and_size(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    failing = result(verdict=Verdict.FAIL, reason="a long reason " * 20, name="x", sample="")
    report.print_table([result(), failing, result(sample="s" * 60)], stream)
    lines = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()
    assert len(lines) == 5
    assert all(len(line) <= width for line in lines)
    assert lines[1].startswith("hello_world ") and "20,000" in lines[1] and "pass" in lines[1]
    assert lines[2].startswith("x ") and "…" in lines[2]
    assert f"{'s' * (width // 4 - 1)}… " in lines[3]


def test_what_is_the_same_for_all_cases_is_said_once():
    page = report.html([result(), result(name="other")])
    assert "standalone images on simulator" in page
    assert "<th>target</th>" not in page
    page = report.html([result(), result(target="renode", builder="zephyr")])
    assert "<th>target</th>" in page and "<th>builder</th>" in page
    assert page.count("<td>renode</td>") == 1


def test_junit_carries_what_was_measured_and_nothing_that_was_not():
    root = ElementTree.fromstring(report.junit([result()]).encode())
    found = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert found == {
        "builder": "standalone",
        "flash_bytes": "20000",
        "ram_bytes": "7000",
        "instructions_per_inference": "5344",
        "values_compared": "20",
    }


def test_junit_has_a_row_for_each_test_that_an_image_ran():
    tests = (
        TestResult("s.a", "pass", 3, 0.25),
        TestResult("s.b", "fail", 5, None, ("Assertion failed at b.c:7",)),
        TestResult("s.c", "skip", 9),
    )
    failed = result(verdict=Verdict.FAIL, tests=tests)
    suite = ElementTree.fromstring(report.junit([failed]).encode()).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["4", "2", "1"]
    rows = {row.get("name"): row for row in suite.iter("testcase")}
    assert rows["s.a"].get("time") == "0.250"
    assert rows["s.b"].find("failure").text == "Assertion failed at b.c:7"
    known = ElementTree.fromstring(report.junit([result(tests=tests)]).encode()).find("testsuite")
    assert (known.get("failures"), known.get("skipped")) == ("0", "2")
    assert "fail, as known" in report.junit([result(tests=tests)])
