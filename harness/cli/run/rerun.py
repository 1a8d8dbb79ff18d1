"""``tflm-hil run --rerun``: runs again after each change of a file that the run reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NoReturn

import click

from harness.base import files, paths
from harness.base.errors import HilError
from harness.base.text import count_of
from harness.build.table import load
from harness.case.plan import Plan
from harness.case.subject import Subject
from harness.elf.build_folder import BuildFolder

#: Seconds between two checks of the files. A change is complete if two checks agree.
_PAUSE = 0.3

State = dict[Path, tuple[int, int] | None]


def repeat(
    once: Callable[[], object], files: Callable[[], Iterable[Path]], pause: float = _PAUSE
) -> NoReturn:
    """Calls ``once``, and again after each change of ``files``, until Ctrl-C.

    Errors are printed. If ``files`` raises one, the files of the previous run are watched.
    """
    before: State = {}
    while True:
        before = _state(before)
        try:
            before = _state(files())
            once()
        except HilError as error:
            click.echo(f"tflm-hil: {error}", err=True)
        click.echo(f"waiting for a change of {count_of(len(before), 'file')}", err=True)
        _wait_for_change(before, pause)


def _wait_for_change(before: State, pause: float) -> None:
    now = before
    while True:
        time.sleep(pause)
        last, now = now, _state(before)
        if now != before and now == last and None not in now.values():
            return


def _state(files: Iterable[Path]) -> State:
    """Modification time (ns) and size of each file; None for a missing one."""
    return {path: _of_file(path) for path in files}


def _of_file(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def files_of(made: Plan, what: Subject) -> Iterator[Path]:
    """The files that a plan for ``what`` reads, with the sources of samples."""
    if what.case_file is not None:
        yield what.case_file
    for case in made.cases:
        read = [case.elf, *case.also_load, case.model, case.input_file, case.vectors, case.baseline]
        yield from (_file(path) for path in read if path is not None)
        if case.sample:
            yield from _sources(case.sample)


def _file(image: Path) -> Path:
    """The file of an image, which may be ``FILE@ADDRESS`` or a build folder."""
    if files.is_folder(image):
        return BuildFolder(image).application or image
    return image if files.exists(image) else Path(str(image).rpartition("@")[0] or image)


def _sources(sample: str) -> Iterator[Path]:
    samples = paths.samples()
    for folder in (samples / load().sample(sample).application, samples / "common"):
        yield from (path for path in sorted(folder.rglob("*")) if files.is_file(path))
