"""What users name on the command line, spelled, refused and completed alike in every subcommand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness import files, paths
from harness.case.what import What, find
from harness.errors import HilError
from harness.targets.registry import TARGETS

ALL = "all-configurations"


class Name(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """A word that is passed on as it is; ``known`` are completed, files too where ``or_file``."""

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]], *, or_file: bool = False) -> None:
        self._known = known
        self._or_file = or_file

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names that begin so. Files come first: a shell takes them where no name fits."""
        done, comma, word = incomplete.rpartition(",")
        found = [CompletionItem(incomplete, type="file")] if self._or_file else []
        try:
            known = list(self._known())
        except HilError:  # an own table of samples that is broken; the command itself will say so
            return found
        return found + [CompletionItem(done + comma + one) for one in known if one.startswith(word)]


class Image(Name):
    """An ELF or a sample; with ``case_files`` also a case file, or the folder that has one."""

    name = "what"

    def __init__(self, *, case_files: bool = False) -> None:
        super().__init__(_samples, or_file=True)
        self._case_files = case_files

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> What:
        """What it names, or a usage error in the wording of :func:`harness.case.what.find`."""
        return value if isinstance(value, What) else find(str(value), case_files=self._case_files)


class Existing(click.ParamType):  # type: ignore[type-arg]
    """A file to read, refused before anything runs if it is not there."""

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
        """Files."""
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
IMAGE, IMAGE_OR_CASES = Image(), Image(case_files=True)
EXISTING = Existing()
