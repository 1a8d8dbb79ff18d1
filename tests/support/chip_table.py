"""The table *What the chip refuses* of docs/simulator.md, from the tables of tests/hostile.

``python tests/support/chip_table.py`` writes it; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from hostile_images import HostileImage, hostile_images

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "simulator.md"
BEGIN, END = "<!-- chip table: begin -->\n", "<!-- chip table: end -->\n"


def table() -> str:
    """The rows, a heading for each chapter."""
    return "".join(_rows(hostile_images()))


def _rows(images: list[HostileImage]) -> Iterator[str]:
    for chapter, rows in groupby(images, key=lambda image: image.chapter):
        yield f"\n**{chapter.replace('_', ' ').capitalize()}**\n\n"
        yield "| image | what it does | the chip | sure | source | the simulator |\n"
        yield "|---|---|---|---|---|---|\n"
        for one in rows:
            told = f"{one.verdict}: {one.says}" + (f" (`{one.finding}`)" if one.finding else "")
            cells = (f"`{one.name}`", one.rule, one.chip, f"{one.sure} %", one.source, told)
            yield f"| {' | '.join(cells)} |\n"


def with_table(page: str) -> str:
    """``page`` with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
