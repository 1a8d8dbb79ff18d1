"""The page of a fault campaign."""

from __future__ import annotations

import re

import chromium
import pytest

from harness.report.campaign import page
from harness.studies.campaign.baseline import Baseline, FaultSite
from harness.studies.campaign.summary import CampaignSummary

WEIGHTS = (FaultSite("kernel", "weights", 0, 100), FaultSite("<bias>", "weights", 100, 4, width=4))
BASELINE = Baseline(0, 0, 0, 1000, 1000, 0, (), (), WEIGHTS, (), (), ())
PARAMETERS = {"image": "a.elf", "options": {"inference": 0, "seed": 1, "bits": 1}}


@pytest.fixture(scope="module")
def summary() -> CampaignSummary:
    """Ten faults in each tensor; five of those in the bias are critical."""
    summary = CampaignSummary(BASELINE)
    for number in range(20):
        summary.add({
            "model": "weights", "region": "weights", "tensor": ("kernel", "<bias>")[number % 2],
            "operator": "0 CONV_2D", "offset": 0, "bit": 0, "detail": "", "verdict": "",
            "outcome": "critical" if number % 4 == 1 else "masked",
        })  # fmt: skip
    return summary


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_plots_are_drawn(summary, tmp_path):
    file = tmp_path / "campaign.html"
    file.write_text(page(summary, PARAMETERS))
    drawn = re.findall(r'<div id="([\w-]+)" class="plot js-plotly-plot"', chromium.dom(file))
    assert drawn == ["overview", "weights-bit", "weights-tensor"]


def test_without_plotly_rates_are_tables_and_csv(summary, without_plotly, csv_of):
    text = page(summary, PARAMETERS)
    assert "<h3>weights: critical, by tensor or object</h3>" in text
    assert re.search(
        r'<td class="name">&lt;bias&gt;</td><td class="n">5</td><td[^>]*>50.000%</td>', text
    )
    tensors = [row for row in csv_of(text) if row["group"] == "tensor"]
    assert [(row["value"], row["faults"], row["critical"]) for row in tensors] == [
        ("<bias>", "10", "5"), ("kernel", "10", "0"),
    ]  # fmt: skip
