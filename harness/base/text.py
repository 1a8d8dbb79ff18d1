"""Text for people: values and counts in messages, the width of tables."""

from __future__ import annotations

#: Columns of a table in a file or a pipe: more than any table has, so that rows stay whole.
UNFOLDED = 2000


def count_of(number: int, noun: str) -> str:
    """``1 case``, ``1,200 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(value: object) -> str:
    """``value`` for a message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        return "such a number"
    return text if len(text) <= 40 else f"{text[:40]}..."
