"""What the subcommands share: options that are spelled, checked and written alike."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from harness.errors import CannotWrite

#: Standard output, where an option names a file to write.
STDOUT = Path("-")


class Seconds(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """A time: a finite number, above zero unless ``zero`` allows it."""

    name = "seconds"

    def __init__(self, *, zero: bool = False) -> None:
        self.zero = zero

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number, or end with a usage error."""
        try:
            seconds = float(value)
        except (TypeError, ValueError):
            self.fail(f"{value!r} is no number of seconds", param, ctx)
        if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not self.zero):
            least = "zero or more" if self.zero else "above zero"
            self.fail(f"{value!r} is no time: a finite number of seconds, {least}", param, ctx)
        return seconds


class Destination(click.ParamType):  # type: ignore[type-arg]
    """A file to write, ``-`` for standard output; refused before anything runs if it cannot be."""

    name = "file"

    def __init__(self, *, dash: bool = False) -> None:
        self.dash = dash

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path; a usage error where nothing can be written to it."""
        path = Path(value)
        if path == STDOUT:
            if self.dash:
                return path
            self.fail("needs the name of a file, not '-'", param, ctx)
        if not str(value):
            self.fail("needs the name of a file", param, ctx)
        if path.is_dir():
            self.fail(f"{path} is a folder", param, ctx)
        if not path.exists() and not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent}", param, ctx)
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            self.fail(f"{path} may not be written", param, ctx)
        return path


def json_option(what: str = "the document") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--json [FILE]``, the same in every subcommand: the parameter is ``json_file``."""
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", default=None,
        type=Destination(dash=True),
        help=f"Write {what} as JSON to FILE. With - or no FILE: to standard output, and nothing "
        "else there.",
    )  # fmt: skip


def arithmetic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--rounding`` and ``--multipliers``: which arithmetic the NumPy reference has."""
    choice = click.Choice(["double", "single"])
    rounding = click.option(
        "--rounding", type=choice, default="double", show_default=True,
        help="TFLM rounds twice, some of CMSIS-NN once.",
    )  # fmt: skip
    multipliers = click.option(
        "--multipliers", type=choice, default="double", show_default=True,
        help="How multipliers come from scales: double since TFLM of autumn 2026, single before.",
    )  # fmt: skip
    return rounding(multipliers(command))


def write_text(path: Path | None, text: str) -> None:
    """Write ``text`` where an option said; nothing where it was not given.

    Raises :class:`CannotWrite` where that fails after all (a disk that is full, say).
    """
    if path is None:
        return
    text = text if text.endswith("\n") else text + "\n"
    if path == STDOUT:
        click.echo(text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror or error}") from error
