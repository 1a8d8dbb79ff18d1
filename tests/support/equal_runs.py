"""Two runs of the same cases, case by case: of two chips, or of two versions of this project.

``python tests/support/equal_runs.py ONE OTHER`` compares all that cases left in two folders,
Robot's ``--outputdir`` or the ``--output`` of `tflm-hil run`: verdicts, counts and sizes of each
``result.json``, and each line of each console. What must differ between chips does not count: the
board's name, the digest of the build and the checksum in the line with which an image boots, and
findings that say what of a chip is approximated. It prints what it compared and the first
differences, and fails if there is one.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: Fields of a result that two chips share. Times of the wall clock, paths and digests are left out.
FIELDS = (
    "name", "sample", "resolver", "builder", "compiler", "verdict", "reason", "problems", "hint",
    "inferences", "outputs_compared", "mismatches", "tests", "arena_declared", "arena_used",
    "stack_used", "instructions", "operators", "total_instructions", "virtual_seconds", "flash",
    "ram",
)  # fmt: skip
_OWN = re.compile(rb" (?:board|build)=\S+| \*[0-9a-f]{8}(?=\r?$)")
_SHOWN = 10


def cases(folder: Path) -> dict[str, Path]:
    """The folders of a run's cases by their paths."""
    return {str(one.parent.relative_to(folder)): one.parent for one in folder.rglob("result.json")}


def result(folder: Path) -> dict[str, Any]:
    """What is compared of the ``result.json`` in ``folder``."""
    told = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    findings = [one for one in told["findings"] if one["kind"] != "approximation"]
    return {name: told[name] for name in FIELDS} | {"findings": findings}


def console(folder: Path) -> list[bytes]:
    """The lines of a case's console, those of a boot without what is a chip's or a build's own."""
    file = folder / "console.bin"
    lines = file.read_bytes().split(b"\n") if file.is_file() else []
    return [_OWN.sub(b"", line) if b" boot sample=" in line else line for line in lines]


def differences(one: Path, other: Path) -> Iterator[str]:
    """How two folders of one case differ."""
    mine, theirs = result(one), result(other)
    yield from (f"{name}: {value!r} and {theirs[name]!r}"
                for name, value in mine.items() if value != theirs[name])  # fmt: skip
    lines, others = console(one), console(other)
    if len(lines) != len(others):
        yield f"console: {len(lines)} lines and {len(others)}"
    for number, (line, another) in enumerate(zip(lines, others, strict=False), 1):
        if line != another:
            yield f"console, line {number}: {line!r} and {another!r}"


def compare(one: Path, other: Path) -> tuple[Counter[str], list[str]]:
    """How much of two runs was compared, and how they differ."""
    mine, theirs = cases(one), cases(other)
    found = [f"{name} ran in one only" for name in sorted(mine.keys() ^ theirs.keys())]
    count: Counter[str] = Counter()
    for name in sorted(mine.keys() & theirs.keys()):
        found += [f"{name}: {text}" for text in differences(mine[name], theirs[name])]
        told, lines = result(mine[name]), console(mine[name])
        count["cases"] += 1
        count["values of outputs"] += told["outputs_compared"]
        count["lines of consoles"] += len(lines)
        count["bytes of consoles"] += sum(map(len, lines))
        count["instructions"] += told["total_instructions"] or 0
    if not count["values of outputs"]:
        found.append("no output was compared")
    return count, found


if __name__ == "__main__":
    COUNT, FOUND = compare(Path(sys.argv[1]), Path(sys.argv[2]))
    print("compared:", ", ".join(f"{number:,} {what}" for what, number in COUNT.items()))
    print(*FOUND[:_SHOWN], f"{len(FOUND)} differences", sep="\n")
    sys.exit(bool(FOUND))
