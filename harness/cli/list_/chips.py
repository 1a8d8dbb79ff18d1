"""``tflm-hil list chips``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from harness.base.platforms import (
    ChipTable,
    board_names,
    board_table,
    chip_called,
    chip_names,
    chip_table,
)
from harness.cli.options import json_option
from harness.cli.output import write_text
from harness.cli.parameters import CHIP, STDOUT


@click.command()
@click.argument("name", type=CHIP, required=False)
@json_option("the list")
def chips(name: str | None, json_file: Path | None) -> None:
    """List the chips, their memories, their boards, and peripherals without a model.

    With NAME also list each peripheral, and the source of each fact. The names are values of
    `tflm-hil run --chip` and `tflm-hil build --chip`.
    """
    tables = [chip_called(name)] if name else [chip_table(key) for key in chip_names()]
    write_text(json_file, json.dumps([_row(chip) for chip in tables], indent=2))
    if json_file == STDOUT:
        return
    for chip in tables:
        _show(chip)
        if name:
            _show_all(chip)


def _boards(chip: ChipTable) -> list[str]:
    return [key for key in board_names() if board_table(key).chip.key == chip.key]


def _row(chip: ChipTable) -> dict[str, Any]:
    lacking = {block.name for block in chip.without_model}
    return {
        "chip": chip.key,
        "name": chip.name,
        "core": chip.core,
        "cpu_hz": chip.cpu_hz,
        "memories": [vars(area) for area in chip.areas],
        "boards": _boards(chip),
        "modelled": [block.name for block in chip.blocks if block.name not in lacking],
        "without_model": sorted(lacking),
        "notes": list(chip.notes),
    }


def _show(chip: ChipTable) -> None:
    flash, ram = (chip.area(name).size >> 10 for name in ("flash", "ram"))
    click.secho(f"{chip.key}: {chip.name}, {chip.core} at {chip.cpu_hz / 1e6:g} MHz", bold=True)
    _say("memories", f"{flash:,} KB of flash, {ram} KB of RAM")
    _say("boards", " ".join(_boards(chip)))
    row = _row(chip)
    _say("no model of", " ".join(row["without_model"]))
    for note in chip.notes:
        _say("note", note)


def _show_all(chip: ChipTable) -> None:
    for block in chip.blocks:
        places = " ".join(f"0x{address:08x}" for address in block.addresses)
        line = "" if block.irq is None else f", interrupt {block.irq}"
        _say(block.name, f"{places}{line}, model {block.model}")
    for section, source in chip.sources.items():
        _say(f"[{section}]", source)


def _say(name: str, text: str) -> None:
    click.echo(click.wrap_text(text, 80, f"  {name:<14} ", " " * 17))
