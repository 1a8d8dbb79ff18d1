"""A sweep's rows as a table, and as a page with the Pareto front and parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report import plots
from harness.studies.sweep.choose import MEASURES, front, task

_MARK = 14  # characters of a mark at an axis
Rows = Sequence[Mapping[str, Any]]
_UNITS = {"flash": "flash, B", "ram": "RAM, B", "instructions": "instructions",
          "accuracy": "accuracy"}  # fmt: skip


def varied(rows: Rows) -> list[str]:
    """Parameters that are not the same in every row."""
    return [
        name
        for name in rows[0]["parameters"]
        if len({str(row["parameters"][name]) for row in rows}) > 1
    ]


def label(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """What tells a row from the others."""
    told = (f"{name} {str(row['parameters'][name]) or 'none'}" for name in names)
    return ", ".join(told) or "the only point"


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
    for one, best in chosen.items():
        told = "none" if best is None else label(rows[best], names)
        lines.append(f"best within the budget, {one[0]}: {told}")
    return "\n".join(lines)


def page(rows: Rows) -> str:
    """One HTML page that needs nothing else: a section for each task, whose points compete."""
    from jinja2 import Environment, PackageLoader, select_autoescape  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("harness", "report"), autoescape=select_autoescape(), trim_blocks=True
    )
    tasks = dict.fromkeys(map(task, rows))
    content: str = environment.get_template("sweep.html").render(
        points=len(rows),
        passed=sum(row["verdict"] == "pass" for row in rows),
        measures=_UNITS,
        script=plots.script(),
        sections=[
            _section(f"task{number}", one, [row for row in rows if task(row) == one])
            for number, one in enumerate(tasks)
        ],
    )
    return content


def _section(anchor: str, what: tuple[str, ...], rows: Rows) -> dict[str, Any]:
    """What the page says of one task: figures, and rows with those on the front first."""
    names = varied(rows)
    best = set(front(rows))
    order = sorted(range(len(rows)), key=lambda index: (index not in best, index))
    able = [row for row in rows if row["verdict"] == "pass"]
    figures = [
        _scatter(f"{anchor}-{x}", rows, names, best, x, "instructions") for x in ("flash", "ram")
    ]
    return {
        "anchor": anchor,
        "title": ", ".join(filter(None, what)),
        "names": names,
        "points": len(rows),
        "passed": len(able),
        "front": len(best),
        "rows": [(rows[index], index in best) for index in order],
        "figures": [*figures, _parallel(f"{anchor}-all", able, names)] if able else [],
    }


def _scatter(name: str, rows: Rows, names: list[str], best: set[int], x: str, y: str) -> str:
    """Passing points; those on the front (which knows all measures) stand out."""
    able = [index for index, row in enumerate(rows) if row["verdict"] == "pass"]

    def trace(indices: list[int], name: str, **marker: Any) -> dict[str, Any]:
        return {
            "type": "scatter", "mode": "markers", "name": name,
            "x": [rows[index][x] for index in indices],
            "y": [rows[index][y] for index in indices],
            "text": [label(rows[index], names) for index in indices],
            "marker": marker,
        }  # fmt: skip

    others = [index for index in able if index not in best]
    traces = [
        trace(others, "others", symbol="circle-open", size=7, color="#8a94a3"),
        trace([index for index in able if index in best], "Pareto front", symbol="diamond",
              size=11, color="#c0392b"),
    ]  # fmt: skip
    layout = {
        "title": {"text": f"{_UNITS[y]} against {_UNITS[x]}"},
        "xaxis": {"title": {"text": _UNITS[x]}, "tickformat": ",d"},
        "yaxis": {"title": {"text": _UNITS[y]}, "tickformat": ",d"},
        "margin": {"l": 90},
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"},
    }
    return plots.figure(name, traces, layout)


def _short(value: str) -> str:
    """A value as the mark of an axis, whose neighbour stands near."""
    return f"{value[: _MARK - 1]}…" if len(value) > _MARK else value or "none"


def _parallel(name: str, able: Rows, names: list[str]) -> str:
    """Parameters that vary as categories, measures as numbers; the colour is flash."""
    dimensions: list[dict[str, Any]] = []
    for one in names:
        values = [str(row["parameters"][one]) for row in able]
        order = sorted(set(values))
        dimensions.append(
            {
                "label": one,
                "values": [order.index(value) for value in values],
                "tickvals": list(range(len(order))),
                "ticktext": [_short(value) for value in order],
            }
        )
    for measure, unit in _UNITS.items():
        if all(row[measure] is not None for row in able):
            dimensions.append({"label": unit, "values": [row[measure] for row in able]})
    flash = [row["flash"] for row in able]
    trace = {"type": "parcoords", "dimensions": dimensions,
             "line": {"color": flash, "colorscale": "Viridis"}}  # fmt: skip
    layout = {"margin": {"l": 100, "r": 90, "t": 70, "b": 40}}
    return plots.figure(name, [trace], layout)
