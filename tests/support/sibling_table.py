"""The table of docs/chips.md, from the tables in platforms/chips.

``python tests/support/sibling_table.py`` writes it; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.base.platforms import ChipTable, board_names, board_table, chip_names, chip_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chips.md"
BEGIN, END = "<!-- chips: begin -->\n", "<!-- chips: end -->\n"


def table() -> str:
    """A row for each chip, and below it what is not modelled of each."""
    chips = [chip_table(name) for name in chip_names()]
    return "".join([*_rows(chips), "\n", *_lacks(chips)])


def _rows(chips: list[ChipTable]) -> Iterator[str]:
    yield "| chip | flash KB | RAM KB | MHz | interrupts | MPU | SPU: flash, RAM | DPPI | board |\n"
    yield "|---|---|---|---|---|---|---|---|---|\n"
    for chip in chips:
        flash, ram = (chip.area(name).size >> 10 for name in ("flash", "ram"))
        regions = ", ".join(str(chip.spu_regions(name)) for name in ("flash", "ram"))
        boards = [name for name in board_names() if board_table(name).chip.key == chip.key]
        cells = (f"`{chip.key}`", flash, ram, f"{chip.cpu_hz / 1e6:g}", chip.irqs, chip.mpu_regions,
                 regions, chip.dppi_channels, ", ".join(boards))  # fmt: skip
        yield f"| {' | '.join(map(str, cells))} |\n"


def _lacks(chips: list[ChipTable]) -> Iterator[str]:
    yield "| chip | without a model | note |\n|---|---|---|\n"
    for chip in chips:
        lacking = " ".join(block.name for block in chip.without_model)
        yield f"| `{chip.key}` | {lacking} | {'; '.join(chip.notes)} |\n"


def with_table(page: str) -> str:
    """``page`` with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n" + table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
