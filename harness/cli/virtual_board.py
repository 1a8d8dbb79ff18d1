"""``tflm-hil virtual-board``."""

from __future__ import annotations

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
from harness.targets.board.virtual import serial_number
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
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N",
              help="TCP port of its debug port on 127.0.0.1 (0: any free one).")  # fmt: skip
@click.option("--registers", is_flag=True,
              help="Offer pyOCD only registers of the access ports, as SWD does, instead of block "
              "transfers of memory.")  # fmt: skip
def virtual_board(
    *,
    bench: Path | None,
    serial: str,
    name: str,
    kit: str,
    baud: int | None,
    console: str,
    port: int,
    registers: bool,
) -> None:
    """Start a simulated board with serial ports and a debug port; Ctrl-C ends it.

    It has a J-Link serial number, three serial ports, and a debug port for pyOCD. It prints an
    environment variable; in a shell that exports it, `--target board` finds the board. The last
    line is the probe's name for pyOCD.
    """
    table = board_table(kit)
    number = checked_name(serial or serial_number(table), "--serial")
    if name:
        checked_name(name, "--name")
    with ExitStack() as stack:
        folder = bench or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tflm-bench-"))
        )
        dk = stack.enter_context(VirtualDk(
            folder.resolve(), number, name=name, kit=table, baud=baud or 0, console=console,
            port=port, registers=registers,
        ))  # fmt: skip
        board = dk.find()
        click.echo(f"export TFLM_HIL_VIRTUAL_BENCH={shlex.quote(str(folder.resolve()))}")
        click.echo(f"# {board}; ends with Ctrl-C", err=True)
        click.echo(f"# pyOCD: --uid {board.uid}", err=True)
        while dk.alive:
            time.sleep(0.1)
