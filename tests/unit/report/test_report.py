import io
import re
from xml.etree import ElementTree

import chromium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from results import case_result

from harness.base.findings import Finding, Kind
from harness.case.columns import MEASURES
from harness.case.result import CaseResult, ImageSize, OperatorTicks, Size, Verdict
from harness.elf.coverage import Coverage
from harness.footprint.budget import BudgetVerdict
from harness.history.run import Occasion
from harness.report.html import About, html
from harness.report.junit import junit
from harness.report.markdown import markdown
from harness.report.terminal import print_failures, print_images, print_table
from harness.uart.coverage import ConsoleCoverage
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
    return case_result(**values)


def text(results) -> str:
    stream = io.StringIO()
    print_table(results, stream)
    print_failures(results, stream)
    return stream.getvalue()


WORLDS = (
    ImageSize("app", "non-secure", 28_456, 8_988),
    ImageSize("tfm_s", "secure", 129_316, 52_924),
)


def test_images_that_ran_together_stand_side_by_side_on_the_terminal():
    stream = io.StringIO()
    print_images([result(images=WORLDS), result(images=WORLDS, target="renode")], stream)
    rows = [line.split() for line in stream.getvalue().splitlines() if line]
    assert rows[1:] == [
        ["hello_world-exact", "app", "non-secure", "28,456", "8,988"],
        ["hello_world-exact", "tfm_s", "secure", "129,316", "52,924"],
    ]


def test_several_builders_have_a_column_on_the_terminal():
    assert "builder" not in text([result()])
    shown = text([result(), result(builder="standalone-ns")])
    assert "builder" in shown and "standalone-ns" in shown


def test_a_case_of_one_image_needs_no_second_table():
    stream = io.StringIO()
    print_images([result()], stream)
    assert not stream.getvalue()


def test_images_that_ran_together_stand_in_the_page():
    page = html([result(images=WORLDS)])
    assert "<dt>secure image tfm_s</dt><dd>129,316 B of flash, 52,924 B of RAM</dd>" in page


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
    page = html([result(verdict=Verdict.FAIL, reason="<script>alert(1)</script>")])
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


@given(st.text())
def test_any_console_text_gives_xml_that_can_be_read(reason):
    document = junit([result(verdict=Verdict.FAIL, reason=reason, details=reason)])
    ElementTree.fromstring(document.encode())


@pytest.mark.parametrize(
    ("verdict", "element"),
    [(Verdict.FAIL, "failure"), (Verdict.FIRMWARE, "failure"), (Verdict.ERROR, "error"),
     (Verdict.SKIPPED, "skipped")],
)  # fmt: skip
def test_junit_counts_each_kind_of_verdict(verdict, element):
    root = ElementTree.fromstring(junit([result(), result(verdict=verdict)]).encode())
    assert root.find("testsuite").get("tests") == "2"
    assert len(root.findall(f".//{element}")) == 1


def test_the_page_needs_nothing_from_elsewhere():
    page = html([result()])
    assert "http" not in page.replace("http-equiv", "")
    assert "hello_world-exact" in page


def test_the_page_links_to_the_files_of_a_case_from_where_it_stands(tmp_path):
    folder = tmp_path / "cases" / "a #1"
    folder.mkdir(parents=True)
    for name in ("console.bin", "transcript.txt"):
        (folder / name).write_text("")
    about = About(folder=tmp_path, log="log.html", tests={0: "s1-t3"})
    page = html([result(console=folder / "console.bin", coverage=Coverage({"f": 1}))], about)
    for name in ("console.bin", "transcript.txt", "result.json", "coverage.info"):
        assert f'<a href="cases/a%20%231/{name}">{name}</a>' in page
    assert '<a href="log.html#s1-t3">Robot&#39;s log</a>' in page


def test_the_page_shows_the_run_comparisons_memory_and_operators():
    occasion = Occasion(0.0, "c0ffee", "main", "bench", command="tflm-hil run <hil.toml>")
    page = html(
        [result(
            size=Size(262_144, 65_536, 1_048_576, 262_144), arena_declared=3_072, arena_used=768,
            compared_with="the NumPy reference of hello.tflite", inferences=20,
            compiler="GCC: (15) 12.2",
            wall_seconds=1.5, operators=(OperatorTicks("CONV_2D", 300), OperatorTicks("ADD", 100)),
        )],
        About(occasion),
    )  # fmt: skip
    for words in (
        "<code>c0ffee</code> of main", "on bench", "1.5 s of wall time", "GCC: (15) 12.2",
        "tflm-hil run &lt;hil.toml&gt;", "262,144 of 1,048,576 B (25.0 %)",
        "768 of 3,072 B (25.0 %)", "values compared with the NumPy reference of hello.tflite",
        "75.0 %</td><td class=\"function\">CONV_2D",
    ):  # fmt: skip
        assert words in page


browser = pytest.mark.needs("chromium")


@pytest.mark.slow
@browser
def test_in_a_browser_a_link_opens_the_section_of_a_passed_case(tmp_path):
    page = tmp_path / "hil.html"
    page.write_text(html([result(), result(name="other", verdict=Verdict.FAIL)]))
    assert '<details class="case" id="case-1">' in chromium.dom(page)
    assert '<details class="case" id="case-1" open="">' in chromium.dom(page, "#case-1")


def failure_with_console(folder, lines: int, line: int) -> CaseResult:
    (folder / "transcript.txt").write_text("".join(f"line {n}\n" for n in range(1, lines + 1)))
    finding = Finding(Kind.MISSING_OPERATOR, "Didn't find <op>", "CONV_2D", line)
    return result(verdict=Verdict.FAIL, reason="no", findings=(finding,),
                  console=folder / "console.bin")  # fmt: skip


def test_a_problem_is_linked_with_its_line_of_the_console(tmp_path):
    page = html([failure_with_console(tmp_path, 3, 2)])
    assert '&lt;op&gt; (console line <a href="#case-1-line-2">2</a>)' in page
    assert '<mark id="case-1-line-2">line 2</mark>' in page


def test_each_line_that_a_problem_names_is_a_link(tmp_path):
    (tmp_path / "transcript.txt").write_text("a\nb\nc\n")
    findings = tuple(Finding(Kind.LOG_ERROR, "no", "", line) for line in (1, 3, 8))
    page = html([result(findings=findings, console=tmp_path / "console.bin")])
    links = '<a href="#case-1-line-1">1</a>, <a href="#case-1-line-3">3</a>, 8'
    assert f"(3 times, console lines {links})" in page


def test_budgets_are_bars():
    kept = BudgetVerdict("flash", "region", 3_000, 4_000, None, True, "within")
    over = BudgetVerdict("ram", "region", 50, 40, 30, False, "over")
    unknown = BudgetVerdict("arena", "figure", None, 9, None, False, "it was not measured")
    page = html([result(budgets=(kept, over, unknown))])
    assert '<i style="width: 75.0%"></i></span> 3,000 of 4,000 B, 1,000 left' in page
    assert '<i style="width: 100.0%"></i><b style="left: 80.0%"></b></span> 50 of 40 B, ' in page
    assert '<span class="fail">10 over</span>; baseline 30</dd>' in page
    assert '<span class="fail">it was not measured</span>' in page


def test_a_line_that_the_page_does_not_show_is_no_link(tmp_path):
    assert "#case-1-line-9" not in html([failure_with_console(tmp_path, 3, 9)])


@browser
def test_in_a_browser_a_link_to_a_console_line_opens_all_around_it(tmp_path):
    page = tmp_path / "hil.html"
    page.write_text(html([result(), failure_with_console(tmp_path, 3, 2)]))
    closed = page.read_text().replace("<details open>", "<details>")
    page.write_text(closed.replace('id="case-2" open', 'id="case-2"'))
    shown = chromium.dom(page, "#case-2-line-2")
    assert 'id="case-2" open' in shown
    assert '<details open=""><summary class="dim">console' in shown


def test_expected_stands_beside_what_came():
    page = html([result(verdict=Verdict.FAIL, details="result 1: right is -10, expected <b>")])
    row = '<td>result 1: right</td><td class="n fail">-10</td><td class="n">&lt;b&gt;</td>'
    assert row in page


@browser
def test_in_a_browser_failures_can_be_shown_alone(tmp_path):
    page = tmp_path / "hil.html"
    text = html([result(), result(name="other", verdict=Verdict.FAIL)])
    press = "<script>document.querySelector('.tools input[type=checkbox]').click()</script></body>"
    page.write_text(text.replace("</body>", press))
    shown = chromium.dom(page)
    assert '<tr data-verdict="pass" data-case="case-1" hidden' in shown
    assert '<tr data-verdict="fail" data-case="case-2">' in shown
    assert "1 of 2</output>" in shown


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [80, 100, 160])
def test_on_a_terminal_each_case_is_one_line_with_its_name_and_size(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    failing = result(verdict=Verdict.FAIL, reason="a long reason " * 20, name="x", sample="")
    print_table([result(), failing, result(sample="s" * 60)], stream)
    lines = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()
    assert len(lines) == 5
    assert all(len(line) <= width for line in lines)
    assert lines[1].startswith("hello_world ") and "20,000" in lines[1] and "pass" in lines[1]
    assert lines[2].startswith("x ") and "…" in lines[2]
    assert "simulator" in lines[2] and "fail  a long" in lines[2]
    assert f"{'s' * (width // 4 - 1)}… " in lines[3]


def test_values_equal_for_all_cases_are_shown_once():
    page = html([result(), result(name="other")])
    assert "standalone images on simulator" in page
    assert "<th>target</th>" not in page
    page = html([result(), result(target="renode", builder="zephyr")])
    assert "<th>target</th>" in page and "<th>builder</th>" in page
    assert page.count("<td>renode</td>") == 1


def test_a_chip_that_is_not_the_default_is_named_beside_the_target():
    default, sibling = result(chip="nrf9160"), result(chip="nrf5340")
    for report in (text([default, sibling]), markdown([default, sibling])):
        assert (report.count("simulator (nrf5340)"), report.count("nrf9160")) == (1, 0)
    page = html([default, sibling])
    assert page.count("<td>simulator (nrf5340)</td>") == page.count("<td>simulator</td>") == 1
    assert page.count("<dt>chip</dt><dd>nrf5340</dd>") == 1
    assert "standalone images on simulator (nrf5340)" in html([sibling])
    assert str(sibling.setup) == "hello_world-exact on simulator (nrf5340)"
    root = ElementTree.fromstring(junit([sibling]).encode())
    assert [one.get("value") for one in root.iter("property") if one.get("name") == "chip"] == [
        "nrf5340"
    ]


def test_junit_carries_measured_values_only():
    root = ElementTree.fromstring(junit([result()]).encode())
    found = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert found == {
        "builder": "standalone",
        "flash_bytes": "20000",
        "ram_bytes": "7000",
        "instructions_per_inference": "5344",
        "values_compared": "20",
    }


def test_junit_attaches_the_files_of_a_case_and_shows_its_console(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    failed = failure_with_console(tmp_path / "out", 2, 1)
    out = ElementTree.fromstring(junit([failed]).encode()).find(".//testcase/system-out").text
    first, *_, last = out.splitlines()
    assert (first, last) == ("[[ATTACHMENT|out/transcript.txt]]", "  line 2")


def test_a_device_cannot_attach_files_of_the_workspace(tmp_path):
    failed = failure_with_console(tmp_path, 1, 1)
    (tmp_path / "transcript.txt").write_text("[[ATTACHMENT|/etc/passwd]]\n")
    assert "[[ATTACHMENT|/etc" not in junit([failed])


def test_junit_has_a_row_for_each_test_that_an_image_ran():
    tests = (
        TestResult("s.a", "pass", 3, 0.25),
        TestResult("s.b", "fail", 5, None, ("Assertion failed at b.c:7",)),
        TestResult("s.c", "skip", 9),
        TestResult("s.d", "flaky", 11, None, ("flaky: failed 1 of 2",)),
    )
    failed = result(verdict=Verdict.FAIL, tests=tests)
    suite = ElementTree.fromstring(junit([failed]).encode()).find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["5", "3", "1"]
    rows = {row.get("name"): row for row in suite.iter("testcase")}
    assert rows["s.a"].get("time") == "0.250"
    assert rows["s.b"].find("failure").text == "Assertion failed at b.c:7"
    known = ElementTree.fromstring(junit([result(tests=tests)]).encode()).find("testsuite")
    assert (known.get("failures"), known.get("skipped")) == ("0", "3")
    for expected in ("fail, as expected", "flaky, as expected"):
        assert expected in junit([result(tests=tests)])


MEASURED = {
    "size": Size(41_001, 7_002),
    "arena_used": 3_003,
    "stack_used": 904,
    "instructions": 5_305,
    "cycles": 6_006,
    "milliseconds": 0.125,
    "milliseconds_spread": 0.25,
    "outputs_compared": 27,
    "numbers_checked": 28,
    "read": ConsoleCoverage(numbers=30, checked=28),
    "mistakes_missed": 8,
}


@pytest.mark.parametrize("measure", [one for one in MEASURES if one.heading])
def test_a_measure_with_a_heading_is_a_column_of_every_table(measure):
    case = result(**MEASURED)
    assert measure.cell(case)
    for table in (text([case]), html([case])):
        assert measure.heading in table and measure.cell(case) in table


@pytest.mark.parametrize("measure", [one for one in MEASURES if one.heading])
def test_a_measure_that_no_case_has_is_not_a_column(measure):
    nothing = case_result(name="x", target="board")
    for table in (text([nothing]), html([nothing])):
        assert measure.heading not in table
