"""The tables *Differences from the chip* of docs/renode.md: ``differences.toml``, and the outcomes
of the images that show them (tests/firmware/renode/images.toml, tests/hostile).

``python tests/support/renode_table.py`` writes them; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from hostile_images import HostileImage, hostile_images
from renode_images import RenodeImage, images

from harness.targets.renode.differences import DIFFERENCES, RenodeDifference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "renode.md"
BEGIN, END = "<!-- renode table: begin -->\n", "<!-- renode table: end -->\n"


def table() -> str:
    """The rows of the tables as Markdown."""
    differences = [
        "| what Renode does | what the harness does | what the chip does: source | images |",
        "|---|---|---|---|",
        *map(_difference, DIFFERENCES),
    ]
    outcomes = [
        "| image | what it shows of the chip | simulator | Renode, if another |",
        "|---|---|---|---|",
        *map(_outcome, images()),
    ]
    hostile = [
        "| hostile image | rule | verdict on the simulator | on Renode |",
        "|---|---|---|---|",
        *(_hostile(one) for one in hostile_images() if one.renode),
    ]
    return "\n".join([*differences, "", *outcomes, "", *hostile, ""])


def with_table(page: str) -> str:
    """``page`` with today's tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def _difference(one: RenodeDifference) -> str:
    images = dict.fromkeys((*one.images, *one.hostile))
    return f"| {one.what} | {one.done} | {one.source} | {', '.join(images)} |"


def _outcome(one: RenodeImage) -> str:
    renode = _code(one.renode) if one.differs else ""
    return f"| {one.name} | {one.shows} | {_code(one.simulator)} | {renode} |"


def _hostile(one: HostileImage) -> str:
    says = "" if one.renode == "pass" else f"{one.verdict}, "
    return f"| {one.name} | {one.rule} | {one.verdict} | {says}`{one.renode}` |"


def _code(outcome: str) -> str:
    return f"`{outcome}`" if outcome else "nothing"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
