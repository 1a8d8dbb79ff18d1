r"""Shapes of console lines: what lines have in common that differ in their numbers and words.

A *shape* has the words of its lines and a *column* for each number; shapes that differ in a few
words alone are joined, and these words are columns, too. What a column holds is known from the
text around it and from two runs of the image with different timing: clocks, durations, addresses,
versions, hashes, sizes and counters are no results.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import groupby, pairwise

from harness.base.platforms import chip_names, chip_table
from harness.base.text import unused
from harness.uart.coverage import CLOCK
from harness.uart.lines import Line, last_digit, number
from harness.uart.messages import names_failure
from harness.uart.records import PREFIX

_TOKEN = re.compile(
    rf"(?P<clock>{CLOCK})"
    r"""
  | (?P<name>(?<![\w.])v?\d+\.\d+\.\d+[-\w.+]*|(?<![\w.])g?[0-9a-f]{7,40}(?![\w.])(?<=[a-f\d]))
  | (?P<bytes>(?<![\w.])(?:[0-9a-fA-F]{2}[ ,:]){3,}[0-9a-fA-F]{2}(?![\w.]))
  | (?P<checksum>(?<=\*)[0-9A-F]{2}$)
  | (?P<hex>(?<!\w)0[xX][0-9a-fA-F]+(?!\w))
  | (?P<number>(?<![\w.])(?:(?<![\w.)\]])[-+])?(?:\d+(?:\.\d+)?|\.\d+)
      (?:[eE][-+]?\d+)?(?:\*2\^-?\d+)?(?![\d.]*\d)(?=(?:%|[mun]?s|sec|[kKM]i?B|B|[kM]?Hz|bytes|mV|mA|V|A|C|g|x)?(?![A-Za-z_\d])|(?<=\.\d)[A-Za-z]|(?<=\.\d\d)[A-Za-z]))
  | (?P<word>\w+)
    """,
    re.VERBOSE | re.ASCII,
)
_CLOCK = re.compile(CLOCK, re.ASCII)
#: Whole numbers of a fixed width, of which a minus sign takes the place of the blank.
_PADDED = re.compile(r"(?<![\w.])(?:[ ]*-?\d{1,5}){4,}(?![\w.])", re.ASCII)
_WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
#: Text behind a number that is a time or a rate, and a size in memory.
_TIME = re.compile(
    r"\s?(?:[mun]?s|m?secs?|seconds?|ticks?|cycles?|[kM]?Hz|fps|FPS|baud)\b(?!\s?[=:])", re.A
)
_SIZE = re.compile(r"\s?(?:[kKM]i?B|B|bytes?|words?)\b(?!\s?[=:])", re.A)
#: Words before a number that say the same.
_TIME_WORD = re.compile(
    r"(?:\b|_)(?:t|ts|time|timestamp|uptime|up|ms|us|ticks?|tick_count|cycles|took|elapsed|latency"
    r"|duration)\W{0,3}$|@\s?$",
    re.I | re.A,
)
_SIZE_WORD = re.compile(
    r"(?:\b|_)(?:arena|heap|free|stack|size|bytes|used|ram|flash|mem|memory)\W{0,3}$", re.I | re.A
)
_PLACE = re.compile(r"[A-Za-z_][\w.]*[/\\]$|\.\w{1,5}:(?:\d+:)?$|\bline[ :#]{0,3}$", re.I | re.A)
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$", re.ASCII)
#: Hexadecimal digits from which on a number is an address.
_ADDRESS_DIGITS = 6
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_IN_ROW = re.compile(r"(?P<number>-?\d+)", re.ASCII)
#: Units of clocks: counts in a second; those of the chips' clocks are others.
_CLOCKS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e6)
#: A number with decimals in brackets, at the beginning of a line.
_STAMP = re.compile(r"[\[<(]\s*\d+\.\d+\s*[s]?[\]>)]", re.ASCII)
#: So much a clock may differ from the time at which its line came, as a share and in seconds.
_CLOCK_SHARE, _CLOCK_SECONDS = 0.05, 0.02
#: Blanks that stand for digits.
_PADDING = re.compile(r"\s{2}|[\[<(]\s")
#: Columns at a line's beginning that may be the clock of a logger.
_STAMPS = 2
#: Words that differ in shapes that are joined, at most.
_MOST_LABELS = 3
#: So many numbers with the same text between them are one group of a regex.
MANY = 8


class Holds(StrEnum):
    """What a column holds; all but values and labels are no results."""

    VALUE = "value"
    LABEL = "label"
    WORD = "word"  # the same in all lines
    TIME = "time"
    COUNTER = "counter"
    ADDRESS = "address"
    SIZE = "size"
    NAME = "version or hash"
    PLACE = "place in a file"
    CHECKSUM = "checksum"
    VOLATILE = "differing between two runs"


RESULTS = (Holds.VALUE, Holds.LABEL)


@dataclass(frozen=True)
class Token:
    """A word or number of a line, and the text before it."""

    kind: str
    text: str
    before: str
    start: int

    @property
    def end(self) -> int:
        """The position behind it."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class ParsedLine:
    """A line of a shape: its tokens, and the text behind the last one."""

    line: Line
    tokens: tuple[Token, ...]
    rest: str

    @property
    def key(self) -> tuple[str, ...]:
        """What lines of a shape have in common: words, kinds of numbers, text between them."""
        parts = [part for one in self.tokens for part in (one.before.strip(), _literal(one))]
        return (*parts, self.rest.strip())

    @property
    def structure(self) -> tuple[str, ...]:
        """The same without the words."""
        parts = [part for one in self.tokens for part in (one.before.strip(), one.kind)]
        return (*parts, self.rest.strip())


def _literal(token: Token) -> str:
    return f"={token.text}" if token.kind == "word" else token.kind


@dataclass(frozen=True)
class Shape:
    """Lines that are alike, and what each of their columns holds."""

    rows: tuple[ParsedLine, ...]
    holds: tuple[Holds, ...]

    @property
    def is_text(self) -> bool:
        """Whether all of its lines are the same words, without a number."""
        return all(one is Holds.WORD for one in self.holds) and bool(self.holds)

    def column(self, at: int) -> list[str]:
        """The texts of a column."""
        return [row.tokens[at].text for row in self.rows]

    def between(self, at: int) -> str:
        """A regex for the text before column ``at``; behind the last one for their number."""
        texts = {row.tokens[at].before if at < len(self.holds) else row.rest for row in self.rows}
        known = at < len(self.holds) and self.holds[at] not in (*RESULTS, Holds.WORD)
        padded = known and any(_PADDING.search(text) for text in texts)  # less, the longer it is
        if len(texts) == 1 and not padded:
            return escaped(texts.pop())
        between = escaped(texts.pop().strip())
        return rf"\s*{between}\s*" if between else r"\s*"

    def names(self) -> dict[int, str]:
        """A name for each column that is a result: the word before it, or what it holds."""
        names: dict[int, str] = {}
        for at, holds in enumerate(self.holds):
            if holds not in RESULTS:
                continue
            row = self.rows[0]
            label = _LABEL.search(row.line.text[: row.tokens[at].start])
            known = label and not (at and self.holds[at - 1] is Holds.LABEL)
            base = label[1].lower() if label and known else holds.value
            names[at] = unused(base, names.values())
        return names

    def regex(self, groups: Mapping[int, str]) -> str:
        """A regex of its lines, with a group for each column of ``groups``, unnamed for ""."""
        parts = ["^"]
        for at, holds in enumerate(self.holds):
            parts.append(self.between(at))
            texts = set(self.column(at))
            one = any_text(texts, holds)
            if at in groups:
                name = f"?P<{groups[at]}>" if groups[at] else ""
                one = f"({name}{one})"
            parts.append(one)
        return "".join([*parts, self.between(len(self.holds)), "$"])


def any_text(texts: set[str], holds: Holds) -> str:
    """A regex for what a column holds."""
    if holds is Holds.WORD:
        return escaped(next(iter(texts)))
    if holds is Holds.LABEL:
        return r"\w+"
    if all(_WHOLE.fullmatch(text) for text in texts):
        return r"[-+]?\d+" if any(text[0] == "+" for text in texts) else r"-?\d+"
    if all(_CLOCK.fullmatch(text) for text in texts):
        return r"\d[-\d:.,]*"
    if any(re.search(r"[ ,:]", text) for text in texts):
        return r"[0-9a-fA-F][0-9a-fA-F ,:]*"
    return r"\S+"


def escaped(text: str) -> str:
    """``text`` as a regex, with readable spaces."""
    return re.escape(text).replace("\\ ", " ").replace("\\-", "-").replace("\\=", "=")


def parsed(line: Line) -> ParsedLine:
    """The tokens of a line."""
    tokens: list[Token] = []
    end = 0
    for match in _tokens(line.text):
        kind = match.lastgroup or "word"
        text = match[0]
        if kind == "name" and not (re.search(r"\d", text) and re.search(r"[a-z.]", text)):
            kind = "number" if text.isdecimal() else "word"
        if kind == "bytes" and not re.search(r"[a-fA-F]", text):
            tokens += _decimals(text, line.text[end : match.start()], match.start())
            end = match.end()
            continue
        tokens.append(Token(kind, text, line.text[end : match.start()], match.start()))
        end = match.end()
    return ParsedLine(line, tuple(tokens), line.text[end:])


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """The tokens of ``text``; in a row of padded numbers each minus sign begins one."""
    at = 0
    for row in _PADDED.finditer(text):
        if re.search(r"\d-", row[0]) and not _DATE.search(row[0]):
            yield from _TOKEN.finditer(text, at, row.start())
            yield from _IN_ROW.finditer(text, row.start(), row.end())
            at = row.end()
    yield from _TOKEN.finditer(text, at)


def _decimals(text: str, before: str, start: int) -> Iterable[Token]:
    for found in re.finditer(r"\d+", text):
        gap = before if not found.start() else text[found.start() - 1]
        yield Token("number", found[0], gap, start + found.start())


def shapes_of(lines: Sequence[Line], again: Sequence[Line]) -> list[Shape]:
    """The shapes of a run's lines, in order; ``again`` are the lines of another timing."""
    first, other = _by_key(lines), _by_key(again)
    shapes = [Shape(tuple(rows), _holds(rows, other.get(key, []))) for key, rows in first.items()]
    ordered = sorted(_joined(shapes), key=lambda one: one.rows[0].line.number)
    return _with_stamps(ordered)


def _with_stamps(shapes: Sequence[Shape]) -> list[Shape]:
    """``shapes``, whose lines have the clock of a logger even where too few show that it runs."""
    stamps = {
        place
        for shape in shapes
        for at, place in enumerate(_places(shape)[:_STAMPS])
        if shape.holds[at] is Holds.TIME and len(shape.rows) > 1
    }
    found = []
    for shape in shapes:
        holds = list(shape.holds)
        for at, place in enumerate(_places(shape)[:_STAMPS]):
            if place in stamps and holds[at] in (Holds.VALUE, Holds.COUNTER):
                holds[at] = Holds.TIME
        found.append(replace(shape, holds=tuple(holds)))
    return found


def _places(shape: Shape) -> list[str]:
    """For each column the text before it, from the line's beginning, without blanks."""
    row = shape.rows[0]
    return ["".join(row.line.text[: one.start].split()) for one in row.tokens]


def failing(shapes: Iterable[Shape]) -> Line | None:
    """The first line that shows a failure; a word that is a label of some lines is none."""
    shapes = list(shapes)
    labels = {
        text
        for shape in shapes
        for at, holds in enumerate(shape.holds)
        if holds is Holds.LABEL
        for text in shape.column(at)
    }
    lines = [
        row.line for shape in shapes for row in shape.rows if names_failure(_without(labels, row))
    ]
    return min(lines, key=lambda line: line.number, default=None)


def _without(labels: Container[str], row: ParsedLine) -> str:
    """The text of a line without words that are labels."""
    kept = (one.before + ("" if one.text in labels else one.text) for one in row.tokens)
    return "".join([*kept, row.rest])


def readable(line: Line) -> bool:
    """Whether a line is text, and no record."""
    return bool(line.text.strip()) and PREFIX not in line.text


def _by_key(lines: Sequence[Line]) -> dict[tuple[str, ...], list[ParsedLine]]:
    found: dict[tuple[str, ...], list[ParsedLine]] = {}
    for line in lines:
        if readable(line):
            row = parsed(line)
            found.setdefault(row.key, []).append(row)
    return found


def _holds(rows: Sequence[ParsedLine], others: Sequence[ParsedLine]) -> tuple[Holds, ...]:
    return tuple(_column_holds(rows, others, at) for at in range(len(rows[0].tokens)))


def _column_holds(rows: Sequence[ParsedLine], others: Sequence[ParsedLine], at: int) -> Holds:
    """What column ``at`` holds; the text around it decides first, then how it changes."""
    one = rows[0].tokens[at]
    texts = [row.tokens[at].text for row in rows]
    before, after = rows[0].line.text[: one.start], rows[0].line.text[one.end :]
    match one.kind:
        case "word":
            return Holds.WORD
        case "clock":
            return Holds.TIME
        case "name":
            return Holds.NAME
        case "checksum":
            return Holds.CHECKSUM
        case "hex" if any(len(text) - 2 >= _ADDRESS_DIGITS for text in texts):
            return Holds.ADDRESS
    if _PLACE.search(before) or re.match(r"\.[A-Za-z]", after):
        return Holds.PLACE
    stamped = not at and _STAMP.match(rows[0].line.text) is not None
    if stamped or _TIME.match(after) or _TIME_WORD.search(before) or _is_clock(rows, at):
        return Holds.TIME
    if _SIZE.match(after) or _SIZE_WORD.search(before):
        return Holds.SIZE
    if _counts(texts):
        return Holds.COUNTER
    same = [row.tokens[at].text for row in others[: len(rows)]]
    if texts[: len(same)] != same or not same:
        return Holds.VOLATILE
    return Holds.VALUE


def _is_clock(rows: Sequence[ParsedLine], at: int) -> bool:
    """Whether a column follows the time at which its lines came, in one of the usual units."""
    values = [number(row.tokens[at].text) for row in rows]
    if len(rows) < 3 or any(value is None for value in values):
        return False
    rises = [(b or 0) - (a or 0) for a, b in pairwise(values)]
    passed = [b.line.time - a.line.time for a, b in pairwise(rows)]
    digit = max(last_digit(row.tokens[at].text) for row in rows)
    return min(rises) >= 0 and any(_runs_like(rises, passed, digit, unit) for unit in _units())


@cache
def _units() -> tuple[float, ...]:
    chips = [chip_table(name) for name in chip_names()]
    return (*_CLOCKS, *sorted({float(hz) for one in chips for hz in (one.cpu_hz, one.lfclk_hz)}))


def _runs_like(rises: Sequence[float], passed: Sequence[float], digit: float, unit: float) -> bool:
    """Whether a clock with ``unit`` counts a second rises so in these seconds."""
    whole, seconds = sum(rises) / unit, sum(passed)
    rounding = 2 * digit / unit
    close = all(
        abs(rise / unit - one) <= max(_CLOCK_SHARE * one, rounding, _CLOCK_SECONDS)
        for rise, one in zip(rises, passed, strict=True)
    )
    return close and abs(whole - seconds) <= max(_CLOCK_SHARE * seconds, rounding) < seconds


def _counts(texts: Sequence[str]) -> bool:
    """Whether whole numbers count the lines."""
    if len(texts) < 3 or not all(_WHOLE.fullmatch(text) for text in texts):
        return False
    return all(int(b) - int(a) == 1 for a, b in pairwise(texts))


def _joined(shapes: Sequence[Shape]) -> list[Shape]:
    """``shapes``, of which those that differ in a few words alone are one."""
    found = []
    ordered = sorted(shapes, key=_structure)
    for _, group in groupby(ordered, key=_structure):
        found += _join(list(group))
    return found


def _structure(shape: Shape) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return shape.rows[0].structure, tuple(shape.holds)


def _join(group: list[Shape]) -> list[Shape]:
    rows = sorted((row for one in group for row in one.rows), key=lambda row: row.line.number)
    words = [at for at, holds in enumerate(group[0].holds) if holds is Holds.WORD]
    varying = {at for at in words if len({row.tokens[at].text for row in rows}) > 1}
    same = len(words) - len(varying)
    if not varying or len(varying) > _MOST_LABELS or (same < len(varying) - 1):
        return group
    holds = tuple(Holds.LABEL if at in varying else one for at, one in enumerate(group[0].holds))
    return [_seen_together(Shape(tuple(rows), holds))]


def _seen_together(shape: Shape) -> Shape:
    """A joined shape, of whose columns some are clocks or counters of all its lines."""
    holds = list(shape.holds)
    for at, one in enumerate(holds):
        if one is Holds.VALUE and _is_clock(shape.rows, at):
            holds[at] = Holds.TIME
        elif one is Holds.VALUE and _counts(shape.column(at)):
            holds[at] = Holds.COUNTER
    return replace(shape, holds=tuple(holds))
