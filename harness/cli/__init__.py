"""``tflm-hil``: the command line, and the one place that maps exceptions to exit codes.

Each subcommand is a module of this package, imported only when it is called, so that no command
waits for the imports of the others. They share ``parameters`` (types of arguments and options),
``options`` and ``output``.
"""

from __future__ import annotations

import difflib
import gc
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from harness import __version__
from harness.base import logs, signals
from harness.base.errors import BUG_HINT, EnvironmentMissing, HilError, UsageError, describe_bug

#: Subcommands: module, and the line that ``--help`` shows for it.
COMMANDS = {
    "init": "Write a case file, a pytest file and a workflow for the firmware in a folder.",
    "doctor": "List the tools that this machine lacks, and install them.",
    "chips": "List the chips, their memories, and what has no model.",
    "samples": "List samples and their resolver configurations.",
    "build": "Build a sample; print the path of its ELF.",
    "run": "Run an ELF, a sample or a case file, and judge it.",
    "debug": "Run an image up to a place, and look into it with gdb.",
    "footprint": "Flash and RAM by region, section, file, symbol, operator.",
    "resolver": "Check, generate, dump, explain operator resolvers.",
    "arena": "Find the smallest tensor arena that works.",
    "reference": "Run a model in NumPy, layer by layer.",
    "vectors": "Find inputs that tell a model from its likely mistakes.",
    "layers": "Find the first operator of an image that computes something wrong.",
    "sweep": "Build and run many variants, and find the best.",
    "campaign": "Inject faults into an inference, and count their outcomes.",
    "history": "Keep results over time, show how they moved, list regressions.",
    "calibrate": "Learn from a board how many cycles each kernel's instructions take.",
    "boards": "List the boards of the lab, and whether they can be used.",
    "virtual-board": "Start a board made of the simulator and a pseudo-terminal.",
    "where": "Print where this package's files are: Robot's resource, samples, models.",
    "completion": "Print a script for bash, zsh or fish that completes commands, samples, targets.",
}
#: The environment variable with a shell's request for completions.
COMPLETION = "_TFLM_HIL_COMPLETE"
_BROKEN_PIPE = 141
_STDOUT = 1  # file descriptor
#: New objects before the collector looks for cycles: imports alone make some 100,000.
_COLLECT_AT = 200_000


class _Commands(click.Group):
    """The subcommands, imported one by one when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Options of the group, or commands, without importing their modules."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        names = (name for name in COMMANDS if name.startswith(incomplete))
        return [CompletionItem(name, help=COMMANDS[name]) for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            near = difflib.get_close_matches(cmd_name, COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(COMMANDS)}"
            raise UsageError(f"no command {cmd_name!r}", hint=hint)
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"harness.cli.{name}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``, without importing every module."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    \b
    Exit codes:
      0  all checks passed
      1  a check failed
      2  usage: wrong arguments, a model, an ELF or a case file that cannot be read
      3  the environment: no compiler, no Renode, no board, a full disk, a bug in tflm-hil
      4  the firmware itself: a fault, a hang, silence
      5  cannot tell: `resolver check` has no proof of either answer
      130, 143  ended by Ctrl-C, by SIGTERM; cases that ran until then are reported
    \b
    `tflm-hil COMMAND --help` shows a command's options, and examples. TFLM_HIL_DEBUG=1 shows
    the traceback of an unexpected error, and the calls of flash tools with their output.
    """,
)
@click.version_option(__version__, prog_name="tflm-hil")
@click.option(
    "--samples", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Samples and resolvers.toml of your own.  [default: $TFLM_HIL_SAMPLES, or this project's]",
)  # fmt: skip
def cli(samples: Path | None) -> None:
    """Test tflite-micro firmware for nRF91 and nRF5340 on a simulator, on Renode, on boards."""
    if samples is not None:  # builds run in processes of their own, which inherit it
        os.environ["TFLM_HIL_SAMPLES"] = str(samples.absolute())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give the exit code; no exception reaches the user."""
    _escape_output()
    gc.set_threshold(_COLLECT_AT)
    try:
        with signals.raised(), _debugging():
            return _run(arguments)
    except KeyboardInterrupt as stop:
        click.echo("tflm-hil: interrupted", err=True)
        return signals.exit_code(stop)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        if any("\0" in word for word in arguments or ()):  # no shell can pass one
            raise UsageError("an argument holds a NUL character")
        colour = False if os.environ.get("NO_COLOR") else None
        code = cli.main(arguments, prog_name="tflm-hil", standalone_mode=False, color=colour)
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
        click.echo(f"tflm-hil: {error.format_message()}\nhint: {command} --help", err=True)
        return UsageError.exit_code
    except HilError as error:
        click.echo(f"tflm-hil: {error}", err=True)
        return error.exit_code
    except click.Abort as error:  # click's word for Ctrl-C
        cause = error.__cause__
        raise cause if isinstance(cause, KeyboardInterrupt) else KeyboardInterrupt from None
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and COMPLETION in os.environ:
            return int(stop.code or 0)  # a shell's request for completions is done
        # The reader of standard output is gone (`| head`), so nothing more can be printed. Click
        # calls sys.exit(1) then, which here would mean that a check failed.
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


def _escape_output() -> None:
    """Show characters escaped that UTF-8 cannot encode: file names and firmware may have some."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _debugging() -> AbstractContextManager[None]:
    """Show all that the package logs, if TFLM_HIL_DEBUG is set."""
    if not os.environ.get("TFLM_HIL_DEBUG"):
        return nullcontext()
    return logs.shown(partial(click.echo, err=True), logging.DEBUG)


def _show_traceback() -> None:
    if os.environ.get("TFLM_HIL_DEBUG"):
        click.echo(traceback.format_exc(), err=True)


def _settle_output() -> None:
    """Empty standard output's buffer, which the interpreter could fail to write at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
