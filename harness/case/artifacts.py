"""The files that a case writes: console bytes, transcript, result."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.base import files
from harness.base.errors import CannotWrite, CheckFailed, UsageError
from harness.case.result import CaseResult
from harness.uart.recording import Recording

TRANSCRIPT = "transcript.txt"
_CONSOLE, _RESULT = "console.bin", "result.json"
_COVERAGE = "coverage.info"


def folder_name(name: str) -> str:
    """The folder name of case ``name``: characters unsafe in a path become ``_``."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("._") or "case"


def folder(root: Path, name: str) -> Path:
    """Create the folder of case ``name`` under ``root`` and remove the files of an earlier run."""
    path = root / folder_name(name)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for file in (_CONSOLE, TRANSCRIPT, _RESULT, _COVERAGE):
            (path / file).unlink(missing_ok=True)
    except OSError as error:
        raise CannotWrite(
            f"cannot write the case's files to {path}: {error.strerror}", hint="choose --output"
        ) from error
    return path


@contextmanager
def recording(folder: Path, echo: Callable[[bytes], None] | None = None) -> Iterator[Recording]:
    """Open ``console.bin`` (raw bytes) and ``transcript.txt`` (with time stamps) for a run."""
    path = folder / _CONSOLE
    with files.growing(path) as console, files.growing(folder / TRANSCRIPT) as transcript:
        yield Recording(console, transcript, path, echo)


def write_result(path: Path, result: CaseResult) -> None:
    """Write ``result.json``, and ``coverage.info`` if the case was traced."""
    text = json.dumps(result.to_json(), indent=2, ensure_ascii=False)
    files.write(path / _RESULT, text + "\n")
    if result.evidence.coverage is not None:
        files.write(path / _COVERAGE, result.evidence.coverage.lcov())


def console_of(result: CaseResult, model: Path | None = None) -> Path:
    """The file with the raw console of ``result``.

    Raises :class:`CheckFailed` if it has none, :class:`UsageError` if the case ran another model
    than ``model``.
    """
    ran = result.setup.model
    if model is not None and (ran is None or files.read(ran) != files.read(model)):
        other = f"with {ran.name}" if ran is not None else "without a model"
        raise UsageError(f"{result.setup.name} ran {other}, not with {model.name}")
    if result.evidence.console is None:
        raise CheckFailed(f"{result.setup.name} left no console")
    return result.evidence.console
