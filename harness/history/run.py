"""A run in a history: time, machine, commit, selection, results of its cases."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness import __version__
from harness.base import files, process
from harness.base.errors import HilError, ProgramFailed, ProgramMissing, UsageError
from harness.base.form import check_format
from harness.base.secrets import redacted, redacted_command
from harness.history.measures import Figure, figures
from harness.history.selection import Selection, relative

_GIT_SECONDS = 10.0  # wall-clock limit of a git command
_TEXTS = ("commit", "branch", "machine", "tool", "command")
#: Environment variable with the name of this machine in a history. It names a lab, whose
#: containers or runners may have changing names.
MACHINE_VARIABLE = "TFLM_HIL_MACHINE"

#: Variables of GitHub, GitLab and Jenkins, whose checkouts are on no branch. Those of pull and
#: merge requests are first, since the others then name a merge commit.
_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT")
_BRANCHES = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
             "CI_COMMIT_REF_NAME", "CHANGE_BRANCH", "BRANCH_NAME")  # fmt: skip


@dataclass(frozen=True)
class Occasion:
    """Time and place of a run, its commit and the selection of its cases; no secrets."""

    started: float  # seconds since 1970
    commit: str = ""
    branch: str = ""
    machine: str = ""
    tool: str = __version__
    command: str = ""
    selection: Selection | None = None  # None: only the command is known

    @classmethod
    def here(cls, folder: Path | None = None, selection: Selection | None = None) -> Occasion:
        """The occasion of a run here and now.

        Commit and branch are those of the CI server's variables, or else of git. The sources of
        ``selection`` that are files become relative to the repository.
        """
        ci_commit = _first(_COMMITS)
        commit = ci_commit or git(folder, "rev-parse", "HEAD")
        branch = _first(_BRANCHES) or git(folder, "branch", "--show-current")
        if commit and not ci_commit and git(folder, "status", "--porcelain"):
            commit += "+"  # the files differ from the commit
        program = Path(sys.argv[0] or "python")
        is_module = program.name == "__main__.py"
        called = ["python", "-m", program.parent.name] if is_module else [program.name]
        command = redacted_command([*called, *sys.argv[1:]])
        if selection is not None:
            root = git(folder, "rev-parse", "--show-toplevel")
            sources = (relative(name, root) if Path(name).exists() else name
                       for name in selection.sources)  # fmt: skip
            selection = replace(selection, sources=tuple(sorted(set(sources))))
        return cls(time.time(), commit, branch, _machine(), command=command,
                   selection=selection)  # fmt: skip

    @property
    def selected(self) -> Selection:
        """The selection; for a run of an older tflm-hil, that of its command."""
        return self.selection or Selection.of_command(self.command)

    def without(self, cases: str) -> Occasion:
        """The occasion of a partial run that left out ``cases``."""
        known = self.selected
        return replace(self, selection=replace(known, filters=(*known.filters, f"without {cases}")))

    def to_json(self) -> dict[str, Any]:
        """The field ``run`` of a document of results."""
        row = {**vars(self)}
        del row["selection"]
        return row | ({"selection": self.selection.to_json()} if self.selection else {})

    def updated_from(self, document: object) -> Occasion:
        """This occasion with the fields that a document of results gives for its run.

        Secrets, which documents of older versions may hold, are hidden.
        """
        row = document.get("run") if isinstance(document, Mapping) else None
        if not isinstance(row, Mapping):
            return self
        values: dict[str, Any] = {
            name: redacted(row[name]) for name in _TEXTS if isinstance(row.get(name), str)
        }
        started = row.get("started")
        if isinstance(started, (int, float)) and math.isfinite(started):
            values["started"] = float(started)
        return replace(self, **values, selection=Selection.from_json(row.get("selection")))


@dataclass(frozen=True)
class ImageParts:
    """The symbols and operators of an image."""

    sha256: str
    compiler: str
    parts: tuple[tuple[str, str, str, int], ...]  # kind (symbol, operator), region, name, bytes


@dataclass(frozen=True)
class CaseRow:
    """One case of a run."""

    name: str
    sample: str
    resolver: str
    builder: str
    compiler: str  # "" if unknown
    target: str
    verdict: str
    reason: str
    image: str  # SHA-256, "" if there is none
    figures: tuple[Figure, ...]
    chip: str = ""  # "" if there is no image


@dataclass(frozen=True)
class Run:
    """A run with its cases."""

    occasion: Occasion
    cases: tuple[CaseRow, ...]
    images: tuple[ImageParts, ...] = ()  # images whose parts are known
    elves: Mapping[str, str] = field(default_factory=dict)  # files of images: SHA-256 -> path

    @property
    def key(self) -> str:
        """A hash of the content, which identifies the run in any history."""
        at = self.occasion
        occasion = [at.started, at.commit, at.branch, at.machine]
        # A case without a chip has the key of older versions, whose rows had no chip.
        cases = [[*vars(case).values()][: None if case.chip else -1] for case in self.cases]
        return hashlib.sha256(json.dumps([occasion, cases], default=vars).encode()).hexdigest()


def from_document(document: object, occasion: Occasion, *, where: str = "the results") -> Run:
    """Read a run from a document of ``tflm-hil run --json``, pytest or Robot.

    Raises :class:`UsageError` for anything else, and for a run without cases: it tested nothing.
    """
    cases = document.get("cases") if isinstance(document, Mapping) else None
    if isinstance(document, Mapping):
        check_format(document, where)
    if not isinstance(cases, list):
        raise UsageError(
            f"{where} has no cases", hint="pass a file that `tflm-hil run --json FILE` wrote"
        )
    if not cases:
        raise UsageError(f"{where} holds no case: nothing was tested")
    try:
        rows = tuple(_row(case) for case in cases)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{where} is not a result of tflm-hil: {error!r}") from error
    elves = {row.image: str(case["elf"]) for case, row in zip(cases, rows, strict=True)
             if row.image and case.get("elf")}  # fmt: skip
    return Run(occasion, rows, elves=elves)


def read(path: Path) -> object:
    """Read the JSON document in a file; raise :class:`UsageError` for any other file."""
    try:
        return json.loads(files.read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}") from error


def from_file(path: Path, given: Mapping[str, Any] | None = None) -> Run:
    """Read a run from a JSON file of results.

    Time and place are those of ``given``, else of the document, else this machine and the time of
    the file's last change, so that a file recorded twice is one run. Raises :class:`UsageError` for
    any other file.
    """
    document = read(path)
    here = replace(Occasion.here(), started=path.stat().st_mtime)
    occasion = replace(here.updated_from(document), **(given or {}))
    return from_document(document, occasion, where=str(path))


def _row(case: Mapping[str, Any]) -> CaseRow:
    return CaseRow(
        name=str(case["name"]),
        sample=str(case["sample"]),
        resolver=str(case["resolver"]),
        builder=str(case["builder"]),
        compiler=str(case.get("compiler") or ""),
        target=str(case["target"]),
        verdict=str(case["verdict"]),
        reason=redacted(str(case["reason"])),
        image=str(case.get("elf_sha256") or ""),
        figures=tuple(figures(case)),
        chip=str(case.get("chip") or ""),
    )


def image_parts(elf: str, sha256: str) -> ImageParts | None:
    """The parts of the image at ``elf``; None if it is gone or has another SHA-256."""
    from harness.elf import Image  # noqa: PLC0415 - only recording needs the parts of images
    from harness.footprint import analyse  # noqa: PLC0415

    try:
        image = Image.from_elf(elf)
        if image.sha256 != sha256:
            return None
        footprint = analyse(image)
    except HilError:
        return None
    symbols = _summed((s.region, s.name, s.size) for s in footprint.symbols)
    operators = [
        ("operator", "FLASH", cost.operator, cost.exclusive)
        for cost in footprint.operators.operators
    ]
    return ImageParts(
        sha256,
        image.compiler,
        (*(("symbol", *key, size) for key, size in symbols.items()), *operators),
    )


def _summed(rows: Any) -> dict[tuple[str, str], int]:
    sizes: dict[tuple[str, str], int] = {}
    for region, name, size in rows:
        sizes[region, name] = sizes.get((region, name), 0) + size
    return sizes


def _machine() -> str:
    """``$TFLM_HIL_MACHINE``, or the host's name; GitHub's runners count as one machine."""
    hosted = os.environ.get("RUNNER_ENVIRONMENT") == "github-hosted"
    runner = f"github-hosted {os.environ.get('RUNNER_OS', '')} {platform.machine()}"
    return os.environ.get(MACHINE_VARIABLE) or (runner if hosted else platform.node())


def _first(variables: Sequence[str]) -> str:
    """The value of the first of these environment variables that has one; else ""."""
    return next((value for name in variables if (value := os.environ.get(name))), "")


def git(folder: Path | None, *arguments: str) -> str:
    """What a git command prints in ``folder`` (None: the current one); "" if it fails."""
    command = ("git", *(("-C", str(folder)) if folder else ()), *arguments)
    try:
        return process.run(command, seconds=_GIT_SECONDS, split=True).output.strip()
    except (ProgramMissing, ProgramFailed):
        return ""
