"""The schema that flatc gets: the runtime's part of the format, with the names of all operators."""

from __future__ import annotations

from pathlib import Path

from harness.model.schema import OPERATOR_NAMES

_PLACE = "// enum BuiltinOperator:"


def text(schema: Path) -> str:
    """``schema.fbs`` of the standalone runtime, whole: its operators are those of harness.model."""
    members = "".join(f"  {name} = {number},\n" for number, name in enumerate(OPERATOR_NAMES))
    before, place, after = schema.read_text(encoding="utf-8").partition(_PLACE)
    assert place, f"{schema} does not say where the operators go"
    rest = after.partition("\n")[2]
    return f"{before}enum BuiltinOperator : int32 {{\n{members}}}\n{rest}"
