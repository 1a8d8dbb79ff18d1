"""From the lines that an image printed: a regex that reads them, and the values to expect.

The *form* of a line is its text without its numbers. Of the forms whose values can be predicted the
most frequent one is read. Values can be predicted if the image has stopped printing them, or if
they repeat: then one round of them is expected. If no numbers can be predicted, words are expected.

The image runs twice, the second time with another timing: output that differs depends on time
and is not expected. Numbers in names of files, of lines, in times and addresses are never values,
and lines that look like a test's verdict are left to scrapers that read tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq

from harness.uart.lines import Line

_MOST_VALUES = 200  # in a case file, which people read
_ANY_NUMBER = r"-?\d+(?:\.\d+)?"
_ANY_ADDRESS = r"0[xX][0-9a-fA-F]+"
_NUMBER = re.compile(rf"(?<![\w.]){_ANY_ADDRESS}|(?<![\w.]){_ANY_NUMBER}", re.ASCII)
#: Text before a number that is not a value: a path, a line of a file, a clock.
_NOT_AFTER = re.compile(
    r"[/\\]$|\.\w{1,5}:(?:\d+:)?$|\d:$|\bline[ :#]{0,3}$|^\[[^\]]*$", re.I | re.A
)
#: Text behind one: the rest of a file's name, of a clock, a unit of time.
_NOT_BEFORE = re.compile(
    r"\.[A-Za-z]|:\d|\s?(?:[mun]?s|secs?|seconds?|ticks?|cycles?|k?Hz|MHz)\b", re.I | re.A
)
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$", re.ASCII)
_HOLE, _ADDRESS = "\0", "\1"  # stand for numbers and addresses in a form

_VERDICT = re.compile(
    r"(?<![A-Za-z])(?:(?i:pass(?:ed|es)?|fail(?:ed|s|ures?)?|ignored?|skipped)|SKIP|OK)(?![A-Za-z])"
)
_FAILURE = re.compile(
    r"(?<![a-z])(?:fail(?:ed|s|ures?)?|errors?|assert(?:ion|ed)?|fatal|panic|abort(?:ed)?|"
    r"exception|fault|mismatch(?:es)?)(?![a-z])",
    re.IGNORECASE,
)
_NO_FAILURE = re.compile(
    r"\b(?:0|no) \w{0,20} ?(?:failed|failures|errors?|assertions|mismatch(?:es)?)\b"
    r"|\b(?:failed|failures|errors?|mismatch(?:es)?)\s?[:=]?\s?0(?![.\d])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Printed:
    """A scraper's regex, and the values that it read."""

    regex: str
    values: tuple[Mapping[str, float | str], ...]
    varied: bool = False  # numbers that depend on time were left out


def first_failure(lines: Sequence[Line]) -> Line | None:
    """The first line that shows a failure; ``0 errors`` does not."""
    return next((line for line in lines if _FAILURE.search(_NO_FAILURE.sub("", line.text))), None)


def what_to_expect(
    lines: Sequence[Line], *, ends: bool, until: float, again: Sequence[Line] | None = None
) -> Printed | None:
    """The output to expect of an image that printed ``lines``; ``again`` with another timing.

    None if it printed no word that comes again. ``until``: seconds on the target's clock that the
    image ran. A form that did not come in the second half of them is taken to have ended, even if
    the image runs on.
    """
    forms, others = _forms(lines), _forms(lines if again is None else again)
    by_frequency = sorted(forms, key=lambda form: -len(forms[form]))
    ended = {form: ends or same[-1].time < until / 2 for form, same in forms.items()}
    candidates = (
        read_form(
            [line.text for line in forms[form]],
            [line.text for line in others.get(form, ())],
            ended=ended[form],
        )
        for read_form in (_numbers, _words)
        for form in by_frequency
    )
    return next((printed for printed in candidates if printed), None)


def _forms(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines that can be expected, by form."""
    forms: dict[str, list[Line]] = {}
    for line in lines:
        if _readable(line.text) and not _VERDICT.search(line.text):
            forms.setdefault(_form(line.text), []).append(line)
    return forms


def _readable(text: str) -> bool:
    return bool(text.strip()) and text.isprintable()


def _form(text: str) -> str:
    return _NUMBER.sub(lambda number: _ADDRESS if "x" in number[0].lower() else _HOLE, text)


def last_line(lines: Sequence[Line], again: Sequence[Line]) -> str:
    """A regex that the last of ``lines`` matches and no other, the same ``again``; "" if none does.

    Numbers that were the same both times stand in it as they are.
    """
    one, other = ([line.text for line in run if _readable(line.text)] for run in (lines, again))
    if not one or not other or _form(one[-1]) != _form(other[-1]):
        return ""
    pairs = zip(_NUMBER.findall(one[-1]), _NUMBER.findall(other[-1]), strict=True)
    holes = _holes(one[-1])
    numbers = [
        re.escape(number) if number == second and hole.value else hole.regex
        for (number, second), hole in zip(pairs, holes, strict=True)
    ]
    regex = f"^{_joined(_texts(one[-1]), numbers)}$"
    matches = [sum(bool(re.search(regex, text)) for text in run) for run in (one, other)]
    return regex if matches == [1, 1] else ""


@dataclass(frozen=True)
class _Hole:
    """A number in a line; ``value``: it may be one, and neither a line's number nor a time."""

    name: str
    value: bool
    regex: str


def _holes(text: str) -> list[_Hole]:
    """The numbers of a line, each with another name: the word before it, or ``value``."""
    holes: list[_Hole] = []
    end = 0
    for number in _NUMBER.finditer(text):
        label = _LABEL.search(text[end : number.start()])
        name = base = label[1].lower() if label else "value"
        count = len(holes)
        while any(hole.name == name for hole in holes):
            name, count = f"{base}_{count}", count + 1
        address = "x" in number[0].lower()
        unsafe = _NOT_AFTER.search(text, 0, number.start()) or _NOT_BEFORE.match(text, number.end())
        regex = _ANY_ADDRESS if address else _ANY_NUMBER
        holes.append(_Hole(name, not address and not unsafe, regex))
        end = number.end()
    return holes


def _texts(text: str) -> list[str]:
    """The text between the numbers of a line, escaped."""
    return [re.escape(part).replace("\\ ", " ") for part in _NUMBER.split(text)]


def _numbers(lines: Sequence[str], again: Sequence[str], *, ended: bool) -> Printed | None:
    """The numbers of a form: all that came if it has ended, or one round of repeating ones."""
    holes = _holes(lines[0])
    columns = list(zip(*map(_NUMBER.findall, lines), strict=True))
    others = list(zip(*map(_NUMBER.findall, again), strict=True)) or [()] * len(holes)
    rounds = [len(column) if ended else _round(column) for column in columns]
    count = max((n for n, hole in zip(rounds, holes, strict=True) if hole.value), default=0)
    if not 0 < count <= _MOST_VALUES:
        return None
    steady = [column[:count] == other[:count] and (not ended or len(column) == len(other))
              for column, other in zip(columns, others, strict=True)]  # fmt: skip
    rated = [
        hole.value and bool(n) and count % n == 0 for hole, n in zip(holes, rounds, strict=True)
    ]
    kept = {
        hole.name: column
        for hole, column, good, same in zip(holes, columns, rated, steady, strict=True)
        if good and same
    }
    if not kept:
        return None
    numbers = [f"(?P<{h.name}>{_ANY_NUMBER})" if h.name in kept else h.regex for h in holes]
    values = ({name: float(kept[name][row]) for name in kept} for row in range(count))
    varied = any(good and not same for good, same in zip(rated, steady, strict=True))
    return Printed(f"/^{_joined(_texts(lines[0]), numbers)}$/", tuple(values), varied)


def _words(lines: Sequence[str], again: Sequence[str], *, ended: bool) -> Printed | None:
    """The longest text between numbers, as often as it came; once if it never ends."""
    parts, texts = _NUMBER.split(lines[0]), _texts(lines[0])
    longest = max(parts, key=lambda text: len(text.strip()))
    count = len(lines) if ended else 1
    as_often = len(again) == len(lines) if ended else bool(again)
    if not any(map(str.isalpha, longest)) or count > _MOST_VALUES or not as_often:
        return None
    index = parts.index(longest)
    texts[index] = f"(?P<text>{texts[index]})"
    regex = _joined(texts, [hole.regex for hole in _holes(lines[0])])
    return Printed(f"/^{regex}$/", ({"text": longest},) * count)


def _joined(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """A regex: ``texts`` with ``numbers`` between them."""
    return "".join(text + number for text, number in zip(texts, [*numbers, ""], strict=True))


def _round(values: Sequence[str]) -> int:
    """After how many values they repeat; 0 if there were not two whole rounds."""
    lengths = range(1, len(values) // 2 + 1)
    return next((n for n in lengths if all(map(eq, values, values[n:]))), 0)
