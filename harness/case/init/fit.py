r"""A search for the printed numbers that are the tensors of a model.

A *candidate* for a tensor is as many consecutive values on lines of one shape as the tensor has
elements, or one value on each of as many lines, perhaps beside its index. Clocks, counters,
addresses and sizes are no values. Every candidate for the inputs is combined with every candidate
for the outputs, as quantized and as real numbers; the combination whose outputs are those that the
model computes from its inputs is the result. Numbers that never change prove nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from harness.base.errors import HilError
from harness.case.init.shapes import MANY, Holds, Shape
from harness.case.printed import PrintedComparison
from harness.model import Model, Tensor
from harness.reference import Interpreter
from harness.uart.lines import Line, number
from harness.uart.scrapers import Check, ExpectedResults, PrintedTensors, TensorRegex, TensorText
from harness.uart.scrapers.readings import Elements

_INTEGER = re.compile(r"[-+]?\d+|0[xX][0-9a-fA-F]+", re.ASCII)
#: What may be a tensor: inputs may count from line to line.
_NUMBERS = (Holds.VALUE, Holds.COUNTER)
#: So many differing outputs that are right are no coincidence.
_SURE = 4
#: Limits of the search.
_MOST_LINES, _MOST_SHAPES, _MOST_COMBINATIONS, _MOST_TRIES = 2000, 30, 100_000, 400


@dataclass(frozen=True)
class Fit:
    """Regexes that read the model's tensors, and the comparison of the values with the model.

    ``outputs`` and ``inputs`` are the columns that the regexes read, by index of the shape.
    """

    printed: PrintedTensors
    inferences: int
    compared: int
    mismatches: int
    problem: str  # the first problem of the check, "" if it passes
    wrong: tuple[str, ...]  # which values are wrong
    outputs: frozenset[tuple[int, int]]
    inputs: frozenset[tuple[int, int]]

    @property
    def rank(self) -> tuple[bool, float, int, int]:
        """The sort key of fits: no problem, share of right values, their number, short regexes."""
        share = 1 - self.mismatches / self.compared
        length = sum(len(one.regex) for one in (*self.printed.inputs, *self.printed.outputs))
        return not self.problem, share, self.compared, -length


def find_fit(
    shapes: Sequence[Shape], lines: Sequence[Line], model: Model, *, over: bool
) -> Fit | None:
    """Regexes for the tensors of ``model`` in ``lines``; None if no numbers fit.

    More than half of the values must be right, so images with some wrong results also have a fit,
    with a ``problem``. ``over``: the image prints no more.
    """
    try:
        interpreter = Interpreter.from_model(model)
    except HilError:
        return None  # the reference cannot run it
    used = sorted(enumerate(shapes), key=lambda one: -len(one[1].rows))[:_MOST_SHAPES]
    candidates = [list(_candidates(used, each)) for each in (*model.outputs, *model.inputs)]
    consistent = filter(_consistent, islice(product(*candidates), _MOST_COMBINATIONS))
    found = [
        fit
        for combination in islice(consistent, _MOST_TRIES)
        if (fit := _fit(combination, lines[:_MOST_LINES], model, interpreter, over=over))
    ]
    return max(found, key=lambda one: one.rank, default=None)


def _consistent(candidates: Sequence[_Candidate]) -> bool:
    """True if candidates do not overlap, and their numbers of inferences differ by at most one."""
    counts = [candidate.inferences for candidate in candidates]
    taken = [column for candidate in candidates for column in candidate.columns]
    return len(set(taken)) == len(taken) and min(counts) > 0 and max(counts) - min(counts) <= 1


def _fit(
    candidates: Sequence[_Candidate],
    lines: Sequence[Line],
    model: Model,
    interpreter: Interpreter,
    *,
    over: bool,
) -> Fit | None:
    """The fit of these candidates; None unless most values are right, and some of them differ."""
    split = len(model.outputs)
    regexes = tuple(one.regex for one in candidates)
    printed = PrintedTensors(regexes[:split], regexes[split:])
    scraper = TensorText(printed, model)
    for line in lines:
        scraper.feed(line)
    if scraper.findings or not scraper.results:
        return None
    read = [one for one in scraper.readings.outputs if isinstance(one, Elements)]
    outputs = [value for one in read for value in one.values]
    size = sum(math.prod(tensor.shape) for tensor in model.outputs)
    differing = len({tuple(outputs[at : at + size]) for at in range(0, len(outputs), size)})
    if differing < 2 and len(set(outputs)) < _SURE:
        return None
    compare = PrintedComparison(interpreter, ends=False)
    compared, mismatches = compare.counts(scraper.readings)
    if mismatches * 2 >= compared:
        return None
    check: Check = scraper.check(ExpectedResults(repeats=not over, compare=compare))
    return Fit(
        printed,
        len(scraper.results),
        check.compared,
        check.mismatches,
        check.problems[0] if check.problems else "",
        tuple(check.details.splitlines()) if check.mismatches else (),
        *(
            frozenset(column for one in tensors for column in one.columns)
            for tensors in (candidates[:split], candidates[split:])
        ),
    )


@dataclass(frozen=True)
class _Candidate:
    """Numbers that may be a tensor: columns of a shape, by its index."""

    regex: TensorRegex
    inferences: int
    columns: tuple[tuple[int, int], ...]


def _candidates(shapes: Sequence[tuple[int, Shape]], tensor: Tensor) -> Iterator[_Candidate]:
    size = math.prod(tensor.shape)
    for index, shape in shapes:
        for start in _starts(shape, size):
            columns = range(start, start + size)
            if size == 1 and _are_positions(shape.column(start)):
                continue
            values = [row.tokens[at].text for row in shape.rows for at in columns]
            taken = tuple((index, at) for at in columns)
            for regex in _as_tensor(_regex(shape, start, size), values, tensor):
                yield _Candidate(regex, len(shape.rows), taken)
        if size > 1:
            yield from _row_by_row(index, shape, tensor, size)
            yield from _line_by_line(index, shape, tensor, size)


def _are_positions(column: Sequence[str]) -> bool:
    """Whether numbers count from 0 or 1 on, again and again: the index of an element."""
    if not all(text.isdecimal() for text in column):
        return False
    values = [int(text) for text in column]
    first, count = values[0], max(values) + 1 - values[0]
    return (
        first in (0, 1)
        and 1 < count < len(values)
        and values == [first + at % count for at in range(len(values))]
    )


def _starts(shape: Shape, size: int) -> Iterator[int]:
    """The columns at which ``size`` consecutive values may begin.

    Of many values they begin or end where words, or other columns, separate rows of numbers.
    """
    values = [one in _NUMBERS for one in shape.holds]
    for start in range(len(values) - size + 1):
        if not all(values[start : start + size]):
            continue
        edges = (_is_edge(shape, start), _is_edge(shape, start + size))
        if sum(values) <= MANY or any(edges):
            yield start


def _is_edge(shape: Shape, at: int) -> bool:
    """Whether a row of numbers begins at column ``at``."""
    if at in (0, len(shape.holds)) or shape.holds[at] is not shape.holds[at - 1]:
        return True
    return bool(re.search(r"[^\s,;|]", shape.rows[0].tokens[at].before))


def _row_by_row(index: int, shape: Shape, tensor: Tensor, size: int) -> Iterator[_Candidate]:
    """A row of elements on each line, all of its values."""
    columns = [at for at, one in enumerate(shape.holds) if one in _NUMBERS]
    count = len(columns)
    if not 1 < count < size or size % count or columns[-1] - columns[0] != count - 1:
        return
    values = [row.tokens[at].text for row in shape.rows for at in columns]
    taken = tuple((index, at) for at in columns)
    for regex in _as_tensor(_regex(shape, columns[0], count), values, tensor):
        yield _Candidate(regex, len(shape.rows) * count // size, taken)


def _line_by_line(index: int, shape: Shape, tensor: Tensor, size: int) -> Iterator[_Candidate]:
    """One element on each line: a number beside its index, or the only value."""
    positions = [str(row % size) for row in range(len(shape.rows))]
    places = [at for at in range(len(shape.holds)) if shape.column(at) == positions]
    place = places[0] if places else None
    values = [at for at, one in enumerate(shape.holds) if one in _NUMBERS and at != place]
    for at in values:
        if place is None and len(values) > 1:
            continue
        groups = {at: ""} if place is None else {at: "", place: "index"}
        for regex in _as_tensor(shape.regex(groups), shape.column(at), tensor):
            yield _Candidate(regex, len(shape.rows) // size, ((index, at),))


def _as_tensor(regex: str, values: Sequence[str], tensor: Tensor) -> Iterator[TensorRegex]:
    """The regex for the forms of numbers, quantized or real, that ``values`` can have."""
    if any(number(value) is None for value in values):
        return
    whole = all(_INTEGER.fullmatch(value) for value in values)
    if tensor.dtype.startswith("float") or whole:
        yield TensorRegex(regex)
    if tensor.scale:
        yield TensorRegex(regex, "real")
    if "%" in regex and (tensor.scale or tensor.dtype.startswith("float")):
        yield TensorRegex(regex, factor=0.01)


def _regex(shape: Shape, start: int, size: int) -> str:
    """A regex with a group for each value; many in a row, with blanks between, are one group."""
    between = {row.tokens[at].before for row in shape.rows for at in range(start + 1, start + size)}
    if size < MANY or not all(re.fullmatch(r"[\s,;|]+", text) for text in between):
        return shape.regex(dict.fromkeys(range(start, start + size), ""))
    whole = shape.regex({start: "", start + size - 1: ""})
    return _ROW.sub(r"(\\S.*)", whole, count=1) if _ROW.search(whole) else whole


_ROW = re.compile(r"\([^()]*\).*\([^()]*\)")
