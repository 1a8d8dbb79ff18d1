"""From the lines that an image printed: a regex that reads them, and the values to expect of it.

Lines have a *form*, their text without its numbers. The form that most lines share and whose values
can be foretold is read: all of them where the image fell silent in that form, one round of them
where they begin again. Where no number can be foretold, the words between them are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.uart.lines import Line

_MOST_VALUES = 200  # of a case file that somebody shall read
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_ANY_NUMBER = r"-?\d+(?:\.\d+)?"
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$", re.ASCII)
_HOLE = "\0"  # where a form has a number


@dataclass(frozen=True)
class Printed:
    """A scraper's regex, and what it read."""

    regex: str
    values: tuple[Mapping[str, float | str], ...]


def what_to_expect(lines: Sequence[Line], *, ends: bool, until: float) -> Printed | None:
    """What a case can expect of an image that printed ``lines``; None if it printed no word.

    ``until``: seconds on the target's clock that the image was looked at. A form of which nothing
    came in their second half is over, though the image goes on.
    """
    forms: dict[str, list[Line]] = {}
    for line in lines:
        if line.text.strip() and line.text.isprintable():
            forms.setdefault(_NUMBER.sub(_HOLE, line.text), []).append(line)
    often = sorted(forms, key=lambda form: -len(forms[form]))
    over = {form: ends or told[-1].time < until / 2 for form, told in forms.items()}
    tried = (
        read_form(form, [line.text for line in forms[form]], over=over[form])
        for read_form in (_numbers, _words)
        for form in often
    )
    return next((printed for printed in tried if printed), None)


def _numbers(form: str, told: Sequence[str], *, over: bool) -> Printed | None:
    """The numbers of a form: all that came, or one round of those that come again and again."""
    texts = [_escaped(text) for text in form.split(_HOLE)]
    names = _names(form.split(_HOLE)[:-1])
    rows = [_NUMBER.findall(text) for text in told]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    rounds = {name: len(column) if over else _round(column) for name, column in columns.items()}
    count = max(rounds.values(), default=0)
    if not 0 < count <= _MOST_VALUES:
        return None
    kept = [name for name in names if rounds[name] and count % rounds[name] == 0]
    numbers = [f"(?P<{name}>{_ANY_NUMBER})" if name in kept else _ANY_NUMBER for name in names]
    values = ({name: float(columns[name][at]) for name in kept} for at in range(count))
    return Printed(_regex(texts, numbers), tuple(values))


def _words(form: str, told: Sequence[str], *, over: bool) -> Printed | None:
    """The longest text between numbers, as often as it came; once if it comes for ever."""
    texts = form.split(_HOLE)
    longest = max(texts, key=lambda text: len(text.strip()))
    count = len(told) if over else 1
    if not any(character.isalpha() for character in longest) or count > _MOST_VALUES:
        return None
    at = texts.index(longest)
    read = [_escaped(text) for text in texts]
    read[at] = f"(?P<text>{read[at]})"
    return Printed(_regex(read, [_ANY_NUMBER] * (len(texts) - 1)), ({"text": longest},) * count)


def _regex(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """Of a whole line: texts, and numbers between them."""
    between = (text + number for text, number in zip(texts, [*numbers, ""], strict=True))
    return f"/^{''.join(between)}$/"


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\ ", " ")


def _round(told: Sequence[str]) -> int:
    """After how many values they begin again; 0 if they were not seen to, twice."""
    half = range(1, len(told) // 2 + 1)
    return next((n for n in half if all(a == b for a, b in zip(told, told[n:]))), 0)  # noqa: B905


def _names(before: Sequence[str]) -> list[str]:
    """A name for each number: the word in front of it, or ``value``; each once."""
    names: list[str] = []
    for text in before:
        word = match[1].lower() if (match := _LABEL.search(text)) else "value"
        names.append(word if word not in names else f"{word}_{len(names)}")
    return names
