"""Writes the rows of measures and findings: ``python tests/support/run_schema.py``.

harness/schemas/run.json has them with types, docs/measures.md has a table of the measures. All
else in both is written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from harness.base import paths
from harness.base.findings import Kind
from harness.case.columns import COMPARED, MEASURES, Measure
from harness.case.result import Evidence, Measures, Size

SCHEMA = paths.schemas() / "run.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "measures.md"
BEGIN, END = "<!-- measures: begin -->\n", "<!-- measures: end -->\n"


def with_rows(text: str) -> str:
    """``text`` of run.json with today's measures and kinds of findings."""
    schema = json.loads(text)
    case = schema["$defs"]["case"]
    for one in MEASURES:
        figure = case["properties"].setdefault(one.field, {})
        figure |= {"type": _type(one), "minimum": 0, "description": _meaning(one)}
        case["required"] += [] if one.field in case["required"] else [one.field]
    finding = schema["$defs"]["finding"]["properties"]
    finding["kind"] = {"oneOf": [{"const": kind, "description": kind.meaning} for kind in Kind]}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _type(one: Measure) -> object:
    """The JSON type; a figure that a run may lack is null by default."""
    annotations = Size.__annotations__ | Measures.__annotations__ | Evidence.__annotations__
    kind = "number" if "float" in annotations[one.field] else "integer"
    part = Measures() if hasattr(Measures, one.field) else Evidence()
    return [kind, "null"] if getattr(part, one.field, 0) is None else kind


def _meaning(one: Measure) -> str:
    return f"{one.help} Unit: {one.unit}." if one.unit else one.help


def with_table(page: str) -> str:
    """``page`` with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + "".join(_rows()) + "\n" + END + after


def _rows() -> Iterator[str]:
    yield "| measure | unit | meaning | better | in a history | budget | sweep |\n"
    yield "|---|---|---|---|---|---|---|\n"
    for one in dict.fromkeys((*MEASURES, *COMPARED.values())):
        history = f"`{one.history}`" + ("" if one.gated else ", never worse") if one.history else ""
        sweep = "compared" if one.axis else "kept" if one.sweep else ""
        budget = f"`{one.budget}`" if one.budget else ""
        cells = (f"`{one.field}`", one.unit, one.help, one.better, history, budget, sweep)
        yield f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    for path, written in ((SCHEMA, with_rows), (PAGE, with_table)):
        path.write_text(written(path.read_text(encoding="utf-8")), encoding="utf-8")
