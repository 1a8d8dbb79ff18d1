"""Queries ninja for the inputs of an output in a build tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from harness.base import files
from harness.build.inputs import Inputs

Run = Callable[[Sequence[object]], str]


def inputs_of(output: str, tree: Path, run: Run) -> Inputs:
    """The files that ``output`` in ``tree`` depends on; empty if ninja cannot list them.

    These are the inputs of all its build steps (ninja 1.11 or later), the headers that compilers
    read, and the files that CMake read. ``run`` returns a command's output, "" if it fails.
    """
    steps = run(["ninja", "-C", tree, "-t", "inputs", output])
    if not steps:
        return Inputs()
    named = {
        *steps.splitlines(),
        *_indented(run(["ninja", "-C", tree, "-t", "deps"])),
        *_indented(run(["ninja", "-C", tree, "-t", "query", "build.ninja"])),
    }
    paths = {tree / name for name in named}
    return Inputs(frozenset(str(path) for path in paths if files.is_file(path)))


def _indented(text: str) -> Iterator[str]:
    """The paths in a listing, without the marks of implicit and order-only inputs."""
    for line in text.splitlines():
        if line.startswith("    "):
            yield line.strip().lstrip("| ")
