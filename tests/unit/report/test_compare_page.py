"""The page of two runs side by side."""

from __future__ import annotations

import replay_nights as lab

from harness.history.compare import compare
from harness.history.run import Occasion, from_document
from harness.history.store import History
from harness.report.compare import compare_page


def page(tmp_path, *nights) -> str:
    with History.open(str(tmp_path / "lab.db")) as history:
        for night, rows in enumerate(nights):
            document = lab.document(*rows, night=night)
            history.record(from_document(document, Occasion(0.0).updated_from(document)))
        return compare_page(compare(history, "1", str(len(nights))))


def test_both_values_stand_beside_each_other_with_bars(tmp_path):
    text = page(tmp_path, [lab.case("a", flash=20_000)], [lab.case("a", flash=40_000)])
    assert '<td class="n bar" style="--w: 50.0%">20,000</td>' in text
    assert '<td class="n bar" style="--w: 100.0%">40,000 B</td>' in text
    assert "+20,000 (+100.00 %)" in text


def test_a_verdict_has_its_colour_and_no_bar(tmp_path):
    text = page(tmp_path, [lab.case("a")], [lab.case("a", verdict="fail", reason="no")])
    assert '<td class="n pass">pass</td><td class="n fail">fail</td>' in text


def test_the_runs_facts_stand_above_and_names_are_escaped(tmp_path):
    rows = [lab.case("<b>", flash=1)], [lab.case("<b>", flash=2)]
    text = page(tmp_path, *rows)
    assert f'<td class="function differs">{1:040x}</td>' in text
    assert "<h2>&lt;b&gt; " in text


def test_equal_runs_say_so(tmp_path):
    assert "No figure differs." in page(tmp_path, [lab.case("a")], [lab.case("a")])
