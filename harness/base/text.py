"""Text for people: values and counts in messages, the width of tables."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import zip_longest

#: The width, in columns, of tables in files and pipes: wider than any, so that no row is wrapped.
UNFOLDED = 2000
#: The longest group of lines, in lines, whose repetitions :func:`folded` finds.
_LONGEST_GROUP = 16


def count_of(number: int, noun: str) -> str:
    """``1 case``, ``1,200 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def unused(name: str, taken: Container[str], between: str = "_") -> str:
    """``name``, or ``name_2`` and so on if that is taken."""
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}{between}{count}"
    return found


def folded(lines: Sequence[str]) -> list[str]:
    """``lines`` with each repeated group shown once, followed by a line with their number."""
    shown: list[str] = []
    at = 0
    while at < len(lines):
        size, times = _repeat(lines, at)
        shown += lines[at : at + size]
        if times > 1:
            group = "the last line" if size == 1 else f"the last {size} lines"
            shown.append(f"... {group}, {times:,} times in a row")
        at += size * times
    return shown


def _repeat(lines: Sequence[str], at: int) -> tuple[int, int]:
    """Size and number of the repeated group at ``at`` that saves most lines; 1 and 1 for none."""
    best, saved = (1, 1), 1  # the line with the number must be saved, too
    for size in range(1, min(_LONGEST_GROUP, (len(lines) - at) // 2) + 1):
        times = 1
        while lines[at : at + size] == lines[at + size * times : at + size * (times + 1)]:
            times += 1
        if size * (times - 1) > saved:
            best, saved = (size, times), size * (times - 1)
    return best


def short(value: object) -> str:
    """``value`` for a message, cut if it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an integer of thousands of digits
        return "such a number"
    return text if len(text) <= 40 else f"{text[:40]}..."


def differing_line(one: bytes, other: bytes) -> tuple[int, str, str] | None:
    """The first line in which two consoles differ: its number and both texts, for a message."""
    lines = one.split(b"\n"), other.split(b"\n")
    for number, (line, again) in enumerate(zip_longest(*lines), 1):
        if line != again:
            return number, _quoted(line), _quoted(again)
    return None


def _quoted(line: bytes | None) -> str:
    return "missing" if line is None else short(line.decode("utf-8", "backslashreplace").rstrip())
