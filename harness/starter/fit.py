r"""A search for the printed numbers that are the tensors of a model.

The *template* of a line is its text without its numbers. A *candidate* for a tensor is as many
consecutive numbers on lines of one template as the tensor has elements, or one number on each of as
many lines, perhaps beside its index. Every candidate for the inputs is combined with every
candidate for the outputs, as quantized and as real numbers; the combination whose outputs are those
that the model computes from its inputs is the result.
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
from harness.uart.scrapers import Check, ExpectedResults, PrintedTensors, TensorRegex, TensorText

_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\*2\^-?\d+)?"
_IN_TEXT = re.compile(rf"(?<![\w.]){_NUMBER}(?![\w.*])", re.ASCII)
_INTEGER = re.compile(r"-?\d+", re.ASCII)
#: In generated regexes: any number, and the text between the numbers of a row.
_ANY = r"-?\d[-+.\de*^]*"
_SEPARATOR = r"[\s,;|]+"
#: So many numbers in a row, or more, are one group of the regex.
_MANY = 5
#: So many equal values are not a coincidence.
_SURE = 4
#: Limits of the search.
_MOST_LINES, _MOST_TEMPLATES, _MOST_COMBINATIONS, _MOST_TRIES = 2000, 30, 100_000, 400


@dataclass(frozen=True)
class Fit:
    """Regexes that read the model's tensors, and the comparison of the values with the model."""

    printed: PrintedTensors
    inferences: int
    compared: int
    mismatches: int
    problem: str = ""  # the first problem of the check, "" if it passes


def find_fit(lines: Sequence[Line], model: Model) -> Fit | None:
    """Regexes for the tensors of ``model`` in ``lines``; None if no numbers fit.

    More than half of the values must be right, so images with some wrong results also have a fit,
    with a ``problem``. The result is the first fit without a problem in enough values, else the
    best one.
    """
    lines = [line for line in lines[:_MOST_LINES] if line.text.isprintable()]
    templates = _templates(lines)
    try:
        interpreter = Interpreter.from_model(model)
    except HilError:
        return None  # the reference cannot run it
    candidates = [list(_candidates(templates, each)) for each in (*model.outputs, *model.inputs)]
    consistent = filter(_consistent, islice(product(*candidates), _MOST_COMBINATIONS))
    found: list[Fit] = []
    for combination in islice(consistent, _MOST_TRIES):
        regexes = tuple(candidate.regex for candidate in combination)
        split = len(model.outputs)
        printed = PrintedTensors(regexes[:split], regexes[split:])
        fit = _fit(printed, lines, model, interpreter)
        if fit is None:
            continue
        if not fit.problem and fit.compared >= _SURE:
            return fit
        found.append(fit)
    return max(found, key=_rank, default=None)


def _consistent(candidates: Sequence[_Candidate]) -> bool:
    """True if candidates do not overlap, and their numbers of inferences differ by at most one."""
    counts = [candidate.inferences for candidate in candidates]
    taken = {(id(candidate.template), at) for candidate in candidates for at in candidate.columns}
    disjoint = len(taken) == sum(len(candidate.columns) for candidate in candidates)
    return disjoint and min(counts) > 0 and max(counts) - min(counts) <= 1


def _rank(fit: Fit) -> tuple[float, int, int]:
    """The sort key of fits: share of right values, number of values, shortness of the regexes."""
    share = 1 - fit.mismatches / fit.compared
    length = sum(len(one.regex) for one in (*fit.printed.inputs, *fit.printed.outputs))
    return share, fit.compared, -length


def _fit(
    printed: PrintedTensors, lines: Sequence[Line], model: Model, interpreter: Interpreter
) -> Fit | None:
    """The fit of these regexes; None unless more than half of the values are right."""
    scraper = TensorText(printed, model)
    for line in lines:
        scraper.feed(line)
    if scraper.findings or not scraper.results:
        return None
    compare = PrintedComparison(interpreter, ends=False)
    compared, mismatches = compare.counts(scraper.readings)
    if mismatches * 2 >= compared:
        return None
    check: Check = scraper.check(ExpectedResults(repeats=True, compare=compare))
    problem = check.problems[0] if check.problems else ""
    return Fit(printed, len(scraper.results), check.compared, check.mismatches, problem)


@dataclass(frozen=True)
class _Template:
    """Lines that differ in their numbers only: the texts between numbers, the numbers by line."""

    texts: tuple[str, ...]
    rows: list[list[str]]

    @property
    def count(self) -> int:
        """The number of numbers on each line."""
        return len(self.texts) - 1

    def starts(self, size: int) -> Iterator[int]:
        """The columns at which ``size`` consecutive numbers may begin.

        If a line has many numbers, they must begin or end at the edge of a row of numbers; rows are
        separated by words.
        """
        ends = [at for at in range(1, self.count) if re.search(r"[^\s,;|]", self.texts[at])]
        edges = {0, self.count, *ends}
        for start in range(self.count - size + 1):
            if self.count <= _MANY or edges & {start, start + size}:
                yield start

    def column(self, at: int) -> list[str]:
        """Number ``at`` of each line."""
        return [row[at] for row in self.rows]


def _templates(lines: Sequence[Line]) -> list[_Template]:
    """The templates of all lines with numbers, the most frequent ones first."""
    rows: dict[tuple[str, ...], list[list[str]]] = {}
    for line in lines:
        numbers = _IN_TEXT.findall(line.text)
        if numbers:
            rows.setdefault(tuple(_IN_TEXT.split(line.text)), []).append(numbers)
    by_count = sorted(rows.items(), key=lambda item: -len(item[1]))
    return [_Template(*item) for item in by_count[:_MOST_TEMPLATES]]


@dataclass(frozen=True)
class _Candidate:
    """Numbers that may be a tensor: columns of the lines of a template."""

    regex: TensorRegex
    inferences: int
    template: _Template
    columns: range


def _candidates(templates: Sequence[_Template], tensor: Tensor) -> Iterator[_Candidate]:
    """The candidates for a tensor."""
    size = math.prod(tensor.shape)
    for template in templates:
        lines = len(template.rows)
        for start in template.starts(size):
            values = [value for row in template.rows for value in row[start : start + size]]
            for regex in _as_tensor(_regex(template, start, size), values, tensor):
                yield _Candidate(regex, lines, template, range(start, start + size))
        if size > 1:
            for regex in _line_by_line(template, tensor, size):
                yield _Candidate(regex, lines // size, template, range(template.count))


def _line_by_line(template: _Template, tensor: Tensor, size: int) -> Iterator[TensorRegex]:
    """Regexes for one element on each line: a number beside its index, or the only number."""
    positions = [str(row % size) for row in range(len(template.rows))]
    indexes = [at for at in range(template.count) if template.column(at) == positions]
    index = indexes[0] if indexes else None
    for at in range(template.count):
        if at != index and (index is not None or template.count == 1):
            yield from _as_tensor(_regex(template, at, 1, index), template.column(at), tensor)


def _as_tensor(regex: str, values: Sequence[str], tensor: Tensor) -> Iterator[TensorRegex]:
    """The regex for the forms of numbers, quantized or real, that ``values`` can have."""
    if any(number(value) is None for value in values):
        return
    whole = all(_INTEGER.fullmatch(value) for value in values)
    if tensor.dtype.startswith("float") or whole:
        yield TensorRegex(regex)
    if tensor.scale:
        yield TensorRegex(regex, "real")


def _regex(template: _Template, start: int, size: int, index: int | None = None) -> str:
    """A regex for whole lines of a template, with groups for ``size`` numbers from ``start`` on.

    Many numbers in a row are one group. ``index`` is the column of the group "index".
    """
    numbers = [_number_regex(template.column(at)) for at in range(template.count)]
    between = set("".join(template.texts[start + 1 : start + size]))
    row = size >= _MANY and between <= set(" ,;|\t")
    parts = [f"^{_escaped(template.texts[0])}"]
    for at, (one, text) in enumerate(zip(numbers, template.texts[1:], strict=True)):
        inside = start <= at < start + size
        if row and inside:
            rest = f"(?:{_SEPARATOR}{_ANY})*"
            parts.append(f"({_ANY}{rest})" if at == start else "")
            parts.append("" if at < start + size - 1 else _escaped(text))
            continue
        name = "?P<index>" if at == index else ""
        parts += [f"({name}{one})" if inside or name else one, _escaped(text)]
    return "".join([*parts, "$"])


def _number_regex(values: Sequence[str]) -> str:
    """A short regex for the numbers of one column."""
    return r"-?\d+" if all(_INTEGER.fullmatch(value) for value in values) else _ANY


def _escaped(text: str) -> str:
    """``text`` as a regex, with readable spaces."""
    return re.escape(text).replace("\\ ", " ")
