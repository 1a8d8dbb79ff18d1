"""Expected values from console output: a regex, and the values that it reads.

The *template* of a line is its text without its numbers. The most frequent template with
predictable values is used. Values are predictable if the image no longer prints them, or if they
repeat: then one period is expected. If no numbers are predictable, words are expected.

The image runs twice, the second time with another timing: output that differs depends on time and
is not expected. File names, line numbers, times and addresses are never values, and lines that look
like a test's verdict are excluded: scrapers of test suites read them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq

from harness.uart.lines import Line
from harness.uart.messages import names_failure

_MOST_VALUES = 200  # in a readable case file
_ANY_NUMBER = r"-?\d+(?:\.\d+)?"
_ANY_ADDRESS = r"0[xX][0-9a-fA-F]+"
_NUMBER = re.compile(rf"(?<![\w.]){_ANY_ADDRESS}|(?<![\w.]){_ANY_NUMBER}", re.ASCII)
#: Text before a number that is not a value: a path, a line of a file, a clock.
_NOT_AFTER = re.compile(
    r"[/\\]$|\.\w{1,5}:(?:\d+:)?$|\d:$|\bline[ :#]{0,3}$|^\[[^\]]*$", re.I | re.A
)
#: Text after a number that is not a value: the rest of a file name or clock time, a unit of time.
_NOT_BEFORE = re.compile(
    r"\.[A-Za-z]|:\d|\s?(?:[mun]?s|secs?|seconds?|ticks?|cycles?|k?Hz|MHz)\b", re.I | re.A
)
_LABEL = re.compile(r"([A-Za-z_]\w*)\W*$", re.ASCII)
_PLACEHOLDER, _ADDRESS = "\0", "\1"  # for numbers and addresses in a template

_VERDICT = re.compile(
    r"(?<![A-Za-z])(?:(?i:pass(?:ed|es)?|fail(?:ed|s|ures?)?|ignored?|skipped)|SKIP|OK)(?![A-Za-z])"
)


@dataclass(frozen=True)
class Printed:
    """A scraper's regex, and the values that it reads.

    ``varied``: numbers that depend on time are excluded.
    """

    regex: str
    values: tuple[Mapping[str, float | str], ...]
    varied: bool = False


def first_failure(lines: Sequence[Line]) -> Line | None:
    """The first line that shows a failure; ``0 errors`` does not."""
    return next((line for line in lines if names_failure(line.text)), None)


def expectation(
    lines: Sequence[Line], *, ends: bool, until: float, again: Sequence[Line] | None = None
) -> Printed | None:
    """The expected output of an image that printed ``lines``, and ``again`` with another timing.

    None if nothing is predictable. ``until`` is the duration of the run in seconds on the target's
    clock. A template without lines in its second half is finished, even if the image runs on.
    """
    templates, others = _by_template(lines), _by_template(lines if again is None else again)
    by_frequency = sorted(templates, key=lambda template: -len(templates[template]))
    candidates = (
        read(
            [line.text for line in templates[template]],
            [line.text for line in others.get(template, ())],
            ended=ends or templates[template][-1].time < until / 2,
        )
        for read in (_numbers, _words)
        for template in by_frequency
    )
    return next((printed for printed in candidates if printed), None)


def _by_template(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The readable lines that are not verdicts, by template."""
    templates: dict[str, list[Line]] = {}
    for line in lines:
        if _readable(line.text) and not _VERDICT.search(line.text):
            templates.setdefault(_template(line.text), []).append(line)
    return templates


def _readable(text: str) -> bool:
    return bool(text.strip()) and text.isprintable()


def _template(text: str) -> str:
    return _NUMBER.sub(lambda number: _ADDRESS if "x" in number[0].lower() else _PLACEHOLDER, text)


def last_line(lines: Sequence[Line], again: Sequence[Line]) -> str:
    """A regex that matches only the last line, in ``lines`` and in ``again``; "" if there is none.

    Numbers that are equal in both runs are literal in it.
    """
    one, other = ([line.text for line in run if _readable(line.text)] for run in (lines, again))
    if not one or not other or _template(one[-1]) != _template(other[-1]):
        return ""
    pairs = zip(_NUMBER.findall(one[-1]), _NUMBER.findall(other[-1]), strict=True)
    fields = _fields(one[-1])
    numbers = [
        re.escape(number) if number == second and field.value else field.regex
        for (number, second), field in zip(pairs, fields, strict=True)
    ]
    regex = f"^{_joined(_texts(one[-1]), numbers)}$"
    matches = [sum(bool(re.search(regex, text)) for text in run) for run in (one, other)]
    return regex if matches == [1, 1] else ""


@dataclass(frozen=True)
class _Field:
    """A number in a line; ``value``: it is not an address, a line number or a time."""

    name: str
    value: bool
    regex: str


def _fields(text: str) -> list[_Field]:
    """The numbers of a line with unique names: the word before each number, or ``value``."""
    fields: list[_Field] = []
    end = 0
    for number in _NUMBER.finditer(text):
        label = _LABEL.search(text[end : number.start()])
        name = base = label[1].lower() if label else "value"
        count = len(fields)
        while any(field.name == name for field in fields):
            name, count = f"{base}_{count}", count + 1
        address = "x" in number[0].lower()
        unsafe = _NOT_AFTER.search(text, 0, number.start()) or _NOT_BEFORE.match(text, number.end())
        regex = _ANY_ADDRESS if address else _ANY_NUMBER
        fields.append(_Field(name, not address and not unsafe, regex))
        end = number.end()
    return fields


def _texts(text: str) -> list[str]:
    """The text between the numbers of a line, escaped."""
    return [re.escape(part).replace("\\ ", " ") for part in _NUMBER.split(text)]


def _numbers(lines: Sequence[str], again: Sequence[str], *, ended: bool) -> Printed | None:
    """The numbers of the lines of a template: all if it has ``ended``, else one period."""
    fields = _fields(lines[0])
    columns = list(zip(*map(_NUMBER.findall, lines), strict=True))
    others = list(zip(*map(_NUMBER.findall, again), strict=True)) or [()] * len(fields)
    periods = [len(column) if ended else _period(column) for column in columns]
    count = max((n for n, field in zip(periods, fields, strict=True) if field.value), default=0)
    if not 0 < count <= _MOST_VALUES:
        return None
    steady = [column[:count] == other[:count] and (not ended or len(column) == len(other))
              for column, other in zip(columns, others, strict=True)]  # fmt: skip
    predictable = [
        field.value and bool(n) and count % n == 0 for field, n in zip(fields, periods, strict=True)
    ]
    kept = {
        field.name: column
        for field, column, good, same in zip(fields, columns, predictable, steady, strict=True)
        if good and same
    }
    if not kept:
        return None
    numbers = [f"(?P<{f.name}>{_ANY_NUMBER})" if f.name in kept else f.regex for f in fields]
    values = ({name: float(kept[name][row]) for name in kept} for row in range(count))
    varied = any(good and not same for good, same in zip(predictable, steady, strict=True))
    return Printed(f"/^{_joined(_texts(lines[0]), numbers)}$/", tuple(values), varied)


def _words(lines: Sequence[str], again: Sequence[str], *, ended: bool) -> Printed | None:
    """The longest text between numbers: for each line if the template has ``ended``, else once."""
    parts, texts = _NUMBER.split(lines[0]), _texts(lines[0])
    longest = max(parts, key=lambda text: len(text.strip()))
    count = len(lines) if ended else 1
    steady = len(again) == len(lines) if ended else bool(again)
    if not any(map(str.isalpha, longest)) or count > _MOST_VALUES or not steady:
        return None
    index = parts.index(longest)
    texts[index] = f"(?P<text>{texts[index]})"
    regex = _joined(texts, [field.regex for field in _fields(lines[0])])
    return Printed(f"/^{regex}$/", ({"text": longest},) * count)


def _joined(texts: Sequence[str], numbers: Sequence[str]) -> str:
    """A regex: ``texts`` with ``numbers`` between them."""
    return "".join(text + number for text, number in zip(texts, [*numbers, ""], strict=True))


def _period(values: Sequence[str]) -> int:
    """The period of ``values``; 0 if there are fewer than two whole periods."""
    lengths = range(1, len(values) // 2 + 1)
    return next((n for n in lengths if all(map(eq, values, values[n:]))), 0)
