"""The results of a sweep, as a table and as a page with Pareto front and parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.case.columns import COMPARED
from harness.report import plots
from harness.report.pages import asset, csv_text, environment
from harness.studies.sweep.choose import front, task

_MAX_LABEL = 14  # characters of an axis label
Rows = Sequence[Mapping[str, Any]]
#: Colour scale from small to large values, readable on light and dark pages.
_COLOURS = [[0, "#3d8fd1"], [0.5, "#5fa777"], [1, "#d98a29"]]


def varied(rows: Rows) -> list[str]:
    """The parameters that differ between rows."""
    return [
        name
        for name in rows[0]["parameters"]
        if len({str(row["parameters"][name]) for row in rows}) > 1
    ]


def written(value: object) -> str:
    """A parameter as written in sweep.toml."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """The parameters ``names`` of a row, as text."""
    values = (f"{name} {written(row['parameters'][name]) or 'none'}" for name in names)
    return ", ".join(values) or "the only point"


def table(rows: Rows, chosen: Mapping[tuple[Any, ...], int | None]) -> str:
    """Counts, the Pareto front and the best points as text, for a terminal."""
    names = varied(rows)
    passed = sum(row["verdict"] == "pass" for row in rows)
    lines = [f"{passed:,} of {len(rows):,} points pass; on the Pareto front:", ""]
    lines.append("".join(f"{name:>13}" for name in COMPARED) + "  point")
    for index in front(rows):
        values = (rows[index][name] for name in COMPARED)
        figures = "".join(f"{'-' if v is None else format(v, ',.6g'):>13}" for v in values)
        lines.append(f"{figures}  {label(rows[index], names)}")
    failed = [row for row in rows if row["verdict"] != "pass"]
    if failed:
        lines += ["", *(f"{row['verdict']}: {label(row, names)}: {row['reason']}"
                        for row in failed[:10])]  # fmt: skip
        lines += [f"and {len(failed) - 10:,} more"] if len(failed) > 10 else []
    for (sample, *_), best in chosen.items():
        point = "none" if best is None else label(rows[best], names)
        lines.append(f"best within the budget, {sample}: {point}")
    return "\n".join(lines)


def as_csv(rows: Rows) -> str:
    """Parameters, verdict and measures of each point as CSV."""
    flat = [{**row["parameters"], **row} for row in rows]
    for row in flat:
        del row["parameters"]
    return csv_text(flat)


def page(rows: Rows) -> str:
    """A self-contained HTML page, with a section for each task."""
    script = plots.script()
    tasks = dict.fromkeys(map(task, rows))
    content: str = (
        environment(written=written)
        .get_template("sweep.html")
        .render(
            points=len(rows),
            passed=sum(row["verdict"] == "pass" for row in rows),
            measures={
                name: measure.axis
                for name, measure in COMPARED.items()
                if any(row[name] is not None for row in rows)
            },
            script=script,
            csv="" if script else as_csv(rows),
            csv_name="sweep",
            style=asset("style.css"),
            sections=[
                _section(
                    f"task{number}",
                    each,
                    [row for row in rows if task(row) == each],
                    drawn=bool(script),
                )
                for number, each in enumerate(tasks)
            ],
        )
    )
    return content


def _section(anchor: str, what: tuple[str, ...], rows: Rows, *, drawn: bool) -> dict[str, Any]:
    """The data of a task's section: plots if ``drawn``, and rows with those on the front first."""
    names = varied(rows)
    best = set(front(rows))
    order = sorted(range(len(rows)), key=lambda index: (index not in best, index))
    passing = [row for row in rows if row["verdict"] == "pass"]
    figures = []
    if drawn and passing:
        figures = [
            *(_scatter(f"{anchor}-{x}", rows, names, best, x, "instructions")
              for x in ("flash", "ram")),
            _parallel(f"{anchor}-all", passing, names),
        ]  # fmt: skip
    return {
        "anchor": anchor,
        "title": ", ".join(filter(None, what)),
        "names": names,
        "points": len(rows),
        "passed": len(passing),
        "front": len(best),
        "rows": [(rows[index], index in best) for index in order],
        "figures": figures,
    }


def _scatter(name: str, rows: Rows, names: list[str], best: set[int], x: str, y: str) -> str:
    """A plot of passing points, with those on the Pareto front (of all measures) marked."""
    passing = [index for index, row in enumerate(rows) if row["verdict"] == "pass"]

    def trace(indices: list[int], name: str, **marker: Any) -> dict[str, Any]:
        return {
            "type": "scatter", "mode": "markers", "name": name,
            "x": [rows[index][x] for index in indices],
            "y": [rows[index][y] for index in indices],
            "text": [label(rows[index], names) for index in indices],
            "marker": marker,
        }  # fmt: skip

    others = [index for index in passing if index not in best]
    traces = [
        trace(others, "others", symbol="circle-open", size=7, color="#8a94a3"),
        trace([index for index in passing if index in best], "Pareto front", symbol="diamond",
              size=11, color="#c0392b"),
    ]  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": COMPARED[x].axis}, "tickformat": ",d"},
        "yaxis": {"title": {"text": COMPARED[y].axis}, "tickformat": ",d"},
        "margin": {"l": 90},
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"},
    }
    return plots.figure(name, f"{COMPARED[y].axis} against {COMPARED[x].axis}", traces, layout)


def _short(value: str) -> str:
    """A value as an axis label, shortened so that it does not reach the next axis."""
    return f"{value[: _MAX_LABEL - 1]}…" if len(value) > _MAX_LABEL else value or "none"


def _parallel(name: str, rows: Rows, names: list[str]) -> str:
    """Parallel coordinates: parameters ``names`` as categories, measures as numbers."""
    dimensions: list[dict[str, Any]] = []
    for parameter in names:
        values = [written(row["parameters"][parameter]) for row in rows]
        order = sorted(set(values))
        dimensions.append(
            {
                "label": parameter,
                "values": [order.index(value) for value in values],
                "tickvals": list(range(len(order))),
                "ticktext": [_short(value) for value in order],
            }
        )
    for column, measure in COMPARED.items():
        values = [row[column] for row in rows]
        if None not in values:
            dimensions.append({"label": measure.axis, "values": values})
    flash = [row["flash"] for row in rows]
    trace = {"type": "parcoords", "dimensions": dimensions,
             "line": {"color": flash, "colorscale": _COLOURS}}  # fmt: skip
    layout = {"margin": {"l": 100, "r": 90, "t": 70, "b": 40}}
    return plots.figure(name, "All points, coloured by flash", [trace], layout, wide=True)
