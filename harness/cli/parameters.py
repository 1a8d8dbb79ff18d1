"""Types of parameters, checked and completed alike in every subcommand: names, files, numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness.base import files, numbers, paths
from harness.base.errors import CannotWrite, HilError
from harness.base.platforms import chip_called, chip_names
from harness.base.tables import ValueCheck
from harness.base.text import short
from harness.case.subject import CASE_FILE, Subject
from harness.targets.registry import TARGETS

#: The resolver "all configurations of the sample".
ALL = "all-configurations"
#: The value of an option for a file to write that means standard output.
STDOUT = Path("-")
#: Most bytes of a file's name, on all usual file systems.
_LONGEST_NAME = 255


class Name(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """A word that is passed on as it is. Completes ``known`` words, with ``or_file`` files too."""

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]], *, or_file: bool = False) -> None:
        self._known = known
        self._or_file = or_file

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that begin so. Files come first: a shell takes them if no name fits."""
        done, comma, word = incomplete.rpartition(",")
        items = [CompletionItem(incomplete, type="file")] if self._or_file else []
        try:
            names = [name for name in self._known() if name.startswith(word)]
        except HilError:  # the user's table of samples is broken; the command itself reports it
            return items
        return items + [CompletionItem(done + comma + name) for name in names]


class ImageOrSample(Name):
    """An ELF or a sample; with ``case_files`` also a case file, or the folder that has one."""

    name = "what"

    def __init__(self, *, case_files: bool = False) -> None:
        super().__init__(_samples, or_file=True)
        self._case_files = case_files

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Subject:
        """The subject of this name; raises the UsageError of :meth:`Subject.find`."""
        if isinstance(value, Subject):
            return value
        return Subject.find(str(value), case_files=self._case_files)


class Existing(click.ParamType):  # type: ignore[type-arg]
    """A file to read, which must exist."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; a usage error if there is no such file."""
        path = Path(value)
        if not files.is_file(path):
            folder = files.is_folder(path)
            self.fail(f"{value} is a folder" if folder else f"there is no file {value}", param, ctx)
        return path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete files."""
        return [CompletionItem(incomplete, type="file")]


class Destination(click.ParamType):  # type: ignore[type-arg]
    """A file to write that can be written; with ``dash`` also ``-`` for standard output."""

    name = "file"

    def __init__(self, *, dash: bool = False) -> None:
        self.dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; a usage error if nothing can be written to it."""
        path = Path(value)
        if path == STDOUT:
            if self.dash:
                return path
            self.fail("needs the name of a file, not '-'", param, ctx)
        if not str(value):
            self.fail("needs the name of a file", param, ctx)
        if "\0" in str(value):
            self.fail("no file's name holds a NUL", param, ctx)
        if files.is_folder(path):
            self.fail(f"{path} is a folder", param, ctx)
        if not files.is_folder(path.parent):
            self.fail(f"there is no folder {path.parent}", param, ctx)
        if len(os.fsencode(path.name)) > _LONGEST_NAME:
            self.fail(f"the name {short(path.name)} is too long", param, ctx)
        # A file is replaced in its folder; a pipe or a device is written to.
        written = path if path.exists() and not path.is_file() else path.parent
        if not os.access(written, os.W_OK):
            raise CannotWrite(
                f"cannot write {path}: {written} may not be written", hint="name another file"
            )
        return path


class Number(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """A number that passes ``check``, one of :mod:`harness.base.numbers`."""

    name = "number"

    def __init__(self, check: ValueCheck[float]) -> None:
        self.check = check

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number, or end with a usage error."""
        try:
            return self.check(numbers.whole(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _samples() -> Iterable[str]:
    from harness.build.configurations import load  # noqa: PLC0415 - only for completions

    return load().samples


def _configurations() -> Iterable[str]:
    from harness.build.configurations import load  # noqa: PLC0415

    return [*load().configurations, ALL]


def _models() -> Iterable[str]:
    return sorted(path.stem for path in paths.models().glob("*.tflite"))


class ChipName(Name):
    """The name of a chip that has a table."""

    name = "chip"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The key of its table; a usage error for an unknown name."""
        return chip_called(value).key


class CaseName(click.ParamType):  # type: ignore[type-arg]
    """The name of a case. Completes those of the case file that stands before it."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Cases whose names begin so; none if there is no case file, or a broken one."""
        # Behind `--case` without a value click has not read the arguments before it.
        named = Path(next(iter(ctx.args), CASE_FILE))
        path = named / CASE_FILE if files.is_folder(named) else named
        if not files.is_file(path):
            return []
        try:
            rows = files.read_toml(path).get("case")
        except HilError:
            return []
        rows = rows if isinstance(rows, list) else []
        names = [str(row.get("name", "")) for row in rows if isinstance(row, dict)]
        return [CompletionItem(name) for name in names if name and name.startswith(incomplete)]


CASE = CaseName()
SAMPLE, CONFIGURATION = Name(_samples), Name(_configurations)
CHIP = ChipName(chip_names)
TARGET, MODEL = Name(lambda: TARGETS), Name(_models, or_file=True)
IMAGE, IMAGE_OR_CASES = ImageOrSample(), ImageOrSample(case_files=True)
EXISTING = Existing()
