"""The ``console`` blocks of a page, run: each command must print what stands below it.

A command begins with ``$``, its further lines with ``>``. In the output ``...`` stands for any text
within a line, a line of ``...`` alone for any lines. All commands of a page share a folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

#: Debian's tools, and the programs beside this Python: `tflm-hil` and pytest.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])


@dataclass(frozen=True)
class Step:
    """A command and the lines that the page shows below it."""

    command: str
    expected: tuple[str, ...]


def steps(block: str) -> Iterator[Step]:
    """The commands of a block."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        first, *rest = part.rstrip("\n").split("\n")
        further = [line[2:] for line in rest if line == ">" or line.startswith("> ")]
        yield Step("\n".join([first, *further]), _lines(rest[len(further) :]))


def _lines(output: list[str]) -> tuple[str, ...]:
    """The lines of an output without blank ones at its end."""
    return tuple("\n".join(output).rstrip().splitlines())


def agrees(expected: tuple[str, ...], printed: str) -> bool:
    """True if the output is what the page shows; blanks at the end of a line do not count."""
    lines = [
        r"(?:.*\n)*" if line.strip() == "..." else
        r"[^\n]*".join(map(re.escape, line.rstrip().split("..."))) + r"\n"
        for line in expected
    ]  # fmt: skip
    text = "".join(f"{line.rstrip()}\n" for line in printed.rstrip("\n").split("\n"))
    return re.fullmatch("".join(lines), text if printed.strip() else "") is not None


class Shell:
    """A shell whose folder and last exit code outlive each command."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._code = folder, 0
        self._left = folder / ".left"

    def run(self, command: str) -> str:
        """What a command prints, standard error included."""
        kept = shlex.quote(str(self._left))
        script = f"(exit {self._code})\n{command}\ncode=$?; pwd > {kept}; exit $code"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script], cwd=self._folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            env={"PATH": _PATH, "HOME": os.environ.get("HOME", "/"), "TERM": "dumb",
                 "LC_ALL": "C.UTF-8", "COLUMNS": "160"},
        )  # fmt: skip
        self._code = done.returncode
        self._folder = Path(self._left.read_text().strip())
        return done.stdout


def run_page(page: Path, folder: Path) -> int:
    """Run every command of a page in ``folder``; how many there were.

    Raises AssertionError with expected and printed text where they differ.
    """
    shell, count = Shell(folder), 0

    def evaluate(example: Example) -> None:
        nonlocal count
        for step in steps(example.parsed):
            printed = shell.run(step.command)
            expected = "\n".join(step.expected)
            assert agrees(step.expected, printed), (
                f"{page.name}: $ {step.command}\nexpected:\n{expected}\nprinted:\n{printed}"
            )
            count += 1

    for example in Sybil([CodeBlockParser("console", evaluate)]).parse(page).examples():
        example.evaluate()
    return count
