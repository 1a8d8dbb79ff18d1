"""GitHub's annotations: what did not pass, at a line of the sources or of the case file.

A workflow command is a line ``::error file=F,line=N,title=T::TEXT`` on standard output ("Workflow
commands for GitHub Actions", Setting an error message).
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

#: A place in the sources, as faults and hangs are told: ``main.c:104``.
_PLACE = re.compile(r"\b([\w+.-]+\.(?:cc|cpp|cxx|c|hpp|h|inc|rs|S|s)):(\d+)\b")
#: Folders whose sources are nobody's: builds, environments.
_SKIPPED = {"build", "node_modules", "venv", "hil-results"}
_FILES = 100_000  # of a workspace, that are looked at
_LENGTH = 4000  # characters of a message


@dataclass(frozen=True)
class Anchor:
    """A line of a file, relative to the workspace."""

    file: str
    line: int


def annotated(
    results: Sequence[CaseResult], case_file: Path | None, workspace: Path
) -> Iterator[str]:
    """A line for each result that did not pass.

    It stands at the first place that the problems name, if one file of the workspace has that
    name, else at the case in ``case_file``.
    """
    sources: dict[str, list[str]] | None = None
    for result in results:
        if result.passed:
            continue
        lines = problem_lines(result)
        named = _PLACE.search("\n".join([*lines, result.evidence.details]))
        if named and sources is None:
            sources = _sources(workspace)
        found = (sources or {}).get(named[1], []) if named else []
        if named and len(found) == 1:
            place: Anchor | None = Anchor(found[0], int(named[2]))
        else:
            place = _case_line(case_file, result.setup.name, workspace)
        yield _command(result, place, lines)


def _sources(workspace: Path) -> dict[str, list[str]]:
    """The files of the workspace by their names."""
    found: dict[str, list[str]] = {}
    count = 0
    for folder, folders, names in os.walk(workspace):
        folders[:] = [one for one in folders if not one.startswith(".") and one not in _SKIPPED]
        count += len(names)
        if count > _FILES:
            break
        for name in names:
            found.setdefault(name, []).append(_relative(Path(folder) / name, workspace))
    return found


def _case_line(case_file: Path | None, name: str, workspace: Path) -> Anchor | None:
    """The line of a case file with the name of the case, else its first one."""
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


def _command(result: CaseResult, place: Anchor | None, lines: Sequence[str]) -> str:
    level = "warning" if result.judgement.verdict is Verdict.SKIPPED else "error"
    title = f"{result.setup}: {result.judgement.verdict}"
    properties = {"file": place.file, "line": str(place.line)} if place else {}
    told = ",".join(f"{key}={_escaped(value)}" for key, value in
                    {**properties, "title": title}.items())  # fmt: skip
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    message = "\n".join([*lines, *hint])[:_LENGTH]
    return f"::{level} {told}::{_data(message)}"


def _data(text: str) -> str:
    """Text behind ``::``: one line, whatever it holds."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped(text: str) -> str:
    """The value of a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
