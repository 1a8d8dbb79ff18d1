"""The tables *What each version does* of docs/renode.md: ``DIFFERENCES`` of releases.py, and the
outcomes of the images that show them (tests/firmware/releases/images.toml).

``python tests/support/renode_table.py`` writes them; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from release_images import RELEASES, Expected, ReleaseImage, images

from harness.targets.renode.releases import DIFFERENCES, RenodeDifference, shown

PAGE = Path(__file__).resolve().parents[2] / "docs" / "renode.md"
BEGIN, END = "<!-- renode table: begin -->\n", "<!-- renode table: end -->\n"


def table() -> str:
    """The rows of both tables as Markdown."""
    differences = [
        "| versions | what | what the harness does | known | images |",
        "|---|---|---|---|---|",
        *(_difference(one) for one in DIFFERENCES),
    ]
    names = sorted(RELEASES, key=RELEASES.__getitem__)
    outcomes = [
        f"| image | what the chip does | simulator | {' | '.join(names)} |",
        "|---|---|---|" + "---|" * len(names),
        *(_outcome(one, names) for one in images()),
    ]
    return "\n".join([*differences, "", *outcomes, ""])


def with_table(page: str) -> str:
    """``page`` with today's tables between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def _difference(one: RenodeDifference) -> str:
    names = ", ".join(one.images)
    return f"| {_when(one)} | {one.what} | {one.done} | {one.known} | {names} |"


def _when(difference: RenodeDifference) -> str:
    if difference.since:
        return f"from {shown(difference.since)} on"
    return f"before {shown(difference.until)}" if difference.until else "all"


def _outcome(one: ReleaseImage, releases: list[str]) -> str:
    cells = [_cell(one.renode[release], one.simulator) for release in releases]
    return f"| {one.name} | {one.shows} | `{one.simulator}` | {' | '.join(cells)} |"


def _cell(expected: Expected, simulator: str) -> str:
    same = expected.outcome == simulator
    return f"{expected.known}: {'the same' if same else f'`{expected.outcome}`'}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
