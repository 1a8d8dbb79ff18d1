"""The table *Who else says so* of docs/simulator.md, from tests/witness/rules.toml.

``python tests/support/witness_table.py`` writes it; a test compares.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "witness"
PAGE = ROOT / "docs" / "simulator.md"
BEGIN, END = "<!-- witness table: begin -->\n", "<!-- witness table: end -->\n"
QEMU, RENODE, UNVERIFIED = "QEMU 7.2", "Renode 1.17", "unverified"


@dataclass(frozen=True)
class Witnessed:
    """A rule of the architecture: what the simulator does, and who else does so."""

    image: str  # tests/witness/NAME.c
    name: str
    rule: str
    witness: str
    answer: int | None = None  # of the image
    test: str = ""  # the file that tests the rule if no image does

    @property
    def by_qemu(self) -> bool:
        """True if QEMU gives the same answer."""
        return QEMU in self.witness


def rules() -> list[Witnessed]:
    """All rows, in the order of the file."""
    tables = tomllib.loads((FOLDER / "rules.toml").read_text())
    return [
        Witnessed(image, name, **row)
        for image, rows in tables.items()
        for name, row in rows.items()
    ]


def table() -> str:
    """The rows as Markdown, those of one image below one heading."""
    return "".join(_rows())


def _rows() -> Iterator[str]:
    image = ""
    for one in rules():
        if one.image != image:
            image = one.image
            yield f"\n**{image.capitalize()}**\n\n| rule | answer | witness |\n|---|---|---|\n"
        answer = f"0x{one.answer:08x}" if one.answer is not None else f"`{Path(one.test).name}`"
        yield f"| {one.rule} | {answer} | {one.witness} |\n"


def with_table(page: str) -> str:
    """``page`` with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
