"""The tensors of a model, read from an image's plain text with one regex for each tensor.

An inference is complete once every tensor has all its elements. A number too early, too late or
repeated makes its inference incomplete, which the check reports: a lost line must not shift the
values of one inference into the next.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import re2

from harness.base.errors import UsageError
from harness.base.text import count_of
from harness.model import Model, Tensor
from harness.uart.lines import Line
from harness.uart.scrapers.base import (
    Check,
    ExpectedResults,
    Scraped,
    Scraper,
    Span,
    first_rows,
)
from harness.uart.scrapers.pattern import in_characters
from harness.uart.scrapers.readings import Readings
from harness.uart.scrapers.tensor_readers import ElementReader, Reader, TensorRegex, output_reader

#: Most numbers of one console that are kept, and about how many of their places.
_MOST_NUMBERS, _MOST_SPANS = 10_000_000, 200_000


@dataclass(frozen=True)
class PrintedTensors:
    """The regexes of a model's inputs and outputs. Without inputs, the case has them in a file.

    ``most`` is the largest number of inferences, 0 for no limit; it does not apply to an image that
    never ends.
    """

    outputs: tuple[TensorRegex, ...]
    inputs: tuple[TensorRegex, ...] = ()
    most: int = 0


@dataclass(frozen=True)
class _Broken:
    """An inference that did not come whole; ``too_many``: ``numbers`` came for ``reader``."""

    line: Line
    why: str
    reader: Reader | None = None
    numbers: int = 0
    too_many: bool = False

    def __str__(self) -> str:
        return f"line {self.line.number} {self.line.text[:80]!r}: {self.why}"

    @property
    def is_bytes(self) -> bool:
        """Whether as many numbers came as the tensor has bytes."""
        reader = self.reader
        return reader is not None and self.numbers == reader.size * reader.bytes_each

    @classmethod
    def of_surplus(cls, line: Line, reader: Reader, numbers: int) -> _Broken:
        why = f"{count_of(numbers, reader.noun)} for {reader.name}, which has {reader.size}"
        return cls(line, why, reader, numbers, too_many=True)

    @classmethod
    def of_more(cls, line: Line, reader: Reader, numbers: int, before: str) -> _Broken:
        """Numbers behind a complete tensor. A whole one may be that of an inference cut short."""
        if numbers == 2 * reader.size:
            return cls(line, before, reader, numbers)
        return cls.of_surplus(line, reader, numbers)


class TensorText(Scraper):
    """Reads the inputs and outputs of each inference, for the comparison with the model."""

    def __init__(self, printed: PrintedTensors, model: Model) -> None:
        super().__init__()
        self._most = printed.most
        inputs = _named("input", printed.inputs, model.inputs) if printed.inputs else ()
        outputs = _named("output", printed.outputs, model.outputs)
        self._inputs = [ElementReader(*each) for each in inputs]
        self._outputs = [output_reader(*each) for each in outputs]
        self._readers: list[Reader] = [*self._inputs, *self._outputs]
        self._numbers = 0
        self._partial: Line | None = None  # the last line of an inference that is not complete
        self._first: Reader | None = None  # the tensor with which each inference begins
        self._ended: Reader | None = None  # the tensor that has just completed an inference
        self._broken: list[_Broken] = []
        self._lines = array("Q")
        self._open: list[Span] = []  # what the incomplete inference has read
        self._read: list[Span] = []  # what the complete ones have read

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = line.text.encode()
        matches = [
            (match.start(), place, match)
            for place, reader in enumerate(self._readers)
            for match in reader.pattern.finditer(text)
        ]
        for _, place, match in sorted(matches, key=lambda found: found[:2]):
            self._take(self._readers[place], match, line)

    def _take(self, reader: Reader, match: re2._Match, line: Line) -> None:
        try:
            position, items = reader.read(match)
        except ValueError as error:
            self._unparsed(line, f"{reader.name}: {error}")
            return
        if len(items) > reader.size:
            self._abandon(_Broken.of_surplus(line, reader, len(items)))
            return
        have = len(reader.items)
        self._first = self._first or reader
        if self._partial is None and reader is not self._first:
            self._before_first(reader, len(items), line)
            return
        if have + len(items) > reader.size or (position == 0 and have):
            why = f"{reader.name} came again before {self._missing()} was complete"
            self._abandon(_Broken(line, why))
            if reader is not self._first:
                return
        elif position is not None and position != have:
            why = f"element {position} of {reader.name} came, {have} is the next"
            self._abandon(_Broken(line, why))
            return
        reader.items += items
        self._open += (
            (line.number, *in_characters(line.text, match.span(group)))
            for group in range(1, reader.pattern.groups + 1)
            if match[group] is not None
        )
        self._partial = line
        self._ended = None
        if all(each.full for each in self._readers):
            self._complete(line, reader)

    def _before_first(self, reader: Reader, numbers: int, line: Line) -> None:
        """Note numbers of a tensor with which no inference begins."""
        assert self._first is not None
        last = self._broken[-1] if self._broken else None
        before = f"{reader.name} came before {self._first.name}"
        if self._ended is reader:  # the numbers follow a complete inference
            self._abandon(_Broken.of_more(line, reader, reader.size + numbers, before))
        elif self._ended is None and last is not None and last.reader is reader:
            more = last.numbers + numbers
            self._broken[-1] = _Broken.of_more(last.line, reader, more, before)
        else:
            self._abandon(_Broken(line, before))

    def _complete(self, line: Line, last: Reader) -> None:
        self._partial, self._ended = None, last
        self._numbers += sum(reader.size for reader in self._readers)
        if self._numbers > _MOST_NUMBERS:
            self.left_out += 1
            for reader in self._readers:
                reader.drop()
            return
        self.keep(Scraped({}, line.number, line.text))
        self._lines.append(line.number)
        if len(self._read) < _MOST_SPANS:
            self._read += self._open
        self._open = []
        for reader in self._readers:
            reader.keep()

    def _missing(self) -> str:
        """The name of the first tensor that is not complete."""
        return next(reader.name for reader in self._readers if not reader.full)

    def _abandon(self, broken: _Broken) -> None:
        """Drop the incomplete inference and keep the reason."""
        self._broken.append(broken)
        self._open = []
        self._partial = self._ended = None
        for reader in self._readers:
            reader.drop()

    def compared(self, expected: ExpectedResults) -> Sequence[Span]:
        """The numbers of all complete inferences; from the inputs follow the outputs."""
        return self._read

    @property
    def readings(self) -> Readings:
        """All complete inferences."""
        inputs = [reader.kept for reader in self._inputs]
        outputs = [reader.kept for reader in self._outputs]
        return Readings(inputs, outputs, self._lines)

    def _check(self, expected: ExpectedResults) -> Check:
        """Compare with the model. The last inference of an image that never ends may be partial."""
        broken = list(self._broken)
        if self._partial is not None and not expected.repeats:
            end = self._partial
            broken.append(_Broken(end, f"no more of {self._missing()} came"))
        if not self.results and not broken:
            names = ", ".join(reader.name for reader in self._readers)
            return Check(problems=(f"no line matches the regexes of {names}",))
        assert expected.compare is not None  # a case that reads tensors has a model
        check = expected.compare(self.readings) if self.results else Check()
        came = len(self.results)
        if 0 < self._most < came and not expected.repeats:
            extra = f"{count_of(came, 'inference')} came, {self._most} are expected"
            check = replace(check, problems=(*check.problems, extra))
        if not broken:
            return check
        _, rows = first_rows(map(str, broken))
        problem = _problem_of(broken)
        details = "\n".join([*rows, *([check.details] if check.details else [])])
        return Check(
            check.compared, check.mismatches, (problem, *check.problems), details, check.hint,
            compared_with=check.compared_with, stated=check.stated, mismatch=check.mismatch,
        )  # fmt: skip


def _problem_of(broken: Sequence[_Broken]) -> str:
    """What is wrong with inferences that did not come as they should, in one line."""
    count, first = count_of(len(broken), "inference"), broken[0]
    if first.reader is None or not first.too_many or len({one.why for one in broken}) > 1:
        return f"{count} came incomplete or out of order: line {first.line.number}: {first.why}"
    size = first.reader.bytes_each
    as_bytes = f": its bytes, not its elements ({size} B each)" if first.is_bytes else ""
    return f"{count} came with {first.why}{as_bytes}"


def _named(
    role: str, regexes: Sequence[TensorRegex], tensors: Sequence[Tensor]
) -> Iterator[tuple[str, TensorRegex, Tensor]]:
    """Name, regex and tensor of all inputs or outputs."""
    if len(regexes) != len(tensors):
        raise UsageError(
            f"{role}s: the model has {count_of(len(tensors), role)}, given: {len(regexes)}",
            hint=f"one regex for each, in order: {', '.join(tensor.name for tensor in tensors)}",
        )
    for index, (regex, tensor) in enumerate(zip(regexes, tensors, strict=True)):
        yield f"{role} {index}", regex, tensor
