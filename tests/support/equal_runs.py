"""Two runs of the same cases, case by case: of two chips, or of two versions of this project.

``python tests/support/equal_runs.py ONE OTHER [CASE...]`` compares all that cases left in two
folders, Robot's ``--outputdir`` or the ``--output`` of `tflm-hil run`: verdicts, counts and sizes
of each ``result.json``, and each line of each console. CASE may be missing in one of them. It
prints what it compared and the first differences, and fails if there is one.

Between two chips that does not count which comes of the board's name, an image's first line: the
name, the digest of the build and the checksum in that line, what it takes of flash and of the time
until it is sent, and the findings that say what of a chip is approximated.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Fields of a result. Times of the wall clock, paths and digests are left out.
FIELDS = (
    "name", "sample", "resolver", "builder", "compiler", "verdict", "reason", "problems", "hint",
    "inferences", "outputs_compared", "mismatches", "tests", "arena_declared", "arena_used",
    "stack_used", "instructions", "operators", "ram",
)  # fmt: skip
#: Fields that tell two chips apart, because the names of their boards are not equally long.
OF_ONE_CHIP = ("total_instructions", "virtual_seconds", "flash")
_OWN = re.compile(rb" (?:board|build)=\S+| \*[0-9a-f]{8}(?=\r?$)")
_OVER_BUDGET = re.compile(r"flash: [\d,]+ B, [\d,]+ B over")
_SHOWN = 10


@dataclass(frozen=True)
class Left:
    """What a case left in its folder: its ``result.json`` and its console."""

    folder: Path
    result: dict[str, Any]

    @classmethod
    def all_in(cls, folder: Path) -> dict[str, list[Left]]:
        """The cases of a run by name and builder; each as often as it ran."""
        found: dict[str, list[Left]] = {}
        for file in sorted(folder.rglob("result.json")):
            told = json.loads(file.read_text(encoding="utf-8"))
            key = f"{told['name']} ({told['builder']}, {told['target']})"
            found.setdefault(key, []).append(cls(file.parent, told))
        return found

    def fields(self, *, one_chip: bool) -> dict[str, Any]:
        """What is compared of the result."""
        told = {name: self.result[name] for name in (*FIELDS, *OF_ONE_CHIP * one_chip)}
        findings = [one for one in self.result["findings"] if one["kind"] != "approximation"]
        text = json.dumps(told | {"findings": findings})
        shown: dict[str, Any] = json.loads(text if one_chip else _OVER_BUDGET.sub("flash", text))
        return shown

    def console(self, *, one_chip: bool) -> list[bytes]:
        """The lines of the console."""
        file = self.folder / "console.bin"
        lines = file.read_bytes().split(b"\n") if file.is_file() else []
        own = (not one_chip and b" boot sample=" in line for line in lines)
        return [_OWN.sub(b"", line) if is_own else line
                for line, is_own in zip(lines, own, strict=True)]  # fmt: skip


def differences(one: Left, other: Left) -> Iterator[str]:
    """How what one case left twice differs."""
    one_chip = one.result["chip"] == other.result["chip"]
    mine, theirs = one.fields(one_chip=one_chip), other.fields(one_chip=one_chip)
    yield from (f"{name}: {value!r} and {theirs[name]!r}"
                for name, value in mine.items() if value != theirs[name])  # fmt: skip
    lines, others = one.console(one_chip=one_chip), other.console(one_chip=one_chip)
    if len(lines) != len(others):
        yield f"console: {len(lines)} lines and {len(others)}"
    for number, (line, another) in enumerate(zip(lines, others, strict=False), 1):
        if line != another:
            yield f"console, line {number}: {line!r} and {another!r}"


def compare(one: Path, other: Path, lacking: Sequence[str] = ()) -> tuple[Counter[str], list[str]]:
    """How much of two runs was compared, and how they differ; one may lack ``lacking``."""
    mine, theirs = Left.all_in(one), Left.all_in(other)
    alone = sorted(mine.keys() ^ theirs.keys())
    found = [f"{name} ran in one only" for name in alone if name.partition(" (")[0] not in lacking]
    count: Counter[str] = Counter()
    for name in sorted(mine.keys() & theirs.keys()):
        first, *again = mine[name]
        found += [f"{name}: {text}" for each in [*again, *theirs[name]]
                  for text in differences(first, each)]  # fmt: skip
        lines = first.console(one_chip=True)
        count["cases"] += 1
        count["values of outputs"] += first.result["outputs_compared"]
        count["lines of consoles"] += len(lines)
        count["bytes of consoles"] += sum(map(len, lines)) + len(lines)
        count["instructions"] += first.result["total_instructions"] or 0
    if not count["values of outputs"]:
        found.append("no output was compared")
    return count, found


if __name__ == "__main__":
    COUNT, FOUND = compare(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
    print("compared:", ", ".join(f"{number:,} {what}" for what, number in COUNT.items()))
    print(*FOUND[:_SHOWN], f"{len(FOUND)} differences", sep="\n")
    sys.exit(bool(FOUND))
