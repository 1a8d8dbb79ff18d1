"""What a case leaves on disk: console bytes, transcript, result."""

from __future__ import annotations

import json
import re
from pathlib import Path

from harness.case.result import CaseResult
from harness.errors import UsageError
from harness.uart import Console


def folder(root: Path, name: str) -> Path:
    """The folder of case ``name`` under ``root``, made; unsafe characters become ``_``."""
    path = root / (re.sub(r"[^\w.+-]+", "_", name).strip("._") or "case")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot write the case's files to {path}: {error.strerror}", hint="choose --output"
        ) from error
    return path


def write_console(path: Path, console: Console) -> Path:
    """``console.bin`` as it came and ``transcript.txt`` with virtual time stamps."""
    raw = path / "console.bin"
    raw.write_bytes(console.raw)
    (path / "transcript.txt").write_text(console.transcript(), encoding="utf-8")
    return raw


def write_result(path: Path, result: CaseResult) -> None:
    """``result.json``."""
    text = json.dumps(result.to_json(), indent=2, ensure_ascii=False)
    (path / "result.json").write_text(text + "\n", encoding="utf-8")
