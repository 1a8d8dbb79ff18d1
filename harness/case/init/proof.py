"""What a case notices: a number, label or line is spoilt at a time, and the console judged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.base.text import count_of
from harness.case.case import Case
from harness.case.init.shapes import RESULTS, Holds, Shape, Token
from harness.case.observe import scrapers_of
from harness.case.outputs import check_text
from harness.model import Model
from harness.uart.lines import Line
from harness.uart.scrapers import AbsentLines, EndLine

#: Most spoilt consoles that are judged; of more the same share of each kind.
_MOST_TRIED = 800
#: Characters of a line that is shown.
_SHOWN = 60


@dataclass(frozen=True)
class Spoilt:
    """One thing that was changed: the line's number, and what it was."""

    line: int
    kind: str  # number, label, line
    text: str
    noticed: bool


@dataclass(frozen=True)
class Proof:
    """What the case noticed.

    ``known`` counts numbers that are no results, by what they hold. ``left`` are things that were
    not tried, for their number.
    """

    tried: tuple[Spoilt, ...]
    known: tuple[tuple[str, int], ...]
    lines: dict[int, str]
    left: int = 0

    def count(self, kind: str) -> tuple[int, int]:
        """How many of a kind are noticed, and all."""
        own = [one for one in self.tried if one.kind == kind]
        return sum(one.noticed for one in own), len(own)

    def sentences(self) -> Iterator[str]:
        """What is checked and what is not, a line each."""
        checked = [
            f"{noticed} of {count_of(total, kind)}"
            for kind in ("number", "label", "line")
            if (total := self.count(kind)[1])
            for noticed in (self.count(kind)[0],)
        ]
        total = sum(self.count(kind)[1] for kind in ("number", "label", "line"))
        verb = "is" if total == 1 else "are"
        yield f"{', '.join(checked)} {verb} checked" if checked else "nothing is checked"
        if self.left:
            yield f"{self.left:,} more were not tried"
        missed = [one for one in self.tried if not one.noticed]
        for line in sorted({one.line for one in missed})[:_MOST_LINES]:
            yield f"not checked: line {line} `{self.lines[line][:_SHOWN]}`"
        more = len({one.line for one in missed}) - _MOST_LINES
        if more > 0:
            yield f"not checked: {count_of(more, 'more line')}"
        if self.known:
            counts = ", ".join(_counted(n, name) for name, n in self.known)
            yield f"known for no results: {counts}"


_MOST_LINES = 10
#: Plurals of what columns hold.
_PLURALS = {Holds.NAME.value: "versions or hashes", Holds.PLACE.value: "places in files"}
_PLURALS |= {Holds.ADDRESS.value: "addresses", Holds.VOLATILE.value: Holds.VOLATILE.value}


def _counted(count: int, what: str) -> str:
    plural = _PLURALS.get(what)
    return f"{count:,} {plural}" if plural and count != 1 else count_of(count, what)


def passes(case: Case, model: Model | None, texts: Iterable[str]) -> bool:
    """Whether the case accepts the lines of a console."""
    scrapers, absent = scrapers_of(case), AbsentLines(case.expect.lines_absent)
    for number, text in enumerate(texts, 1):
        line = Line(number, 0.0, text, b"")
        absent.feed(line)
        for scraper in scrapers:
            scraper.feed(line)
    if [*absent.findings, *(one for scraper in scrapers for one in scraper.findings)]:
        return False
    complete = zip(scrapers, case.least_of_each, strict=False)
    if any(len(scraper.results) < least for scraper, least in complete):
        return False
    if not all(scraper.ended for scraper in scrapers if isinstance(scraper, EndLine)):
        return False
    return not check_text(scrapers, case, model).problems


def prove(case: Case, model: Model | None, lines: Sequence[Line], shapes: Sequence[Shape]) -> Proof:
    """Spoil ``lines`` in each way, and note what ``case`` does not notice."""
    shown = {line.number for line in lines}
    places = [one for one in _places(shapes) if one[0].number in shown]
    results = [one for one in places if one[2] in RESULTS]
    known: dict[str, int] = {}
    for _, _, holds in places:
        if holds not in RESULTS:
            known[holds.value] = known.get(holds.value, 0) + 1
    texts_alone = [
        row.line for one in shapes if one.is_text for row in one.rows if row.line.number in shown
    ]
    spoilings = [*_of_tokens(results), *_of_lines([line for line, *_ in results] + texts_alone)]
    step = max(1, -(-len(spoilings) // _MOST_TRIED))
    texts = {line.number: line.text for line in lines}
    order = [line.number for line in lines]
    tried = []
    for number, kind, was, becomes in spoilings[::step]:
        changed = (becomes if one == number else texts[one] for one in order)
        accepted = passes(case, model, (text for text in changed if text is not None))
        tried.append(Spoilt(number, kind, was, not accepted))
    left = len(spoilings) - len(tried)
    return Proof(tuple(tried), tuple(sorted(known.items())), texts, left)


def _places(shapes: Sequence[Shape]) -> Iterator[tuple[Line, Token, Holds]]:
    for shape in shapes:
        for row in shape.rows:
            for token, holds in zip(row.tokens, shape.holds, strict=True):
                if holds is not Holds.WORD:
                    yield row.line, token, holds


_Spoiling = tuple[int, str, str, str | None]


def _of_tokens(places: Sequence[tuple[Line, Token, Holds]]) -> Iterator[_Spoiling]:
    for line, token, holds in places:
        spoilt = another_word(token.text) if holds is Holds.LABEL else another_number(token.text)
        text = f"{line.text[: token.start]}{spoilt}{line.text[token.end :]}"
        yield line.number, "label" if holds is Holds.LABEL else "number", token.text, text


def _of_lines(lines: Sequence[Line]) -> Iterator[_Spoiling]:
    for number, text in sorted({line.number: line.text for line in lines}.items()):
        yield number, "line", text, None


def another_number(text: str) -> str:
    """``text`` with its first digit that is not 0 changed; of the same length."""
    digits = re.search(r"[1-9a-fA-F]", text[2:] if text[:2] in ("0x", "0X") else text)
    if digits is None:
        return text[:-1] + "5"
    at = digits.start() + (2 if text[:2] in ("0x", "0X") else 0)
    changed = "2" if text[at] == "1" else "1" if text[at] != "1" else "2"
    return text[:at] + changed + text[at + 1 :]


def another_word(text: str) -> str:
    """Another word of the same length."""
    return text[::-1] if text[::-1] != text else ("b" if text[0] == "a" else "a") + text[1:]
