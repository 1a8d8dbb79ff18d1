"""The page and the table of a sweep."""

from __future__ import annotations

import re

import chromium
import pytest

from harness.report.sweep import page, table


def row(sample="digits", verdict="pass", reason="", **measures):
    parameters = {
        "sample": sample, "resolver": "exact", "model": "", "builder": "standalone",
        "optimize": measures.pop("optimize", "s"), "target": "simulator",
    }  # fmt: skip
    figures = {"flash": 10, "ram": 10, "instructions": 10, "accuracy": None} | measures
    return {"parameters": parameters, "verdict": verdict, "reason": reason, **figures}


def shown(rows) -> str:
    """The page without its scripts."""
    return re.sub(r"<script>.*?</script>", "", page(rows), flags=re.DOTALL)


def test_each_sample_has_a_section_and_a_front_of_its_own():
    text = shown([row(flash=9), row(optimize="2"), row("atan", flash=99)])
    assert re.findall(r'<h2 id="task\d">(.*?)</h2>', text) == [
        "digits, simulator, standalone", "atan, simulator, standalone",
    ]  # fmt: skip
    assert "The Pareto front, 1 of 2 points" in text
    assert "The Pareto front, 1 of 1 points" in text


def test_the_front_stands_before_the_others():
    text = shown([row(flash=777), row(optimize="2", flash=5)])
    assert text.index(">5</td>") < text.index("<details>") < text.index(">777</td>")


def test_a_section_without_a_passing_point_has_no_plots():
    text = shown([row(verdict="fail", reason="two <outputs> differ")])
    assert "plot" not in text.split("<body>")[1].replace('"plots"', "")
    assert "two &lt;outputs&gt; differ" in text


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_in_a_browser_every_figure_of_every_section_is_drawn(tmp_path):
    hostile = "</script><script>document.title='owned'</script>"
    rows = [row(flash=9), row(optimize=hostile), row("atan", flash=99)]
    (tmp_path / "sweep.html").write_text(page(rows))
    drawn = chromium.dom(tmp_path / "sweep.html")
    plots = re.findall(r'<div id="task\d-\w+" class="plot(?: wide)? js-plotly-plot"', drawn)
    assert len(plots) == 6
    assert "<title>Sweep: 3 points</title>" in drawn


def test_columns_are_the_parameters_that_vary():
    text = shown([row(), row(optimize="2", flash=11)])
    assert re.findall(r'<th class="parameter">(.*?)</th>', text) == ["optimize"] * 2


def test_without_plotly_points_are_tables_and_csv(without_plotly, csv_of):
    text = page([row(flash=9), row(optimize="2", verdict="fail", reason="<differ>")])
    assert "The Pareto front, 1 of 2 points" in text
    assert 'class="plot' not in text
    assert [(one["optimize"], one["flash"], one["reason"]) for one in csv_of(text)] == [
        ("s", "9", ""), ("2", "10", "<differ>"),
    ]  # fmt: skip


def test_the_table_names_points_that_do_not_pass_and_why():
    told = table([row(), row(optimize="2", verdict="fail", reason="outputs differ")], {})
    assert "1 of 2 points pass" in told
    assert "fail: optimize 2: outputs differ" in told
