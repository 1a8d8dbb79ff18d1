"""Tables for people, as plain text and as Markdown; :mod:`rich` draws them on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Row = Sequence[str]


class Grid(NamedTuple):
    """Column heads, the indices of numeric columns, and rows with a cell for each head."""

    heads: Row
    numbers: frozenset[int]
    rows: list[Row]

    def plain(self) -> str:
        """Aligned text: two spaces between columns, none after the last, a line for each row."""
        table = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(
                cell.rjust(width) if index in self.numbers else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )
        return "\n".join(lines)

    def markdown(self) -> str:
        """A table in GitHub's Markdown; characters that end a cell or begin a tag are escaped."""
        rule = ("---:" if index in self.numbers else "---" for index in range(len(self.heads)))
        lines = [f"| {' | '.join(self.heads)} |", f"|{'|'.join(rule)}|"]
        lines += [f"| {' | '.join(map(escaped, row))} |" for row in self.rows]
        return "\n".join(lines)


def escaped(text: str) -> str:
    """``text`` escaped for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
