"""The schema for flatc: the runtime's part of the format, with the names of all operators."""

from __future__ import annotations

from pathlib import Path

from harness.model.schema import OPERATOR_NAMES

_PLACEHOLDER = "// enum BuiltinOperator:"


def text(schema: Path) -> str:
    """``schema.fbs`` of the standalone runtime, completed with the operators of harness.model."""
    members = "".join(f"  {name} = {number},\n" for number, name in enumerate(OPERATOR_NAMES))
    before, placeholder, after = schema.read_text(encoding="utf-8").partition(_PLACEHOLDER)
    assert placeholder, f"{schema} does not say where the operators go"
    rest = after.partition("\n")[2]
    return f"{before}enum BuiltinOperator : int32 {{\n{members}}}\n{rest}"
