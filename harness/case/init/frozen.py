"""Expected values that are copied from an image's output: regexes, and what they read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness.base.text import unused
from harness.case.init.shapes import MANY, Holds, Shape, any_text, escaped
from harness.uart.lines import Line, is_hex, number
from harness.uart.scrapers.pattern import LONGEST_REGEX, Pattern

#: Most results in a case file.
_MOST_RESULTS = 1000
#: So many times as many values, printed once, are of more worth than those that are repeated.
_MANY_MORE = 2
#: Least number of lines of words alone that are results, too.
_LEAST_TEXTS = 2
#: A line that is printed once, with these words, is about the build.
_BANNER = re.compile(r"(?i)\b(?:build|built|version|firmware|sdk|boot(?:ing|ed)?|compiled)\b")

#: In regexes: many numbers with blanks or separators between them.
_NUMBERS = r"[-+\d][-+\d.,;| \teE]*"

Value = float | str
#: One line of a result: the value of each of its names.
Result = Mapping[str, Value]


@dataclass(frozen=True)
class KindOfLine:
    """A kind of line that is expected, and its columns that are read, by name."""

    shape: Shape
    groups: Mapping[int, str]
    text: bool = False  # words alone

    @cached_property
    def regex(self) -> str:
        """The regex that reads its lines; several numbers in a row are one group."""
        if self.text:
            words = escaped(self.shape.rows[0].line.text)
            return f"^(?P<{self.groups[0]}>{words})$"
        parts, at = ["^"], 0
        while at < len(self.shape.holds):
            parts.append(self.shape.between(at))
            end = _end_of_row(self.shape, at) if at in self.groups else at + 1
            one = any_text(set(self.shape.column(at)), self.shape.holds[at])
            one = one if end == at + 1 else _NUMBERS
            parts.append(f"(?P<{self.groups[at]}>{one})" if at in self.groups else one)
            at = end
        return "".join([*parts, self.shape.between(len(self.shape.holds)), "$"])

    @property
    def names(self) -> set[str]:
        """The names of its values."""
        return set(self.groups.values())


def _end_of_row(shape: Shape, at: int) -> int:
    """The end of the numbers in a row from ``at`` on, if there are many; else the next column."""
    if shape.holds[at] is not Holds.VALUE:
        return at + 1
    end = at + 1
    while (
        end < len(shape.holds)
        and shape.holds[end] is Holds.VALUE
        and not re.search(r"[^\s,;|]", shape.rows[0].tokens[end].before)
    ):
        end += 1
    return end if end - at >= MANY else at + 1


@dataclass(frozen=True)
class Frozen:
    """The kinds of line that a case expects, and the results in turn, of an endless image once.

    Both are empty if nothing can be expected.
    """

    kinds: tuple[KindOfLine, ...] = ()
    results: tuple[Result, ...] = ()

    @property
    def values(self) -> int:
        """How many numbers and labels are expected."""
        words = {name for kind in self.kinds if kind.text for name in kind.names}
        return sum(name not in words for one in self.results for name in one)

    @property
    def regexes(self) -> tuple[str, ...]:
        """The regexes, as a scraper has them."""
        return tuple(f"/{one.regex}/" for one in self.kinds)


def freeze(
    shapes: Sequence[Shape],
    lines: Sequence[Line],
    again: Sequence[Line],
    *,
    over: bool,
    taken: Collection[tuple[int, int]] = (),
) -> Frozen:
    """What ``lines`` say that ``again``, of another timing, say, too.

    ``over``: the image prints no more; else only what repeats is expected. ``taken`` are columns,
    by index of the shape, that are read otherwise.
    """
    kinds = [one for one in _kinds(shapes, taken) if len(one.regex) <= LONGEST_REGEX]
    if not kinds and not taken:  # words that are printed once are better than nothing
        return _all_results(_words(shapes), lines, again)
    if over:
        return _all_results(kinds, lines, again)
    half = lines[-1].time / 2 if lines else 0
    finished = [kind for kind in kinds if kind.shape.rows[-1].line.time < half]
    repeated = [kind for kind in kinds if len(kind.shape.rows) > 1]
    once, for_ever = _all_results(finished, lines, again), _round(repeated, lines, again)
    return once if once.values > _MANY_MORE * for_ever.values else for_ever


def _all_results(kinds: list[KindOfLine], lines: Sequence[Line], again: Sequence[Line]) -> Frozen:
    """All results of kinds of which no more is printed."""
    while kinds := _steady(kinds, lines, again, over=True):
        results = _read(kinds, lines)
        if len(results) <= _MOST_RESULTS:
            return Frozen(tuple(kinds), tuple(results))
        kinds = _less(kinds)
    return Frozen()


def _round(kinds: list[KindOfLine], lines: Sequence[Line], again: Sequence[Line]) -> Frozen:
    """The results that an image repeats for ever, once."""
    while kinds := _steady(kinds, lines, again, over=False):
        results = _read(kinds, lines)
        count = _period(results)
        if 0 < count <= _MOST_RESULTS:
            return Frozen(tuple(kinds), tuple(results[:count]))
        fewer = kinds if count else _repeating(kinds, lines)
        kinds = fewer if fewer != kinds else _without_one(kinds, lines)
    return Frozen()


def _without_one(kinds: list[KindOfLine], lines: Sequence[Line]) -> list[KindOfLine]:
    """``kinds`` without the one that keeps the others from repeating, or the least of a result."""
    by_worth = sorted(
        kinds, key=lambda kind: (not kind.text, len(kind.shape.rows) * len(kind.groups))
    )
    for left_out in by_worth:
        others = [kind for kind in kinds if kind is not left_out]
        if others and 0 < _period(_read(others, lines)) <= _MOST_RESULTS:
            return others
    return [kind for kind in kinds if kind is not by_worth[0]]


def _kinds(shapes: Sequence[Shape], taken: Collection[tuple[int, int]]) -> list[KindOfLine]:
    """The kinds of line that may be results, with names that tell them apart."""
    kinds: list[KindOfLine] = []
    used: set[str] = set()
    for index, shape in enumerate(shapes):
        once = len(shape.rows) == 1
        if once and _is_banner(shape):
            continue
        if shape.is_text and len(shape.rows) >= _LEAST_TEXTS:
            kinds.append(KindOfLine(shape, {0: _unused("text", used)}, text=True))
            continue
        names = {at: name for at, name in shape.names().items() if (index, at) not in taken}
        names = _first_of_rows(shape, names)
        if names:
            kinds.append(KindOfLine(shape, {at: _unused(one, used) for at, one in names.items()}))
    return kinds


def _words(shapes: Sequence[Shape]) -> list[KindOfLine]:
    used: set[str] = set()
    return [KindOfLine(one, {0: _unused("text", used)}, text=True) for one in shapes if one.is_text]


def _first_of_rows(shape: Shape, names: Mapping[int, str]) -> dict[int, str]:
    """``names`` without the columns inside a row of many numbers, whose first one names it."""
    kept, at = {}, 0
    while at < len(shape.holds):
        end = _end_of_row(shape, at) if at in names else at + 1
        if at in names:
            kept[at] = "values" if end > at + 1 else names[at]
        at = end
    return kept


def _is_banner(shape: Shape) -> bool:
    held = any(one in (Holds.NAME, Holds.ADDRESS) for one in shape.holds)
    return held or bool(_BANNER.search(shape.rows[0].line.text))


def _unused(name: str, used: set[str]) -> str:
    found = unused(name, used)
    used.add(found)
    return found


def _read(kinds: Sequence[KindOfLine], lines: Sequence[Line]) -> list[Result]:
    """The results that the regexes of ``kinds`` read."""
    scraper = Pattern(*(one.regex for one in kinds))
    for line in lines:
        scraper.feed(line)
    return [
        {name: _value(one.values[name]) for name in sorted(one.values, key=one.places.__getitem__)}
        for one in scraper.results
    ]


def _value(text: str) -> Value:
    """A number, or a text that is none or would lose digits or its form."""
    value = number(text)
    if value is None or is_hex(text):
        return text
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else value


def _steady(
    kinds: list[KindOfLine], lines: Sequence[Line], again: Sequence[Line], *, over: bool
) -> list[KindOfLine]:
    """``kinds`` without those that differ between both runs, in values or in order."""
    while kinds:
        one, other = _read(kinds, lines), _read(kinds, again)
        if over and len(one) != len(other):
            counts = [
                [sum(k.names >= set(r) for r in rows) for k in kinds] for rows in (one, other)
            ]
            differing = [k for k, a, b in zip(kinds, *counts, strict=True) if a != b]
            kinds = [kind for kind in kinds if kind not in (differing or kinds)]
            continue
        pairs = enumerate(zip(one, other, strict=False))
        first = next((at for at, (a, b) in pairs if a != b), None)
        if first is None:
            return kinds
        names = set(one[first])
        culprit = next(kind for kind in kinds if names <= kind.names)
        kinds = [kind for kind in kinds if kind is not culprit]
    return kinds


def _repeating(kinds: list[KindOfLine], lines: Sequence[Line]) -> list[KindOfLine]:
    """``kinds`` with those of their columns that repeat by themselves."""
    found = []
    results = _read(kinds, lines)
    for kind in kinds:
        own = [one for one in results if set(one) <= kind.names]
        groups = {
            at: name for at, name in kind.groups.items() if _period([one.get(name) for one in own])
        }
        if groups:
            found.append(replace(kind, groups=groups))
    return found


def _less(kinds: list[KindOfLine]) -> list[KindOfLine]:
    """``kinds`` without the one that is least of a result: words alone, then the most lines."""
    texts = [kind for kind in kinds if kind.text]
    last = max(texts or kinds, key=lambda kind: len(kind.shape.rows))
    return [kind for kind in kinds if kind is not last]


def _period(values: Sequence[object]) -> int:
    """The period of ``values``; 0 if there are fewer than two whole periods."""
    for length in range(1, len(values) // 2 + 1):
        if all(a == b for a, b in zip(values, values[length:], strict=False)):
            return length
    return 0
