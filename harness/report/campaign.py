"""The summary of a fault campaign, as text and as a page with plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.report import plots
from harness.report.pages import asset, csv_text, environment
from harness.studies.campaign.inject import CRITICAL, OUTCOMES
from harness.studies.campaign.summary import CampaignSummary, Rate

_MAX_LABEL = 24  # characters of an axis label
_COLOURS = dict(zip(OUTCOMES, ("#8fbc8f", "#e6c34a", "#c0392b", "#4a7ebb", "#7d6b99"), strict=True))
_TITLES = {
    "model": "by fault model",
    "region": "by region",
    "tensor": "by tensor or object",
    "operator": "by operator",
    "bit": "by bit (of the element, the register or the halfword)",
    "time": "by time in the inference",
}


def table(summary: CampaignSummary) -> str:
    """The summary as text, for a terminal."""
    lines = [
        f"{summary.faults:,} faults in one inference of {summary.baseline.length:,} instructions"
    ]
    for name in OUTCOMES:
        rate = summary.rate(name)
        low, high = rate.interval
        lines.append(f"  {name:<10} {rate.hits:>9,}  {rate.rate:8.3%}  ({low:.3%} to {high:.3%})")
    models = _by_model(summary)
    if len(models) > 1:
        lines += ["", f"  {'fault model':<12}" + "".join(f"{name:>11}" for name in OUTCOMES)]
        lines += [
            f"  {model:<12}" + "".join(f"{counts[name]:>11,}" for name in OUTCOMES)
            for model, counts in models
        ]
    if summary.verdicts:
        lines += ["", "  verdicts:"]
        lines += [
            f"  {outcome:<12}{verdict:<12}{count:>9,}"
            for (outcome, verdict), count in sorted(summary.verdicts.items())
        ]
    exposures = summary.exposures()
    if exposures:
        lines += ["", "protect first:", *(f"  {one}" for one in exposures)]
    return "\n".join(lines)


def page(summary: CampaignSummary, parameters: Mapping[str, Any]) -> str:
    """A self-contained HTML page; without plotly it has tables in place of plots."""
    script = plots.script()
    sections: dict[str, dict[str, list[tuple[str, Counter[str]]]]] = {}
    for model, group, value, counts in summary.groups():
        if group != "model":
            sections.setdefault(model, {}).setdefault(group, []).append((value, counts))
    models = _by_model(summary)
    content: str = environment().get_template("campaign.html").render(
        image=parameters["image"],
        options=parameters["options"],
        baseline=summary.baseline,
        faults=summary.faults,
        rates=[(name, summary.rate(name)) for name in OUTCOMES],
        models=models,
        outcomes=OUTCOMES,
        details=summary.details.most_common(),
        exposures=summary.exposures(),
        script=script,
        csv="" if script else csv_text(summary.to_json()["by"]),
        csv_name="campaign",
        style=asset("style.css"),
        overview=_stacked("overview", models, "Outcomes by fault model") if script else "",
        sections=[
            (model, [_group(f"{model}-{group}", f"{model}: critical, {_TITLES[group]}", rows,
                            drawn=bool(script))
                     for group, rows in groups.items()])
            for model, groups in sections.items()
        ],
    )  # fmt: skip
    return content


def _by_model(summary: CampaignSummary) -> list[tuple[str, Counter[str]]]:
    """The outcomes of each fault model."""
    return [(model, counts) for model, group, _, counts in summary.groups() if group == "model"]


def _stacked(name: str, rows: list[tuple[str, Counter[str]]], title: str) -> str:
    values = [value for value, _ in rows]
    traces = [
        {
            "type": "bar",
            "name": outcome,
            "x": values,
            "y": [counts[outcome] / max(1, sum(counts.values())) for _, counts in rows],
            "marker": {"color": _COLOURS[outcome]},
        }
        for outcome in OUTCOMES
    ]
    layout = {"barmode": "stack", "yaxis": {"tickformat": ".0%"}}
    return plots.figure(name, title, traces, layout)


def _short(name: str) -> str:
    """A tensor's name as an axis label; converters join several names with semicolons."""
    first = name.partition(";")[0]
    return first if len(first) <= _MAX_LABEL else f"…{first[1 - _MAX_LABEL :]}"


def _group(
    name: str, title: str, rows: list[tuple[str, Counter[str]]], *, drawn: bool
) -> dict[str, Any]:
    """The critical rate of each value, and their plot if ``drawn``."""
    rates = [(value, Rate(counts[CRITICAL], sum(counts.values()))) for value, counts in rows]
    return {"title": title, "rates": rates, "figure": _plot(name, title, rates) if drawn else ""}


def _plot(name: str, title: str, rates: list[tuple[str, Rate]]) -> str:
    """A plot of critical rates with their confidence intervals."""
    positions = list(range(len(rates)))
    trace = {
        "type": "bar",
        "x": positions,
        "y": [rate.rate for _, rate in rates],
        "marker": {"color": _COLOURS[CRITICAL]},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [rate.interval[1] - rate.rate for _, rate in rates],
            "arrayminus": [rate.rate - rate.interval[0] for _, rate in rates],
        },
        "hovertext": [f"{value}: {rate.hits:,} of {rate.of:,}" for value, rate in rates],
    }
    names = [_short(value) for value, _ in rates]
    layout = {
        "xaxis": {"tickvals": positions, "ticktext": names, "automargin": True},
        "yaxis": {"tickformat": ".1%", "rangemode": "tozero"},
    }
    return plots.figure(name, title, [trace], layout)
