"""``tflm-hil virtual-board``: a board for anybody who wants to try the bench."""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click

from harness.cli.options import BAUD_RATE, Seconds
from harness.targets.board import names
from harness.targets.board.virtual import misbehaviour, serial_number
from harness.targets.board.virtual.bench import install_tools
from harness.targets.board.virtual.client import VirtualDk


@click.command(name="virtual-board")
@click.option("--bench", type=click.Path(path_type=Path), help="Folder (default: a temporary one).")
@click.option("--serial", default="", help="J-Link serial number (default: a random one).")
@click.option("--name", default="", help="The board's name.")
@click.option("--baud", default=115200, type=BAUD_RATE, metavar="N",
              help="Baud rate of its UART.  [default: 115200]")  # fmt: skip
@click.option("--misbehave", multiple=True, metavar="NAME[=N]", help="May be given several times.")
@click.option("--play", is_flag=True, help="Print the text in flash instead of running it.")
@click.option("--list-misbehaviours", is_flag=True, help="Say what it can be told to do wrong.")
@click.option("--seconds", default=0.0, type=Seconds(zero=True), hidden=True,
              help="End by itself after so long.")  # fmt: skip
def virtual_board(
    bench: Path | None,
    serial: str,
    name: str,
    baud: int,
    misbehave: tuple[str, ...],
    play: bool,
    list_misbehaviours: bool,
    seconds: float,
) -> None:
    """Start a board made of the simulator and a pseudo-terminal; Ctrl-C ends it.

    It has a J-Link serial number, three serial ports and stand-ins for the flash tools. What it
    prints sets two variables; in a shell that has them, `--target board` finds it.
    """
    if list_misbehaviours:
        click.echo(misbehaviour.Misbehaviour.__doc__)
        return
    misbehaviour.parse(misbehave)
    number = names.checked(serial or serial_number(), "--serial")
    if name:
        names.checked(name, "--name")
    with ExitStack() as held:
        folder = bench or Path(
            held.enter_context(tempfile.TemporaryDirectory(prefix="tflm-bench-"))
        )
        tools = install_tools(folder)
        options = {"name": name, "baud": baud, "misbehave": misbehave, "play": play}
        dk = held.enter_context(VirtualDk(folder.resolve(), number, **options))  # type: ignore[arg-type]
        board = dk.board
        click.echo(f"export TFLM_HIL_VIRTUAL_BENCH={shlex.quote(str(folder.resolve()))}")
        click.echo(f"export PATH={shlex.quote(str(tools.resolve()))}{os.pathsep}$PATH")
        click.echo(f"# {board}; ends with Ctrl-C", err=True)
        _sleep(dk, seconds)


def _sleep(dk: VirtualDk, seconds: float) -> None:
    limit = time.monotonic() + seconds if seconds else float("inf")
    while dk.alive and time.monotonic() < limit:
        time.sleep(0.1)
