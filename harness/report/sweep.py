"""A sweep's rows as a table, and as a page with the Pareto front and parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report import plots
from harness.studies.sweep.choose import MEASURES, front

Rows = Sequence[Mapping[str, Any]]
_UNITS = {"flash": "flash, B", "ram": "RAM, B", "instructions": "instructions", "accuracy": "share"}


def varied(rows: Rows) -> list[str]:
    """Parameters that are not the same in every row."""
    return [
        name
        for name in rows[0]["parameters"]
        if len({str(row["parameters"][name]) for row in rows}) > 1
    ]


def label(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """What tells a row from the others."""
    return ", ".join(f"{name} {row['parameters'][name]}" for name in names) or "the only point"


def table(rows: Rows, chosen: Mapping[tuple[Any, ...], int | None]) -> str:
    """What is told on a terminal: counts, the front, the best."""
    names = varied(rows)
    passed = sum(row["verdict"] == "pass" for row in rows)
    lines = [f"{passed:,} of {len(rows):,} points pass; on the Pareto front:", ""]
    lines.append("".join(f"{name:>13}" for name in MEASURES) + "  point")
    for index in front(rows):
        values = (rows[index][name] for name in MEASURES)
        figures = "".join(f"{'-' if one is None else format(one, ',.6g'):>13}" for one in values)
        lines.append(f"{figures}  {label(rows[index], names)}")
    failed = [row for row in rows if row["verdict"] != "pass"]
    if failed:
        lines += ["", *(f"{row['verdict']}: {label(row, names)}: {row['reason']}"
                        for row in failed[:10])]  # fmt: skip
        lines += [f"and {len(failed) - 10:,} more"] if len(failed) > 10 else []
    for task, best in chosen.items():
        told = "none" if best is None else label(rows[best], names)
        lines.append(f"best within the budget, {task[0]}: {told}")
    return "\n".join(lines)


def page(rows: Rows) -> str:
    """One HTML page that needs nothing else."""
    from jinja2 import Environment, PackageLoader, select_autoescape  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("harness", "report"), autoescape=select_autoescape(), trim_blocks=True
    )
    names = varied(rows)
    best = set(front(rows))
    content: str = environment.get_template("sweep.html").render(
        rows=[(row, label(row, names), index in best) for index, row in enumerate(rows)],
        measures=list(MEASURES),
        passed=sum(row["verdict"] == "pass" for row in rows),
        script=plots.script(),
        figures=[
            _scatter(rows, names, best, "flash", "instructions"),
            _scatter(rows, names, best, "ram", "instructions"),
            _parallel(rows, names),
        ],
    )
    return content


def _scatter(rows: Rows, names: list[str], best: set[int], x: str, y: str) -> str:
    able = [index for index, row in enumerate(rows) if row["verdict"] == "pass"]

    def trace(indices: list[int], name: str, symbol: str, size: int) -> dict[str, Any]:
        return {
            "type": "scatter", "mode": "markers", "name": name,
            "x": [rows[index][x] for index in indices],
            "y": [rows[index][y] for index in indices],
            "text": [label(rows[index], names) for index in indices],
            "marker": {"symbol": symbol, "size": size},
        }  # fmt: skip

    traces = [
        trace([index for index in able if index not in best], "others", "circle-open", 7),
        trace([index for index in able if index in best], "Pareto front", "diamond", 10),
    ]
    layout = {
        "title": {"text": f"{_UNITS[y]} against {_UNITS[x]}"},
        "xaxis": {"title": {"text": _UNITS[x]}},
        "yaxis": {"title": {"text": _UNITS[y]}, "type": "log"},
        "hovermode": "closest",
    }
    return plots.figure(f"{x}-{y}", traces, layout)


def _parallel(rows: Rows, names: list[str]) -> str:
    """Parameters that vary as categories, measures as numbers; passing rows only."""
    able = [row for row in rows if row["verdict"] == "pass"]
    dimensions: list[dict[str, Any]] = []
    for name in names:
        values = [str(row["parameters"][name]) for row in able]
        order = sorted(set(values))
        dimensions.append(
            {
                "label": name,
                "values": [order.index(value) for value in values],
                "tickvals": list(range(len(order))),
                "ticktext": order,
            }
        )
    for name in MEASURES:
        if able and all(row[name] is not None for row in able):
            dimensions.append({"label": _UNITS[name], "values": [row[name] for row in able]})
    trace = {"type": "parcoords", "dimensions": dimensions}
    return plots.figure("parallel", [trace], {"margin": {"l": 100, "r": 60, "t": 60, "b": 40}})
