"""Annotations for GitHub: failures at a line of the sources or of the case file.

An annotation is a line ``::error file=F,line=N,title=T::TEXT`` in the log ("Workflow commands for
GitHub Actions", Setting an error message).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.case.result import CaseResult, Verdict
from harness.report.problems import problem_lines

#: A location in the sources as in messages about faults and hangs: ``main.c:104``.
_LOCATION = re.compile(r"\b([\w+.-]+\.(?:cc|cpp|cxx|c|hpp|h|inc|rs|S|s)):(\d+)\b")
#: Folders without sources of the workspace: builds, environments.
_SKIPPED = {"build", "node_modules", "venv", "hil-results"}
_MAX_FILES = 100_000  # searched files of a workspace
_MAX_LENGTH = 4000  # characters of a message


@dataclass(frozen=True)
class Anchor:
    """A line of a file, relative to the workspace."""

    file: str
    line: int


def annotated(
    results: Sequence[CaseResult], case_file: Path | None, workspace: Path
) -> Iterator[str]:
    """An annotation for each result that did not pass.

    It refers to the first source location in the problems, if exactly one file of the workspace has
    that name, or else to the case in ``case_file``.
    """
    sources: dict[str, list[str]] | None = None
    for result in results:
        if result.passed:
            continue
        lines = problem_lines(result)
        location = _LOCATION.search("\n".join([*lines, result.evidence.details]))
        if location and sources is None:
            sources = _sources(workspace)
        found = (sources or {}).get(location[1], []) if location else []
        if location and len(found) == 1:
            anchor: Anchor | None = Anchor(found[0], int(location[2]))
        else:
            anchor = _case_line(case_file, result.setup.name, workspace)
        yield _command(result, anchor, lines)


def _sources(workspace: Path) -> dict[str, list[str]]:
    """Paths of the workspace's files, relative to it, by file name."""
    found: dict[str, list[str]] = {}
    count = 0
    for folder, folders, names in os.walk(workspace):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _SKIPPED]
        count += len(names)
        if count > _MAX_FILES:
            break
        for name in names:
            found.setdefault(name, []).append(_relative(Path(folder) / name, workspace))
    return found


def _case_line(case_file: Path | None, name: str, workspace: Path) -> Anchor | None:
    """The line of a case file with the name of the case, or its first line."""
    if case_file is None:
        return None
    text = files.read(case_file).decode("utf-8", "replace")
    wanted = re.compile(rf"\s*name\s*=\s*([\"']){re.escape(name)}\1")
    lines = enumerate(text.splitlines(), 1)
    return Anchor(
        _relative(case_file, workspace),
        next((number for number, line in lines if wanted.match(line)), 1),
    )


def _relative(path: Path, workspace: Path) -> str:
    return Path(os.path.relpath(path, workspace)).as_posix()


def _command(result: CaseResult, anchor: Anchor | None, lines: Sequence[str]) -> str:
    level = "warning" if result.judgement.verdict is Verdict.SKIPPED else "error"
    title = f"{result.setup}: {result.judgement.verdict}"
    location = {"file": anchor.file, "line": str(anchor.line)} if anchor else {}
    properties = {**location, "title": title}
    listed = ",".join(f"{key}={_escaped_value(value)}" for key, value in properties.items())
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    message = "\n".join([*lines, *hint])[:_MAX_LENGTH]
    return f"::{level} {listed}::{_escaped(message)}"


def _escaped(text: str) -> str:
    """``text`` escaped for the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_value(text: str) -> str:
    """``text`` escaped for the value of a property."""
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
