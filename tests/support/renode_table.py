"""The table *What each version does* of docs/renode.md, from ``DIFFERENCES`` of releases.py.

``python tests/support/renode_table.py`` writes it; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from harness.targets.renode.releases import DIFFERENCES, RenodeDifference, shown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "renode.md"
BEGIN, END = "<!-- renode table: begin -->\n", "<!-- renode table: end -->\n"


def table() -> str:
    """The rows as Markdown."""
    rows = ["| versions | what | what the harness does | known | image |", "|---|---|---|---|---|"]
    for one in DIFFERENCES:
        image = f"`tests/firmware/{one.image}.c`" if one.image else ""
        rows.append(f"| {_when(one)} | {one.what} | {one.done} | {one.known} | {image} |")
    return "\n".join(rows) + "\n"


def with_table(page: str) -> str:
    """``page`` with today's table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def _when(difference: RenodeDifference) -> str:
    if difference.since:
        return f"from {shown(difference.since)} on"
    return f"before {shown(difference.until)}" if difference.until else "all"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
