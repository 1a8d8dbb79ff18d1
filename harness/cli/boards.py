"""``tflm-hil boards``."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from harness.base import numbers
from harness.base.errors import BoardUnavailable, UsageError
from harness.base.platforms import board_with
from harness.base.secrets import redacted
from harness.cli.options import json_option, number_option
from harness.cli.output import write_text
from harness.cli.parameters import BOARD, STDOUT, Name
from harness.elf import Image
from harness.targets.board import discovery, flash_image, runners
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import Lab, load
from harness.targets.board.lock import Holder, ProbeLock
from harness.targets.board.opening import flash_tool, require_chip
from harness.targets.board.policy import Quarantine


def _keep(context: click.Context, _: click.Parameter, lab_file: Path | None) -> None:
    """Stores the lab file, which can be given before or after the subcommand."""
    if lab_file is not None:
        context.obj = lab_file


_LAB = click.option(
    "--lab",
    type=click.Path(path_type=Path),
    callback=_keep,
    expose_value=False,
    help="Lab file (default: lab.toml).",
)


@click.group(invoke_without_command=True)
@_LAB
@json_option("the list")
@click.pass_context
def boards(context: click.Context, json_file: Path | None) -> None:
    """List the boards of the lab and their state.

    Boards are found by their J-Link probes on this machine, and in a lab file (docs/lab.md).
    """
    if context.invoked_subcommand is not None:
        return
    lab = load(context.obj)
    rows = [_row(board, lab) for board in discovery.attached(lab)]
    write_text(json_file, json.dumps({"boards": rows}, indent=2))
    if json_file == STDOUT:
        return
    if not rows:
        click.echo("no board is attached or listed in a lab file", err=True)
    for row in rows:
        _show(row)


def _row(board: BenchBoard, lab: Lab) -> dict[str, Any]:
    held, holder, note, state = False, None, None, ""
    try:
        lock = ProbeLock(board.probe, board.name, state=lab.state)
        held = lock.held
        holder = lock.holder() if held else None
        note = Quarantine(lab.state).note(board.probe)
    except BoardUnavailable as error:
        state = f"unusable: {error.message}"
    return {
        "name": board.name,
        "probe": board.probe,
        "kit": board.kit,
        "port": redacted(board.port),
        "port_chosen": board.how,
        "ports": [redacted(port) for port in board.ports],
        "baud": board.rate,
        "runner": board.runner,
        "tags": list(board.tags),
        "state": state or ("quarantine" if note else "in use" if held else "free"),
        "holder": asdict(holder) if holder else None,
        "quarantine": asdict(note) if note else None,
    }


def _show(row: dict[str, Any]) -> None:
    click.echo(f"{row['name']}: {row['state']}")
    click.echo(f"    probe   {row['probe']}  {row['kit']}".rstrip())
    click.echo(
        f"    port    {row['port'] or 'unknown'} at {row['baud']} baud  ({row['port_chosen']})"
    )
    if len(row["ports"]) > 1:
        others = [port for port in row["ports"] if port != row["port"]]
        click.echo(f"    others  {', '.join(others)}")
    if row["runner"] or row["tags"]:
        click.echo(f"    runner  {row['runner'] or 'first installed'}  {' '.join(row['tags'])}")
    if row["holder"]:
        click.echo(f"    held by {Holder(**row['holder'])}")
    if row["quarantine"]:
        note = row["quarantine"]
        click.echo(f"    in quarantine since {note['since']}: {note['reason']}")


def _find(context: click.Context, name: str) -> tuple[BenchBoard, Lab]:
    lab = load(context.obj)
    return discovery.select(discovery.attached(lab), name), lab


@boards.command()
@_LAB
@click.argument("name", type=BOARD)
@click.pass_context
def release(context: click.Context, name: str) -> None:
    """Take a board out of quarantine."""
    board, lab = _find(context, name)
    note = Quarantine(lab.state).release(board.probe)
    click.echo(
        f"{board.name} is released from quarantine ({note.reason})"
        if note
        else f"{board.name} was not in quarantine"
    )


@boards.command()
@_LAB
@click.argument("name", type=BOARD)
@click.pass_context
def take(context: click.Context, name: str) -> None:
    """Take a board from its holder by force; the holder's run fails."""
    board, lab = _find(context, name)
    lock = ProbeLock(board.probe, board.name, state=lab.state)
    if not lock.held:
        click.echo(f"{board.name} is not in use")
        return
    holder = lock.take()
    lock.release()
    click.echo(f"took {board.name} from {holder or 'another process'}")


@boards.command()
@_LAB
@click.argument("elf", type=click.Path(path_type=Path))
@click.option("--board", "name", type=BOARD, help="Name, probe serial number or tag.")
@click.option(
    "--runner",
    default="",
    type=Name(lambda: runners.RUNNERS),
    help=f"One of {', '.join(runners.RUNNERS)}.",
)
@click.option("--dry-run", is_flag=True, help="Only print the commands.")
@click.option("--always", is_flag=True, help="Program even if flash already equals the image.")
@number_option("--wait", default=0.0, check=numbers.seconds_or_zero, metavar="SECONDS",
               help="Time to wait for a board in use.")  # fmt: skip
@click.pass_context
def flash(
    context: click.Context,
    elf: Path,
    name: str | None,
    runner: str,
    dry_run: bool,
    always: bool,
    wait: float,
) -> None:
    """Flash ELF and reset the board.

    \b
    tflm-hil boards flash build/zephyr/zephyr.elf --board bench-1
    tflm-hil boards flash build/zephyr/zephyr.elf --runner nrfutil --dry-run
    """
    firmware = Image.from_elf(elf)
    lab = load(context.obj)
    attached = discovery.attached(lab)
    if dry_run and not attached:
        # Without a board the commands are shown with a placeholder for the serial number.
        attached = [BenchBoard(name="any", probe="960000000", port="", runner=runner or "nrfutil")]
    board = discovery.select(attached, name)
    require_chip(board, firmware)
    if dry_run and not (runner or board.runner):
        raise UsageError("--dry-run needs --runner", hint="for example --runner nrfutil")
    seconds, kit = lab.policy.flash_seconds, board_with(firmware.chip.key)
    flasher = flash_tool(board, runner or "", seconds, kit)
    with tempfile.TemporaryDirectory(prefix="tflm-hil-") as folder:
        prepared = flash_image.prepare(firmware, Path(folder))
        if dry_run:
            click.echo("\n".join(map(str, flasher.dry_run(prepared, Path(folder)))))
            return
        with ProbeLock(board.probe, board.name, state=lab.state) as lock:
            lock.acquire(wait)
            Quarantine(lab.state).check(board.name, board.probe)
            report = flasher.ensure(prepared, always=always)
            flasher.reset()
    click.echo(f"{board.name}: {report.reason} ({report.size} bytes, {report.seconds:.1f} s)")
