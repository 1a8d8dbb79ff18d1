r"""Which printed numbers are the tensors of a model: found by trying.

A *place* is where the elements of one tensor may stand: that many numbers in a row on lines of one
form, or one number on each of that many lines, with its index before it. Every place of the inputs
is tried with every place of the outputs, as quantized and as real numbers: the model itself says
which belong together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from harness.base.errors import HilError
from harness.case.printed import PrintedComparison
from harness.model import Model, Tensor
from harness.reference import Interpreter
from harness.uart.lines import Line, number
from harness.uart.scrapers import Check, Expected, PrintedTensors, TensorRegex, TensorText

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\*2\^-?\d+)?"
_IN_TEXT = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w.*])", re.ASCII)
_INTEGER = re.compile(r"-?\d+", re.ASCII)
#: In the regexes that are written: any number, and what stands between those of a row.
_ANY = r"-?\d[-+.\de*^]*"
_SEPARATOR = r"[\s,;|]+"
#: Numbers in a row that get one group for all.
_MANY = 5
#: Values that do not fit by chance.
_SURE = 4
#: Lines, forms and combinations that are looked at.
_MOST_LINES, _MOST_FORMS, _MOST_PAIRS, _MOST_TRIES = 2000, 30, 100_000, 400


@dataclass(frozen=True)
class Fit:
    """Regexes that read the model's tensors, and how many of the values are the model's."""

    printed: PrintedTensors
    inferences: int
    compared: int
    mismatches: int
    problem: str = ""  # the first one, "" if all is right


def find_fit(lines: Sequence[Line], model: Model) -> Fit | None:
    """The place of each tensor of ``model`` in ``lines``; None if no numbers fit.

    Most values must be right: an image with a wrong result among right ones is found, and its
    fit says so. The first fit is taken in which all of many values are right, else the best one.
    """
    lines = [line for line in lines[:_MOST_LINES] if line.text.isprintable()]
    forms = _forms(lines)
    try:
        interpreter = Interpreter.from_model(model)
    except HilError:
        return None  # the reference cannot run it
    inputs, outputs = (
        [list(_places(forms, tensor)) for tensor in tensors]
        for tensors in (model.inputs, model.outputs)
    )
    pairs = product(product(*outputs), product(*inputs))
    likely = (pair for pair in islice(pairs, _MOST_PAIRS) if _together([*pair[0], *pair[1]]))
    fits = (
        _tried(_printed(*pair),
               lines, model, interpreter)
        for pair in islice(likely, _MOST_TRIES)
    )  # fmt: skip
    found: list[Fit] = []
    for fit in filter(None, fits):
        if not fit.problem and fit.compared >= _SURE:
            return fit
        found.append(fit)
    return max(found, key=_merit, default=None)


def _printed(outputs: Sequence[_Place], inputs: Sequence[_Place]) -> PrintedTensors:
    return PrintedTensors(tuple(one.regex for one in outputs), tuple(one.regex for one in inputs))


def _together(places: Sequence[_Place]) -> bool:
    """Whether the places are apart, and each is there as often as the others, give or take one."""
    counts = [place.inferences for place in places]
    taken = {(id(place.form), at) for place in places for at in place.numbers}
    apart = len(taken) == sum(len(place.numbers) for place in places)
    return apart and min(counts) > 0 and max(counts) - min(counts) <= 1


def _merit(fit: Fit) -> tuple[float, int, int]:
    """The share of right values, then how many there are; then the shorter regexes."""
    share = 1 - fit.mismatches / fit.compared
    length = sum(len(one.regex) for one in (*fit.printed.inputs, *fit.printed.outputs))
    return share, fit.compared, -length


def _tried(
    printed: PrintedTensors, lines: Sequence[Line], model: Model, interpreter: Interpreter
) -> Fit | None:
    """How well the regexes fit; None if they do not, judged by the first inferences."""
    scraper = TensorText(printed, model)
    for line in lines:
        scraper.feed(line)
    if scraper.findings or not scraper.results:
        return None
    compare = PrintedComparison(interpreter, ends=False)
    compared, mismatches = compare.counts(scraper.readings)
    if mismatches * 2 >= compared:
        return None
    check: Check = scraper.check(Expected(repeats=True, compare=compare))
    problem = check.problems[0] if check.problems else ""
    return Fit(printed, len(scraper.results), check.compared, check.mismatches, problem)


@dataclass(frozen=True)
class _Form:
    """Lines that differ in their numbers only: the texts between these, and the numbers."""

    texts: tuple[str, ...]
    rows: list[list[str]]

    @property
    def count(self) -> int:
        """The numbers on each line."""
        return len(self.texts) - 1

    def starts(self, size: int) -> Iterator[int]:
        """Where ``size`` numbers in a row may begin.

        On a line with many numbers that is where a row begins, or so that they end with one. Rows
        are divided by words.
        """
        ends = [at for at in range(1, self.count) if re.search(r"[^\s,;|]", self.texts[at])]
        edges = {0, self.count, *ends}
        for start in range(self.count - size + 1):
            if self.count <= _MANY or edges & {start, start + size}:
                yield start

    def column(self, at: int) -> list[str]:
        """One number of each line."""
        return [row[at] for row in self.rows]


def _forms(lines: Sequence[Line]) -> list[_Form]:
    """The forms of all lines with numbers, those with the most lines first."""
    forms: dict[tuple[str, ...], list[list[str]]] = {}
    for line in lines:
        numbers = _IN_TEXT.findall(line.text)
        if numbers:
            forms.setdefault(tuple(_IN_TEXT.split(line.text)), []).append(numbers)
    by_count = sorted(forms.items(), key=lambda item: -len(item[1]))
    return [_Form(*item) for item in by_count[:_MOST_FORMS]]


@dataclass(frozen=True)
class _Place:
    """Where a tensor may stand, and how often its form is there."""

    regex: TensorRegex
    inferences: int
    form: _Form
    numbers: range  # of each line


def _places(forms: Sequence[_Form], tensor: Tensor) -> Iterator[_Place]:
    """Where a tensor may stand in the text."""
    size = math.prod(tensor.shape)
    for form in forms:
        for start in form.starts(size):
            values = [value for row in form.rows for value in row[start : start + size]]
            for regex in _as_tensor(_regex(form, start, size), values, tensor):
                yield _Place(regex, len(form.rows), form, range(start, start + size))
        if size > 1:
            for regex in _line_by_line(form, tensor, size):
                yield _Place(regex, len(form.rows) // size, form, range(form.count))


def _line_by_line(form: _Form, tensor: Tensor, size: int) -> Iterator[TensorRegex]:
    """One element on each line: a number beside its index, or the only one."""
    positions = [str(row % size) for row in range(len(form.rows))]
    indexes = [at for at in range(form.count) if form.column(at) == positions]
    index = indexes[0] if indexes else None
    for at in range(form.count):
        if at != index and (index is not None or form.count == 1):
            yield from _as_tensor(_regex(form, at, 1, index), form.column(at), tensor)


def _as_tensor(regex: str, values: Sequence[str], tensor: Tensor) -> Iterator[TensorRegex]:
    """The regex for quantized and for real numbers, as far as the values can be such."""
    if any(number(value) is None for value in values):
        return
    whole = all(_INTEGER.fullmatch(value) for value in values)
    if tensor.dtype.startswith("float") or whole:
        yield TensorRegex(regex)
    if tensor.scale:
        yield TensorRegex(regex, "real")


def _regex(form: _Form, start: int, size: int, index: int | None = None) -> str:
    """A regex for whole lines of a form, with groups for ``size`` numbers from ``start`` on.

    Many numbers in a row become one group.
    """
    numbers = [_one(form.column(at)) for at in range(form.count)]
    between = set("".join(form.texts[start + 1 : start + size]))
    row = size >= _MANY and between <= set(" ,;|\t")
    parts = [f"^{_escaped(form.texts[0])}"]
    for at, (one, text) in enumerate(zip(numbers, form.texts[1:], strict=True)):
        inside = start <= at < start + size
        if row and inside:
            rest = f"(?:{_SEPARATOR}{_ANY})*"
            parts.append(f"({_ANY}{rest})" if at == start else "")
            parts.append("" if at < start + size - 1 else _escaped(text))
            continue
        name = "?P<index>" if at == index else ""
        parts += [f"({name}{one})" if inside or name else one, _escaped(text)]
    return "".join([*parts, "$"])


def _one(values: Sequence[str]) -> str:
    """A short regex for the numbers of one column."""
    return r"-?\d+" if all(_INTEGER.fullmatch(value) for value in values) else _ANY


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\ ", " ")
