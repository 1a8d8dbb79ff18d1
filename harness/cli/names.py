"""Names on the command line, checked and completed alike in every subcommand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness.base import files, paths
from harness.base.errors import HilError
from harness.case.subject import Subject
from harness.targets.registry import TARGETS

ALL = "all-configurations"


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
        except HilError:  # the user's table of samples is broken; the command itself will say so
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
        """The subject that the word names; raises the UsageError of :meth:`Subject.find`."""
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


def _samples() -> Iterable[str]:
    from harness.build.configurations import load  # noqa: PLC0415 - only a completion asks

    return load().samples


def _configurations() -> Iterable[str]:
    from harness.build.configurations import load  # noqa: PLC0415

    return [*load().configurations, ALL]


def _models() -> Iterable[str]:
    return sorted(path.stem for path in paths.models().glob("*.tflite"))


SAMPLE, CONFIGURATION = Name(_samples), Name(_configurations)
TARGET, MODEL = Name(lambda: TARGETS), Name(_models, or_file=True)
IMAGE, IMAGE_OR_CASES = ImageOrSample(), ImageOrSample(case_files=True)
EXISTING = Existing()
