"""Zephyr's board names: board, revision, and qualifiers for core and variant.

Since Zephyr 3.7 (hardware model v2) a name is ``board[@revision][/qualifier...]``, such as
``nrf9160dk@0.14.0/nrf9160/ns``. In earlier releases the parts are joined by underscores, with the
revision at the end (https://docs.zephyrproject.org/latest/develop/application, "Board").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from harness.base.platforms import BoardTable, board_names, board_table


def spellings() -> tuple[str, ...]:
    """The names of the boards that the project builds for, in all releases of Zephyr."""
    return tuple(name for board in board_names() for name in board_table(board).zephyr)


def boards() -> tuple[str, ...]:
    """The names of these boards since release 3.7."""
    return tuple(name for name in spellings() if "/" in name)


def target_of(board: BoardTable, *, nonsecure: bool) -> str:
    """The name of the secure or non-secure target of a board since release 3.7."""
    return next(name for name in board.zephyr if "/" in name and name.endswith("/ns") is nonsecure)


_WORD = r"[A-Za-z0-9][\w.+-]*"
_NAME = re.compile(rf"({_WORD})(?:@([\w.]+))?((?:/{_WORD})*)(?:@([\w.]+))?", re.ASCII)


@dataclass(frozen=True)
class Board:
    """A parsed board name; ``revision`` is "" if the name has none."""

    name: str
    revision: str = ""
    qualifiers: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self | None:
        """The parts of a name; None if it is not the name of a board."""
        match = _NAME.fullmatch(text)
        if match is None or (match[2] and match[4]):
            return None
        qualifiers = tuple(match[3].split("/")[1:])
        return cls(match[1], match[2] or match[4] or "", qualifiers)

    @property
    def flat(self) -> str:
        """Board and qualifiers as in releases before 3.7."""
        return "_".join((self.name, *self.qualifiers))

    def means(self, other: Board) -> bool:
        """True if both names, in either form, have the same board, qualifiers and revision.

        A name without a revision equals all revisions.
        """
        return self.flat == other.flat and (
            not self.revision or not other.revision or self.revision == other.revision
        )


def same(one: object, other: object) -> bool:
    """True if two texts are names of one board."""
    boards = [Board.of(str(text)) for text in (one, other)]
    return boards[0] is not None and boards[1] is not None and boards[0].means(boards[1])


@lru_cache(maxsize=8)
def named_in(data: bytes) -> tuple[str, ...]:
    """The NUL-terminated names of this project's boards in ``data``."""
    known = [board for board in map(Board.of, boards()) if board is not None]
    starts = "|".join(sorted({re.escape(board.name) for board in known}))
    found = re.findall(rf"(?<![\w/@.-])(?:{starts})[\w@/.+-]*(?=\0)".encode(), data)
    boards_found = ((name, Board.of(name)) for name in map(bytes.decode, found))
    return tuple(
        name
        for name, board in boards_found
        if board is not None and any(board.means(one) for one in known)
    )
