"""Writes the kinds of findings in harness/schemas/run.json: ``python tests/support/run_schema.py``.

They are those of harness/base/findings.py; the rest of the file is written by hand.
"""

from __future__ import annotations

import json
from typing import Any

from harness.base import paths
from harness.base.findings import Kind

FILE = paths.schemas() / "run.json"


def with_rows(text: str) -> str:
    """``text`` of run.json with today's kinds of findings."""
    schema = json.loads(text)
    finding = schema["$defs"]["finding"]["properties"]
    finding["kind"] = {"oneOf": [_kind(kind) for kind in Kind]}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _kind(kind: Kind) -> dict[str, Any]:
    return {"const": kind.value, "description": kind.meaning}


if __name__ == "__main__":
    FILE.write_text(with_rows(FILE.read_text(encoding="utf-8")), encoding="utf-8")
