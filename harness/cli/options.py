"""Options and output that the subcommands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from harness.base import files, numbers
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.errors import CannotWrite
from harness.base.tables import Check
from harness.base.text import short
from harness.targets.registry import all_options

if TYPE_CHECKING:
    from rich.console import Console

#: The environment variable for ``--history``, and for Robot's variable ``HISTORY``.
HISTORY_VARIABLE = "TFLM_HIL_HISTORY"
#: The value of an option for a file to write that means standard output.
STDOUT = Path("-")
#: Most bytes of a file's name, on all usual file systems.
_LONGEST_NAME = 255
#: Columns of a table in a file or a pipe: more than any table has.
_UNFOLDED = 2000


class Number(click.ParamType):  # type: ignore[type-arg]  # not generic in older click
    """A number that passes ``check``, one of :mod:`harness.base.numbers`."""

    name = "number"

    def __init__(self, check: Check[float]) -> None:
        self.check = check

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number, or end with a usage error."""
        try:
            return self.check(numbers.whole(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def number_option(
    *names: str,
    check: Check[Any],
    help: str,  # noqa: A002 - click's word
    default: float | None = None,
    default_text: str = "",
    **others: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option with a number; its help ends with the numbers that it takes, and its default.

    ``default_text`` describes the default of an option that has no number of its own.
    """
    text = default_text or ("" if default is None else f"{default:g}")
    limits = f"{check.takes}; default: {text}" if text else check.takes
    return click.option(
        *names, type=Number(check), default=default, help=f"{help}  [{limits}]", **others
    )


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


def json_option(what: str = "the document") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--json [FILE]``, the same in every subcommand: the parameter is ``json_file``."""
    return click.option(
        "--json", "json_file", metavar="[FILE]", is_flag=False, flag_value="-", default=None,
        type=Destination(dash=True),
        help=f"Write {what} as JSON to FILE. With - or no FILE: to standard output, and nothing "
        "else there.",
    )  # fmt: skip


def beside_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--beside IMAGE``, the same in every command that takes an image: ``beside``, a tuple."""
    return click.option(
        "--beside", metavar="IMAGE", multiple=True, type=click.Path(path_type=Path),
        help="A further image, loaded with the first: a bootloader, the secure firmware, or the "
        "ELF of a HEX file; may be given again.",
    )(command)  # fmt: skip


def history_option(
    what: str = "The history: an SQLite file, or a database URL.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--history FILE|URL``, the same in every command: the parameter is ``url``."""
    return click.option(
        "--history", "url", metavar="FILE|URL",
        default=lambda: os.environ.get(HISTORY_VARIABLE) or None,
        help=f"{what}  [default: ${HISTORY_VARIABLE}]",
    )  # fmt: skip


def arithmetic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--rounding`` and ``--multipliers``, together the parameter ``arithmetic``."""

    @wraps(command)
    def with_arithmetic(*, rounding: Rounding, multipliers: Multipliers, **others: Any) -> Any:
        return command(arithmetic=Arithmetic(rounding, multipliers), **others)

    rounding = click.option(
        "--rounding", type=click.Choice(get_args(Rounding)), default="double", show_default=True,
        help="TFLM rounds twice, some of CMSIS-NN once.",
    )  # fmt: skip
    multipliers = click.option(
        "--multipliers", type=click.Choice(get_args(Multipliers)), default="double",
        show_default=True,
        help="How multipliers come from scales: double since TFLM of autumn 2026, single before.",
    )  # fmt: skip
    return rounding(multipliers(with_arithmetic))


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all targets; each parameter has the target's own name for it."""
    for option, names in reversed(all_options().values()):
        spelled = option.spelled, option.name
        text = f"With --target {' or '.join(names)}: {option.help}"
        if option.kind == "seconds":
            add = number_option(*spelled, check=numbers.seconds_or_zero, help=text)
        else:
            add = click.option(*spelled, help=text)
        command = add(command)
    return command


#: Prints a line of progress; standard output is for results.
on_stderr = partial(click.echo, err=True)


def screen() -> Console:
    """Standard output for tables, as wide as the terminal; in a file or a pipe rows stay whole."""
    from rich.console import Console  # noqa: PLC0415 - only if something is shown

    return Console(highlight=False, width=None if sys.stdout.isatty() else _UNFOLDED)


def write_text(path: Path | None, text: str) -> None:
    """Write ``text`` to the file of an option; nothing if the option was not given.

    Raises :class:`CannotWrite` if that fails after all (on a full disk, say).
    """
    if path is None:
        return
    text = text if text.endswith("\n") else text + "\n"
    if path == STDOUT:
        click.echo(text, nl=False)
        return
    files.write(path, text)
