"""From the lines that an image printed: a regex that reads them, and the values to expect.

The *form* of a line is its text without its numbers. Of the forms whose values can be predicted the
most frequent one is read. Values can be predicted if the image has stopped printing them, or if
they repeat: then one round of them is expected. If no numbers can be predicted, words are expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq

from harness.uart.lines import Line

_MOST_VALUES = 200  # in a case file, which people read
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_ANY_NUMBER = r"-?\d+(?:\.\d+)?"
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$", re.ASCII)
_HOLE = "\0"  # stands for a number in a form


@dataclass(frozen=True)
class Printed:
    """A scraper's regex, and what it read."""

    regex: str
    values: tuple[Mapping[str, float | str], ...]


def what_to_expect(lines: Sequence[Line], *, ends: bool, until: float) -> Printed | None:
    """What a case can expect of an image that printed ``lines``; None if it printed no word.

    ``until``: seconds on the target's clock that the image ran. A form that did not come in the
    second half of them is taken to have ended, even if the image runs on.
    """
    forms: dict[str, list[Line]] = {}
    for line in lines:
        if line.text.strip() and line.text.isprintable():
            forms.setdefault(_NUMBER.sub(_HOLE, line.text), []).append(line)
    by_frequency = sorted(forms, key=lambda form: -len(forms[form]))
    ended = {form: ends or same[-1].time < until / 2 for form, same in forms.items()}
    candidates = (
        read_form(form, [line.text for line in forms[form]], ended=ended[form])
        for read_form in (_numbers, _words)
        for form in by_frequency
    )
    return next((printed for printed in candidates if printed), None)


def _numbers(form: str, lines: Sequence[str], *, ended: bool) -> Printed | None:
    """The numbers of a form: all that came if it has ended, or one round of repeating ones."""
    texts = [_escaped(text) for text in form.split(_HOLE)]
    names = _names(form.split(_HOLE)[:-1])
    rows = [_NUMBER.findall(line) for line in lines]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    rounds = {name: len(column) if ended else _round(column) for name, column in columns.items()}
    count = max(rounds.values(), default=0)
    if not 0 < count <= _MOST_VALUES:
        return None
    kept = [name for name in names if rounds[name] and count % rounds[name] == 0]
    numbers = [f"(?P<{name}>{_ANY_NUMBER})" if name in kept else _ANY_NUMBER for name in names]
    values = ({name: float(columns[name][row]) for name in kept} for row in range(count))
    return Printed(_regex(texts, numbers), tuple(values))


def _words(form: str, lines: Sequence[str], *, ended: bool) -> Printed | None:
    """The longest text between numbers, as often as it came; once if it never ends."""
    texts = form.split(_HOLE)
    longest = max(texts, key=lambda text: len(text.strip()))
    count = len(lines) if ended else 1
    if not any(character.isalpha() for character in longest) or count > _MOST_VALUES:
        return None
    index = texts.index(longest)
    patterns = [_escaped(text) for text in texts]
    patterns[index] = f"(?P<text>{patterns[index]})"
    numbers = [_ANY_NUMBER] * (len(texts) - 1)
    return Printed(_regex(patterns, numbers), ({"text": longest},) * count)


def _regex(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """A scraper's regex for a whole line: ``texts`` with ``numbers`` between them."""
    parts = (text + number for text, number in zip(texts, [*numbers, ""], strict=True))
    return f"/^{''.join(parts)}$/"


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\ ", " ")


def _round(values: Sequence[str]) -> int:
    """After how many values they repeat; 0 if there were not two whole rounds."""
    lengths = range(1, len(values) // 2 + 1)
    return next((n for n in lengths if all(map(eq, values, values[n:]))), 0)


def _names(texts: Sequence[str]) -> list[str]:
    """A different name for each number, from the word in the text before it, or ``value``."""
    names: list[str] = []
    for text in texts:
        word = match[1].lower() if (match := _LABEL.search(text)) else "value"
        # Words have no digits: those are numbers of the line.
        names.append(word if word not in names else f"{word}_{len(names)}")
    return names
