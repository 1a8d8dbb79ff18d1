"""Parameter types of all subcommands, with checks and shell completion: names, files, numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from harness.base import files, numbers, paths
from harness.base.errors import CannotWrite, HilError
from harness.base.platforms import board_names, board_table, chip_called, chip_names
from harness.base.tables import ValueCheck
from harness.base.text import short
from harness.case.columns import MEASURES
from harness.case.subject import CASE_FILE, Subject
from harness.targets.registry import TARGETS, boards_of_lab

if TYPE_CHECKING:
    from harness.history.store import History

#: The environment variable for ``--history``, and for Robot's variable ``HISTORY``.
HISTORY_VARIABLE = "TFLM_HIL_HISTORY"
#: The value of a :class:`Destination` that denotes standard output.
STDOUT = Path("-")
#: Bytes; limit of usual file systems.
_MAX_FILE_NAME = 255


class Name(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """Any word. Completes the ``known`` words, with ``or_file`` also files."""

    name = "name"

    def __init__(self, known: Callable[[], Iterable[str]], *, or_file: bool = False) -> None:
        self._known = known
        self._or_file = or_file

    def words(self, ctx: click.Context) -> Iterable[str]:
        """The words to complete. Raises :class:`HilError` if they cannot be read."""
        return self._known()

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Completes the last word of a comma-separated list; files first, as shells expect."""
        done, comma, word = incomplete.rpartition(",")
        items = [CompletionItem(incomplete, type="file")] if self._or_file else []
        try:
            names = [name for name in self.words(ctx) if name.startswith(word)]
        except HilError:  # an invalid table, lab file or history, reported by the command itself
            return items
        return items + [CompletionItem(done + comma + name) for name in names]


class ImageOrSample(Name):
    """An image or a sample; with ``case_files`` also a case file, or a folder with one."""

    name = "what"

    def __init__(self, *, case_files: bool = False) -> None:
        super().__init__(_samples, or_file=True)
        self._case_files = case_files

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Subject:
        """The subject of this name; raises as :meth:`Subject.find`."""
        if isinstance(value, Subject):
            return value
        return Subject.find(str(value), case_files=self._case_files)


class _File(click.ParamType):  # type: ignore[type-arg]
    """A file."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Completes files."""
        return [CompletionItem(incomplete, type="file")]


class Existing(_File):
    """An existing file to read."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; a usage error if the file does not exist."""
        path = Path(value)
        if not files.is_file(path):
            folder = files.is_folder(path)
            self.fail(f"{value} is a folder" if folder else f"there is no file {value}", param, ctx)
        return path


class Destination(_File):
    """A writable file; with ``dash`` also ``-`` for standard output."""

    def __init__(self, *, dash: bool = False) -> None:
        self.dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; a usage error or :class:`CannotWrite` if it cannot be written."""
        path = Path(value)
        if path == STDOUT:
            if self.dash:
                return path
            self.fail("needs the name of a file, not '-'", param, ctx)
        if not str(value):
            self.fail("needs the name of a file", param, ctx)
        if "\0" in str(value):
            self.fail("a file name cannot contain a NUL character", param, ctx)
        if files.is_folder(path):
            self.fail(f"{path} is a folder", param, ctx)
        if not files.is_folder(path.parent):
            self.fail(f"there is no folder {path.parent}", param, ctx)
        if len(os.fsencode(path.name)) > _MAX_FILE_NAME:
            self.fail(f"the name {short(path.name)} is too long", param, ctx)
        # A file is replaced, which needs a writable folder; a pipe or a device is written to.
        written = path if files.exists(path) and not files.is_file(path) else path.parent
        if not os.access(written, os.W_OK):
            raise CannotWrite(
                f"cannot write {path}: {written} is not writable", hint="choose another file"
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
        """The number; a usage error if it is not valid."""
        try:
            return self.check(numbers.whole(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _samples() -> Iterable[str]:
    from harness.build.table import load  # noqa: PLC0415 - only for completions

    return load().samples


def _configurations() -> Iterable[str]:
    from harness.build.table import ALL, load  # noqa: PLC0415

    return [*load().configurations, ALL]


def _models() -> Iterable[str]:
    return sorted(path.stem for path in paths.models().glob("*.tflite"))


def _scrapers() -> Iterable[str]:
    from harness.uart.scrapers import SCRAPERS  # noqa: PLC0415

    return SCRAPERS


def _faults() -> Iterable[str]:
    from harness.studies.campaign.faults import MODELS  # noqa: PLC0415

    return MODELS


def _outcomes() -> Iterable[str]:
    from harness.studies.campaign.inject import OUTCOMES  # noqa: PLC0415

    return [f"{name}=" for name in OUTCOMES]


def _buttons() -> Iterable[str]:
    return dict.fromkeys(
        name
        for board in board_names()
        for name in board_table(board).pins
        if name.startswith("button")
    )


class ChipName(Name):
    """The name of a chip."""

    name = "chip"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The key of its table; a usage error for an unknown name."""
        return chip_called(value).key


class CaseName(Name):
    """The name of a case. Completes those of the case file given before it."""

    def __init__(self) -> None:
        super().__init__(tuple)

    def words(self, ctx: click.Context) -> Iterable[str]:
        """The cases of the file; none if there is no case file."""
        # Click has not parsed the arguments yet if it completes the value of `--case`.
        named = Path(next(iter(ctx.args), CASE_FILE))
        path = named / CASE_FILE if files.is_folder(named) else named
        if not files.is_file(path):
            return []
        rows = files.read_toml(path).get("case")
        rows = rows if isinstance(rows, list) else []
        return [str(row["name"]) for row in rows if isinstance(row, dict) and row.get("name")]


class Recorded(Name):
    """A word recorded in the history given by ``--history`` or the environment."""

    def __init__(self, words: Callable[[History], Iterable[str]]) -> None:
        super().__init__(tuple)
        self._of = words

    def words(self, ctx: click.Context) -> Iterable[str]:
        """The words; none without a history."""
        from harness.history.store import History  # noqa: PLC0415

        url = ctx.params.get("url") or os.environ.get(HISTORY_VARIABLE)
        if not url:
            return []
        with History.open(url, make=False) as store:
            return list(self._of(store))


def _cases(store: History) -> Iterable[str]:
    return store.case_names(store.runs())


def _branches(store: History) -> Iterable[str]:
    return dict.fromkeys(run.occasion.branch for run in store.runs() if run.occasion.branch)


def _machines(store: History) -> Iterable[str]:
    return dict.fromkeys(run.occasion.machine for run in store.runs() if run.occasion.machine)


def _figures() -> Iterable[str]:
    return [measure.history for measure in MEASURES if measure.history]


CASE = CaseName()
RECORDED_CASE, BRANCH, FIGURE = Recorded(_cases), Recorded(_branches), Name(_figures)
SAMPLE, CONFIGURATION = Name(_samples), Name(_configurations)
CHIP = ChipName(chip_names)
SCRAPER = Name(_scrapers)
FAULTS, OUTCOME, BUTTON = Name(_faults), Name(_outcomes), Name(_buttons)
BOARD, MACHINE = Name(boards_of_lab), Recorded(_machines)
FILE_OR_WORD = Name(tuple, or_file=True)  # a path, or a word that the command interprets
TARGET, MODEL = Name(lambda: TARGETS), Name(_models, or_file=True)
IMAGE, IMAGE_OR_CASES = ImageOrSample(), ImageOrSample(case_files=True)
EXISTING = Existing()
