"""Results as Markdown: the table, the failures, and text that stays text."""

from __future__ import annotations

from results import case_result

from harness.case.result import Size, Verdict
from harness.report.markdown import markdown


def test_failures_come_first_with_their_reason_and_their_figures():
    text = markdown([
        case_result(name="a", size=Size(2048, 10), outputs_compared=5),
        case_result(name="b", verdict=Verdict.FAIL, reason="1 of 5 differ", size=Size(4096, 10)),
    ])  # fmt: skip
    assert text.startswith("**1 of 2 passed**; 2 asked for, 2 ran, 0 skipped\n\n")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == "|  | case | target | flash B | RAM B | compared | verdict |"
    assert rows[2] == "| ❌ | b | simulator | 4,096 | 10 |  | fail: 1 of 5 differ |"
    assert rows[3] == "| ✅ | a | simulator | 2,048 | 10 | 5 | pass |"


def test_a_failure_is_told_in_full_in_a_folded_block_of_code():
    text = markdown([
        case_result(name="a<b>", verdict=Verdict.FAIL, problems=("# one", "</details>"),
                    hint="try"),
    ])  # fmt: skip
    assert "<summary>a&lt;b&gt; on simulator: fail</summary>\n\n    # one\n    </details>\n" in text
    assert "    hint: try\n" in text


def test_only_some_failures_are_told_in_full():
    text = markdown([case_result(name=f"c{n}", verdict=Verdict.FAIL) for n in range(25)])
    assert text.count("<details>") == 20
    assert "... and 5 more that did not pass." in text
