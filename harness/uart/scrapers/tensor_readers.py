"""What one regex reads of a tensor: its elements, or the names of its largest ones."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import re2

from harness.base import numbers
from harness.base.errors import UsageError
from harness.base.hints import Hint
from harness.base.tables import key
from harness.base.text import count_of, short
from harness.model import Tensor
from harness.uart.lines import is_hex, last_digit, number
from harness.uart.scrapers.pattern import compile_regex
from harness.uart.scrapers.readings import Elements, Labels, PrintedValue

#: ``quantized``: the elements as stored in memory; ``real``: the values that they represent.
Form = Literal["quantized", "real"]
#: The name of a regex's group for an element's position, counted from 0.
INDEX = "index"
#: Names of groups for the value of a label's element.
_SCORE = re.compile(r"score\d*")
#: The largest integer up to which all integers are exact in a double.
_MOST_EXACT = 2**53
#: Bits of the type in which C passes a smaller integer to printf().
_INT_BITS = 32
#: Text between the numbers of one group.
_SEPARATORS = re.compile(r"[\s,;|\[\](){}]+")


@dataclass(frozen=True)
class TensorRegex:
    """The regex of one tensor in the text.

    The groups of a match have its numbers, in order: one in each group, or several with blanks,
    commas or brackets between them. A group called ``index`` has the position of the first. With a
    ``label`` they have names of elements, and groups called ``score``, ``score2`` their values.
    """

    regex: str = key(help="Its groups have the tensor's numbers, or names of its elements.")
    form: Form | None = key(
        None, "Numbers of a quantized tensor: as stored in memory (default), or what they stand "
        "for (default with a factor).",
    )  # fmt: skip
    factor: Annotated[float, numbers.factor] = key(
        1.0, "A printed number times the factor is the real one: 0.01 for percent."
    )
    label: Literal["argmax", "top"] | None = key(
        None, "The regex reads names of elements: of the largest one, or of the largest ones in "
        "the order of rank.",
    )  # fmt: skip
    names: tuple[str, ...] = key((), "The names of all elements, in the tensor's order.")
    top: Annotated[int | None, numbers.count] = key(None, "How many names an inference prints.")

    def is_real(self, tensor: Tensor) -> bool:
        """Whether the numbers are real ones; a float tensor has no others."""
        real = self.form == "real" or self.factor != 1
        return tensor.dtype.startswith("float") or bool(tensor.scale and real)


class Reader(ABC):
    """Reads one tensor; ``items`` are those of the incomplete inference, ``size`` of a whole one.

    Raises :class:`UsageError` if the regex, or a key beside it, does not fit the tensor.
    """

    noun = "number"
    kept: Elements | Labels  # of the complete inferences

    def __init__(self, name: str, given: TensorRegex, tensor: Tensor, size: int) -> None:
        self.name, self.size = name, size
        self.pattern = compile_regex(given.regex, f"the regex of {name}")
        self.real = given.is_real(tensor)
        self.items: list[PrintedValue] = []
        self._factor, self._tensor = given.factor, tensor
        _check_numbers(name, given, tensor)

    @abstractmethod
    def read(self, match: re2._Match) -> tuple[int | None, list[PrintedValue]]:
        """Position, if it is printed, and content of a match. Raises ValueError with the reason."""

    @property
    def bytes_each(self) -> int:
        """Bytes of one element in memory."""
        bits = "".join(filter(str.isdigit, self._tensor.dtype))  # "bool" has none
        return max(int(bits or 8) // 8, 1)

    @property
    def full(self) -> bool:
        """Whether all of an inference came."""
        return len(self.items) == self.size

    def keep(self) -> None:
        """Add the items of a complete inference to those of the others."""
        self.kept.add(self.items)
        self.items = []

    def drop(self) -> None:
        """Forget the incomplete inference."""
        self.items = []

    def _number(self, word: str) -> tuple[float, float]:
        """Value and unit of a printed number. Raises ValueError if it is none of the tensor."""
        value = number(word)
        if value is None:
            raise ValueError(f"{word[:40]!r} is not a number" if word else "there is no number")
        if self.real:
            return value * self._factor, last_digit(word) * abs(self._factor)
        kind = self._tensor.dtype
        low, high = _range(kind)
        if is_hex(word):
            value = float(_signed(int(word, 16), kind))
        if not (value.is_integer() and low <= value <= high):
            real = f"; {Hint.REAL_VALUES.told()}" if self._is_real(value, low, high) else ""
            raise ValueError(f"{word[:40]} is not of type {kind}{real}")
        return value, 0.0

    def _is_real(self, value: float, low: int, high: int) -> bool:
        """Whether ``value`` has a fraction, and is a real value of the tensor."""
        scale, zero = self._tensor.scale, self._tensor.zero_point
        return not value.is_integer() and (low - zero) * scale <= value <= (high - zero) * scale


class ElementReader(Reader):
    """Reads all elements of a tensor."""

    kept: Elements

    def __init__(self, name: str, given: TensorRegex, tensor: Tensor) -> None:
        super().__init__(name, given, tensor, math.prod(tensor.shape))
        self.kept = Elements(self.real)
        if not set(range(1, self.pattern.groups + 1)) - {self.pattern.groupindex.get(INDEX)}:
            raise UsageError(
                f"the regex of {name} {given.regex!r} has no group that holds a value",
                hint=r"put the number into brackets: 'score: (\S+)'",
            )
        if given.label is not None:
            raise UsageError(f"{name}: a label is of an output")
        if given.names or given.top is not None:
            raise UsageError(
                f"{name}: {'names are' if given.names else 'top is'} of a label",
                hint='label = "argmax": the name of the largest element is printed',
            )

    def read(self, match: re2._Match) -> tuple[int | None, list[PrintedValue]]:
        """Position and numbers of a match."""
        place = self.pattern.groupindex.get(INDEX)
        position, items = None, []
        for group, text in _groups(match, self.pattern.groups):
            if group == place:
                position = int(text) if text.isdecimal() and len(text) < 10 else -1
                continue
            for word in _SEPARATORS.split(text.strip(" \t,;|[](){}")):
                items.append(PrintedValue(*self._number(word)))
        return position, items


class LabelReader(Reader):
    """Reads the names of a tensor's largest elements, perhaps with their values."""

    noun = "label"
    kept: Labels

    def __init__(self, name: str, given: TensorRegex, tensor: Tensor) -> None:
        super().__init__(name, given, tensor, given.top or 1)
        _check_label(name, given, tensor)
        groups = self.pattern.groupindex
        self._scores = {groups[group] for group in groups if _SCORE.fullmatch(group)}
        names = self.pattern.groups - len(self._scores)
        if not names or INDEX in groups or len(self._scores) not in (0, names):
            raise UsageError(
                f"the regex of {name} {given.regex!r}: its groups are not names, each perhaps with "
                "its score",
                hint=r"'label: (\w+)', or with its value 'label: (\w+) (?P<score>\S+)'",
            )
        scored = bool(self._scores)
        if not scored and (given.factor != 1 or given.form is not None):
            raise UsageError(
                f"{name}: {'form' if given.factor == 1 else 'factor'} is of numbers, and the regex "
                "reads only names",
                hint=r"a group `score` has the value of the element: (?P<score>\S+)",
            )
        self.kept = Labels(given.names, self.size, self.real, scored)
        self._places = {label: place for place, label in enumerate(given.names)}

    @property
    def bytes_each(self) -> int:
        """Labels have no bytes in memory."""
        return 0

    def read(self, match: re2._Match) -> tuple[int | None, list[PrintedValue]]:
        """Names and values of a match, in the order of rank."""
        groups = list(_groups(match, self.pattern.groups))
        places = [self._place(text) for group, text in groups if group not in self._scores]
        scores = [self._number(text.strip()) for group, text in groups if group in self._scores]
        if not self._scores:
            scores = [(0.0, 0.0)] * len(places)
        if len(scores) != len(places):
            raise ValueError(f"{count_of(len(places), 'name')}, {count_of(len(scores), 'score')}")
        return None, [
            PrintedValue(*score, place) for place, score in zip(places, scores, strict=True)
        ]

    def _place(self, text: str) -> int:
        place = self._places.get(text.strip())
        if place is None:
            raise ValueError(f"{text[:40]!r} is none of the names {short(', '.join(self._places))}")
        return place


def output_reader(name: str, given: TensorRegex, tensor: Tensor) -> Reader:
    """The reader of the output that messages call ``name`` ("output 0")."""
    return (LabelReader if given.label else ElementReader)(name, given, tensor)


def _groups(match: re2._Match, count: int) -> Iterator[tuple[int, str]]:
    """The groups of a match, without those of other alternatives."""
    for group in range(1, count + 1):
        if match[group] is not None:
            yield group, match[group].decode()


def _check_numbers(name: str, given: TensorRegex, tensor: Tensor) -> None:
    """Raise :class:`UsageError` for a factor of numbers that are not real."""
    if given.factor == 1:
        return
    if not given.is_real(tensor):
        raise UsageError(f"{name}: a factor is of real numbers, and {tensor.dtype} has no scale")
    if given.form == "quantized":
        raise UsageError(
            f'{name}: factor gives real numbers, and form = "quantized" says that they are not',
            hint="leave out the form",
        )


def _check_label(name: str, given: TensorRegex, tensor: Tensor) -> None:
    """Raise :class:`UsageError` for a label that the tensor cannot have."""
    size, names = math.prod(tensor.shape), given.names
    if size < 2:
        raise UsageError(f"{name}: a label is of several elements, and {tensor.name} has {size}")
    if not names:
        raise UsageError(
            f"{name}: a label needs names", hint=f'names = ["idle", ...], one for each of {size}'
        )
    if len(names) != size:
        raise UsageError(
            f"{name}: {count_of(len(names), 'name')}, and {tensor.name} has {size} elements"
        )
    twice = _twice(names)
    if twice is not None:
        raise UsageError(f"{name}: names has {short(twice)} twice")
    if (given.label == "top") != (given.top is not None):
        raise UsageError(
            f'{name}: label = "top" and top = N go together',
            hint='label = "top", top = 3; label = "argmax" for the largest alone',
        )
    if given.top is not None and given.top > size:
        raise UsageError(f"{name}: top = {given.top}, and {tensor.name} has {size} elements")


def _twice(names: Sequence[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def _range(dtype: str) -> tuple[int, int]:
    """The least and the largest number of an integer type, as far as a double is exact."""
    if dtype == "bool":
        return 0, 1
    bits = int(dtype.lstrip("uint"))
    low, high = (0, 2**bits - 1) if dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return max(low, -_MOST_EXACT), min(high, _MOST_EXACT)


def _signed(number: int, dtype: str) -> int:
    """A hexadecimal number as one of an integer type: two's complement if that is signed.

    It has the bits of the type, or of an int: 0xAA and 0xFFFFFFAA are -86 of int8.
    """
    if dtype[0] != "i":
        return number
    bits = int(dtype.lstrip("uint"))
    half = 1 << (bits - 1)
    for span in (2 * half, 1 << _INT_BITS):
        if half <= number < span and number - span >= -half:
            return number - span
    return number
