"""``tflm-hil virtual-board``."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click

from harness.base import numbers
from harness.base.platforms import DEFAULT_BOARD, board_names, board_table
from harness.cli.options import number_option
from harness.cli.parameters import Name
from harness.targets.board.lab import checked_name
from harness.targets.board.virtual import misbehaviour, serial_number
from harness.targets.board.virtual.bench import install_tools
from harness.targets.board.virtual.client import VirtualDk


@click.command(name="virtual-board")
@click.option("--bench", type=click.Path(path_type=Path), help="Folder (default: a temporary one).")
@click.option("--serial", default="", help="J-Link serial number (default: a random one).")
@click.option("--name", default="", help="The board's name.")
@click.option("--kit", default=DEFAULT_BOARD, show_default=True,
              type=click.Choice(board_names()), help="The kind of board.")  # fmt: skip
@number_option("--baud", check=numbers.baud, metavar="N", default_text="the kit's",
               help="Baud rate of its UART.")  # fmt: skip
@click.option("--console", default="", metavar="TEXT", type=Name(board_names),
              help='Wiring of its console: "uarte=UARTE1 txd=1 rxd=0 baud=1000000".')  # fmt: skip
@click.option(
    "--misbehave",
    multiple=True,
    metavar="NAME[=N]",
    type=Name(lambda: misbehaviour.NAMES),
    help="A misbehaviour (--list-misbehaviours); repeatable.",
)
@click.option("--play", is_flag=True, help="Print the text in flash instead of running it.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="TCP port of its debug port on 127.0.0.1 (0: any free one).")  # fmt: skip
@click.option("--registers", is_flag=True,
              help="Offer pyOCD only registers of the access ports, as SWD does, instead of block "
              "transfers of memory.")  # fmt: skip
@click.option("--list-misbehaviours", is_flag=True, help="List the misbehaviours.")
@number_option("--seconds", default=0.0, check=numbers.seconds_or_zero, hidden=True,
               help="End after this time.")  # fmt: skip
def virtual_board(
    *,
    bench: Path | None,
    serial: str,
    name: str,
    kit: str,
    baud: int | None,
    console: str,
    misbehave: tuple[str, ...],
    play: bool,
    port: int,
    registers: bool,
    list_misbehaviours: bool,
    seconds: float,
) -> None:
    """Start a simulated board with serial ports and a debug port; Ctrl-C ends it.

    It has a J-Link serial number, three serial ports, a debug port and stand-ins for the flash
    tools. It prints two environment variables; in a shell that exports them, `--target board`
    finds it. The last line is the probe's name for pyOCD.
    """
    if list_misbehaviours:
        click.echo(misbehaviour.Misbehaviour.__doc__)
        return
    misbehaviour.parse(misbehave)
    table = board_table(kit)
    number = checked_name(serial or serial_number(table), "--serial")
    if name:
        checked_name(name, "--name")
    with ExitStack() as stack:
        folder = bench or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tflm-bench-"))
        )
        tools = install_tools(folder)
        options = {"name": name, "kit": table, "baud": baud or 0, "misbehave": misbehave,
                   "play": play, "console": console, "port": port,
                   "registers": registers}  # fmt: skip
        dk = stack.enter_context(VirtualDk(folder.resolve(), number, **options))  # type: ignore[arg-type]
        board = dk.find()
        click.echo(f"export TFLM_HIL_VIRTUAL_BENCH={shlex.quote(str(folder.resolve()))}")
        click.echo(f"export PATH={shlex.quote(str(tools.resolve()))}{os.pathsep}$PATH")
        click.echo(f"# {board}; ends with Ctrl-C", err=True)
        click.echo(f"# pyOCD: --uid remote:{board.remote_probe}", err=True)
        _wait(dk, seconds)


def _wait(dk: VirtualDk, seconds: float) -> None:
    """Waits until the board ends, at most ``seconds`` (0: no limit)."""
    limit = time.monotonic() + seconds if seconds else float("inf")
    while dk.alive and time.monotonic() < limit:
        time.sleep(0.1)
