"""Lines of C#: blocks, comments, and statements that are too long for one line."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WIDTH = 110
_INDENT = "    "
#: Operators before which a line may end -> how much they bind, compared with a level of brackets.
_OPERATORS = {" ? ": 0.0, " : ": 0.0, " || ": 0.2, " && ": 0.4, " | ": 0.6}
#: A string without anything to fill in.
_NEEDLESS = re.compile(r'\$("[^"{}\\]*")')


def block(lines: list[str]) -> list[str]:
    """Lines in braces."""
    return ["{", *indented(lines), "}"]


def indented(lines: list[str]) -> list[str]:
    """Lines one level deeper."""
    return [f"{_INDENT}{line}" if line else "" for line in lines]


def spaced(members: Iterable[list[str]]) -> list[str]:
    """The lines of members, with an empty one between two."""
    return [line for one in members if one for line in ("", *one)][1:]


def plain(text: str) -> str:
    """Text without the marks of reStructuredText."""
    return re.sub(r":\w+:`[.~]*([^`]+)`|``([^`]+)``", r"\1\2", " ".join(text.split()))


def comment(docstring: str | None) -> list[str]:
    """The first sentence of a docstring as a comment."""
    if not docstring:
        return []
    paragraph = docstring.strip().partition("\n\n")[0]
    first = re.match(r"(.+?[^.]\.)(?=\s+[A-Z])", paragraph, re.DOTALL)
    return remark(plain(first[1] if first else paragraph))


def remark(text: str) -> list[str]:
    """A comment above what it is about."""
    return [f"// {line}" for line in textwrap.wrap(text, WIDTH - 2 * len(_INDENT) - 3)]


def folded(lines: list[str]) -> list[str]:
    """``lines``, of which long ones go on in the next line, one level deeper."""
    return [part for line in lines for part in _fold(line)]


@dataclass(frozen=True)
class _Break:
    """A place where a line may end; ``left`` and ``right`` are what a divided string needs."""

    at: int
    depth: float
    left: str = ""
    right: str = ""


def _fold(line: str) -> Iterator[str]:
    code, sign, tail = line.partition("  //")
    margin = code[: len(code) - len(code.lstrip())]
    if len(line) > WIDTH and sign:
        yield f"{margin}//{tail}"
        line = code
    while len(line) > WIDTH:
        begin = len(line) - len(line.lstrip())
        fit = [one for one in _breaks(line) if begin < one.at <= WIDTH - len(one.left)]
        if not fit:
            break
        best = min(fit, key=lambda one: (one.depth, -one.at))
        end = line[: best.at] if best.left else line[: best.at].rstrip()
        yield _NEEDLESS.sub(r"\1", end + best.left)
        line = f"{margin}{_INDENT}{best.right}{line[best.at :].lstrip()}"
    yield _NEEDLESS.sub(r"\1", line)


def _breaks(line: str) -> Iterator[_Break]:
    """Where a line may end: after a comma or a brace, before an operator, in a long string."""
    at = depth = 0
    while at < len(line):
        char = line[at]
        if char == '"':
            mark = '$"' if line[at - 1 : at] == "$" else '"'
            end = _end_of_string(line, at + 1, interpolated=mark != '"')
            spaces = _spaces(line, at + 1, end, interpolated=mark != '"')
            yield from (_Break(one + 1, depth + 2, '" +', mark) for one in spaces)
            at = end
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        if line[at : at + 2] in (", ", "{ ") and not re.search(r"<[\w, ]*$", line[:at]):
            yield _Break(at + 2, depth)
        elif (found := re.match(r" (\?|:|\|\||&&|\|) ", line[at : at + 4])) is not None:
            yield _Break(at, depth + _OPERATORS[found[0]])
        elif re.match(r"\)\.[A-Z]", line[at - 1 : at + 2]):
            yield _Break(at, depth)
        at += 1


def _holes(line: str, at: int, end: int) -> Iterator[tuple[int, bool]]:
    """The characters of an interpolated string: place, and whether it is in a hole."""
    depth = 0
    while at < end:
        if not depth and line[at : at + 2] in ("{{", "}}"):
            yield from ((at, False), (at + 1, False))
            at += 2
            continue
        depth += (line[at] == "{") - (line[at] == "}")
        yield at, depth > 0 or line[at] == "}"
        at += 1


def _end_of_string(line: str, at: int, *, interpolated: bool) -> int:
    """The place of the quote that ends a string."""
    inside = dict(_holes(line, at, len(line))) if interpolated else {}
    while line[at] != '"' or inside.get(at, False):
        at += 2 if line[at] == "\\" else 1
    return at


def _spaces(line: str, at: int, end: int, *, interpolated: bool) -> list[int]:
    inside = dict(_holes(line, at, end)) if interpolated else {}
    return [one for one in range(at, end) if line[one] == " " and not inside.get(one, False)]
