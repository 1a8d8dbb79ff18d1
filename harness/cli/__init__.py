"""``tflm-hil``: the command line; maps exceptions to exit codes.

Each subcommand is a module of this package, which is imported only when it is called, to keep
start-up fast. They share ``parameters`` (types of arguments and options), ``options`` and
``output``.
"""

from __future__ import annotations

import difflib
import gc
import logging
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from harness import __version__
from harness.base import logs, signals
from harness.base.errors import (
    BUG_HINT,
    EnvironmentMissing,
    HilError,
    UsageError,
    describe_bug,
    traceback_text,
)
from harness.base.removed import RENAMED, removed, renamed
from harness.base.secrets import redacted

#: Subcommands, and their descriptions in ``--help``.
COMMANDS = {
    "init": "Write a case file, a pytest file and a workflow for the firmware in a folder.",
    "doctor": "Check the tools on this machine, and install missing ones.",
    "list": "List samples, chips, or the folders of this package.",
    "build": "Build a sample; print the path of its ELF.",
    "run": "Run an ELF, a sample or a case file, and check the results.",
    "debug": "Run an image up to a location, and debug it with gdb.",
    "footprint": "Show flash and RAM by region, section, file, symbol, operator.",
    "resolver": "Check, dump, generate operator resolvers.",
    "arena": "Find the smallest tensor arena that works.",
    "reference": "Run a model in NumPy, layer by layer.",
    "vectors": "Find inputs that detect likely mistakes of an implementation.",
    "layers": "Find the first operator of an image with wrong outputs.",
    "sweep": "Build and run many variants, and find the best.",
    "campaign": "Inject faults into an inference, and count their outcomes.",
    "history": "Record results over time, show trends, list regressions.",
    "calibrate": "Determine the cycles per instruction of each kernel from runs on a board.",
    "boards": "List the boards of the lab and their state.",
    "virtual-board": "Start a simulated board with serial ports and a debug port.",
    "completion": "Print a completion script for bash, zsh or fish.",
}
#: The environment variable of a shell's request for completions.
COMPLETION = "_TFLM_HIL_COMPLETE"
_BROKEN_PIPE = 141
_STDOUT = 1  # file descriptor
#: Threshold of the garbage collector: imports alone create some 100,000 objects.
_COLLECT_AT = 200_000


#: Commands whose names are those of built-in functions; their modules' names end with ``_``.
_BUILT_IN = ("list",)


class Commands(click.Group):
    """Subcommands with their ``descriptions``, each in a module of ``package``.

    The module is imported when the command is called.
    """

    def __init__(
        self, *arguments: Any, package: str, descriptions: Mapping[str, str], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._package = package
        self._descriptions = descriptions

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of ``--help``."""
        return list(self._descriptions)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes options of the group, or commands, without importing their modules."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        items = self._descriptions.items()
        return [CompletionItem(name, help=text) for name, text in items
                if name.startswith(incomplete)]  # fmt: skip

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command. Raises :class:`UsageError` for an unknown or removed name."""
        known = self._descriptions
        if cmd_name not in known:
            near = difflib.get_close_matches(cmd_name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
            raise removed(cmd_name) or UsageError(f"no command {cmd_name!r}", hint=hint)
        name = f"{cmd_name}_" if cmd_name in _BUILT_IN else cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"{self._package}.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of ``args``; a renamed one is told, and works."""
        if ctx.parent is None and (note := renamed(args[0], "tflm-hil")):
            if not ctx.resilient_parsing:  # the shell asks for completions
                click.echo(note, err=True)
            args = [*RENAMED[args[0]].split(), *args[1:]]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands in ``--help``, without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._descriptions.items()))


@click.group(
    cls=Commands,
    package="harness.cli",
    descriptions=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    \b
    Exit codes:
      0  all checks passed
      1  a check failed
      2  usage error: wrong arguments, an unreadable model, ELF or case file
      3  environment error: no compiler, Renode or board, a full disk, a bug in tflm-hil
      4  firmware failure: a fault, a hang, no output
      5  cannot tell: the image did not show `resolver check` what its interpreter gets
      130, 143  ended by Ctrl-C or SIGTERM; completed cases are reported
    \b
    `tflm-hil COMMAND --help` shows options and examples. TFLM_HIL_DEBUG=1 shows the traceback of
    an unexpected error, and the calls of flash tools with their output.
    """,
)
@click.version_option(__version__, prog_name="tflm-hil")
@click.option(
    "--samples", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Folder with samples and resolvers.toml.  [default: $TFLM_HIL_SAMPLES, or this project's]",
)  # fmt: skip
def cli(samples: Path | None) -> None:
    """Test tflite-micro firmware for nRF91 and nRF5340 on a simulator, on Renode, on boards."""
    if samples is not None:  # worker processes inherit it
        os.environ["TFLM_HIL_SAMPLES"] = str(samples.absolute())


@contextmanager
def _garbage_collected_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(_COLLECT_AT)
    try:
        yield
    finally:  # a program that calls main() goes on
        gc.set_threshold(*before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code, also after an exception."""
    _escape_output()
    try:
        with signals.raised(), _debugging(), _garbage_collected_seldom():
            return _run(arguments)
    except KeyboardInterrupt as stop:
        click.echo("tflm-hil: interrupted", err=True)
        return signals.exit_code(stop)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        if any("\0" in word for word in arguments or ()):  # not possible from a shell
            raise UsageError("an argument contains a NUL character")
        colour = False if os.environ.get("NO_COLOR") else None
        words = _renewed(sys.argv[1:] if arguments is None else arguments)
        code = cli.main(words, prog_name="tflm-hil", standalone_mode=False, color=colour)
        if sys.stdout is not None:  # None if the caller closed it
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return UsageError.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "tflm-hil"
        told = _removed(command, arguments) or f"{error.format_message()}\nhint: {command} --help"
        click.echo(f"tflm-hil: {redacted(str(told))}", err=True)
        return UsageError.exit_code
    except HilError as error:
        click.echo(f"tflm-hil: {error}", err=True)
        return error.exit_code
    except click.Abort as error:  # click's word for Ctrl-C
        cause = error.__cause__
        raise cause if isinstance(cause, KeyboardInterrupt) else KeyboardInterrupt from None
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and COMPLETION in os.environ:
            return int(stop.code or 0)  # end of a shell's request for completions
        # The reader of standard output has ended (`| head`). Click then calls sys.exit(1), which
        # would mean that a check failed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
        return _BROKEN_PIPE
    except OSError as error:
        _settle_output()
        _show_traceback()
        click.echo(
            f"tflm-hil: {error.strerror or error}: {error.filename or ''}".rstrip(": "), err=True
        )
        return EnvironmentMissing.exit_code
    except Exception as error:
        _settle_output()
        _show_traceback()
        click.echo(f"tflm-hil: {describe_bug(error)}\nhint: {BUG_HINT}", err=True)
        return EnvironmentMissing.exit_code


def _renewed(arguments: Sequence[str]) -> list[str]:
    """``arguments`` with options of the last release under today's names, each with a note."""
    words: list[str] = []
    for word in arguments:
        name, equals, value = word.partition("=")
        if name.startswith("--") and (note := renamed(name)):
            click.echo(f"tflm-hil: {note}", err=True)
            words += f"{RENAMED[name]}{equals}{value}".split(" ", 1)
        else:
            words.append(word)
    return words


def _removed(command: str, arguments: Sequence[str] | None) -> UsageError | None:
    """The error for a removed subcommand or option of ``command``; None without one."""
    words = sys.argv[1:] if arguments is None else arguments
    path = command.partition(" ")[2]
    names = (f"{path} {word.partition('=')[0]}" for word in words)
    return next(filter(None, map(removed, names)), None)


def _escape_output() -> None:
    """Escapes characters that UTF-8 cannot encode, such as in file names or firmware output."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _debugging() -> AbstractContextManager[None]:
    """Shows debug log messages, if TFLM_HIL_DEBUG is set."""
    if not os.environ.get("TFLM_HIL_DEBUG"):
        return nullcontext()
    return logs.shown(partial(click.echo, err=True), logging.DEBUG)


def _show_traceback() -> None:
    if os.environ.get("TFLM_HIL_DEBUG"):
        click.echo(traceback_text(), err=True)


def _settle_output() -> None:
    """Flushes standard output, so that the interpreter does not fail to do so at its exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
