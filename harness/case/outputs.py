"""Comparison of recorded and scraped outputs with the NumPy reference."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.base.arithmetic import Arithmetic
from harness.base.findings import Findings, Kind
from harness.base.hints import NO_HINT, Hint, HintText
from harness.case.case import NEVER, Case
from harness.case.mismatch import mismatch_of
from harness.case.printed import PrintedComparison
from harness.model import Model, Tensor
from harness.model.refusals import refusals
from harness.reference import Interpreter, alternatives, compare
from harness.reference.comparison import Alternatives, Comparison
from harness.reference.float_error import allowed_errors, allowed_in_batch
from harness.reference.patterns import INFERENCES
from harness.uart import Console, TensorKey, Tensors
from harness.uart.coverage import ConsoleCoverage, coverage_of
from harness.uart.scrapers import Check, ExpectedResults, Scraper, TestResult, reads_tests
from harness.uart.scrapers.base import REFERENCE, Listing, Mismatch, Stated, both
from harness.uart.tensors import assemble

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

#: The input tensors of each inference, as bytes.
Rows = Sequence[Sequence[bytes]]


@dataclass(frozen=True)
class OutputCheck:
    """The number of compared values and of mismatches, and the problem if there is one."""

    compared: int = 0
    mismatches: int = 0
    inferences: int = 0
    problem: str = ""  # one line; "" if there is none
    details: str = ""
    hint: HintText = NO_HINT
    pass_reason: str = ""  # reason of a pass; "" for the usual one
    tests: tuple[TestResult, ...] = ()  # of an image that runs tests
    compared_with: str = ""  # source of the expected values
    stated: Stated | None = field(default=None, compare=False)  # of tensors
    mismatch: Mismatch | None = None  # its text is the problem, or begins it
    listing: Listing | None = field(default=None, compare=False)  # of a case with expect.values
    # Inputs of the compared inferences, each (inferences, *shape).
    inputs: tuple[Array, ...] = field(default=(), compare=False)


def check_outputs(
    console: Console, case: Case, model: Model | None, known: Rows = ()
) -> OutputCheck:
    """Compare all outputs on the console with the reference or with the case's own values.

    ``known`` holds the input tensors of each inference if the host sent them or the table has
    them. They replace the inputs that the image reports.
    """
    if model is not None and not _gives_outputs(console, case) and refusals(model):
        return OutputCheck(problem=f"no outputs of {model.name} came")
    if case.reads_text:
        results = len(console.scrapers[0].results)
        return _from_scraper(check_text(console.scrapers, case, model, known), results, model)
    if case.reference == "none":
        problem = "the case has neither a reference nor expected values"
        return OutputCheck(problem=problem)
    if model is None:
        problem = "no model is given to compare the outputs with"
        hint = Hint.GIVE_MODEL.told() if _gives_outputs(console, case) else NO_HINT
        return OutputCheck(problem=problem, hint=hint)
    return _recorded(console, case, model, known)


def _gives_outputs(console: Console, case: Case) -> bool:
    if case.reads_text:
        return bool(console.scrapers[0].results)
    return bool(console.of_kind("output"))


def check_text(
    scrapers: Sequence[Scraper], case: Case, model: Model | None, known: Rows = ()
) -> Check:
    """Check what the case's scrapers have read, with the reference if the case has a model."""
    expected = _expected_results(case, model, known)
    checks = [one.check(expected) for one in scrapers[: len(case.least_of_each)]]
    return checks[0] if len(checks) == 1 else both(*checks)


def coverage_of_text(console: Console, case: Case) -> ConsoleCoverage | None:
    """Which numbers of the console were compared; None for records and for suites of tests."""
    scrapers = console.scrapers[: len(case.least_of_each)]
    if not scrapers or reads_tests(case.scraper):
        return None
    expected = _expected_results(case, None, ())  # no reference: nothing is compared again
    compared = chain.from_iterable(one.compared(expected) for one in scrapers)
    left_out = chain.from_iterable(one.left_out_by_name(expected) for one in scrapers)
    return coverage_of(console.read_lines(), compared, left_out, case.expect.ignored)


def _expected_results(case: Case, model: Model | None, known: Rows) -> ExpectedResults:
    comparison = None
    if case.reference == "numpy" and model is not None:
        interpreter = Interpreter.from_model(model, case.arithmetic)
        comparison = PrintedComparison(interpreter, case.tolerance, known, case.end != NEVER)
    return ExpectedResults(
        values=case.expect.values,
        rules=case.expect.compare,
        repeats=case.end == NEVER,
        tests=case.expect.tests,
        resets=any(kind == Kind.REBOOTED for kind, _ in case.expect.findings),
        names_end=bool(case.last_line),
        tolerance=case.tolerance,
        compare=comparison,
    )


def _from_scraper(check: Check, results: int, model: Model | None) -> OutputCheck:
    """Convert ``check``: its first problem is the problem, the others go into the details."""
    first, *others = check.problems or ("",)
    more = f" (and {len(others)} more)" if others else ""
    sources = [
        _reference_of(model) if source == REFERENCE and model is not None else source
        for source in check.compared_with
    ]
    return OutputCheck(
        check.compared,
        check.mismatches,
        results,
        f"{first}{more}",
        "\n".join([*others, *([check.details] if check.details else [])]),
        check.hint,
        check.pass_reason,
        check.tests,
        " and ".join(sources) if check.compared else "",
        check.stated,
        mismatch=check.mismatch,
        listing=check.listing,
    )


def _reference_of(model: Model) -> str:
    return f"{REFERENCE} of {model.name}"


def _recorded(console: Console, case: Case, model: Model, known: Rows) -> OutputCheck:
    """Compare the tensors of all ``output`` records, boot by boot."""
    comparisons = _Comparisons(model, case.arithmetic, case.tolerance)
    for start, stop in console.boots:
        comparisons.boot(assemble(console.records, start, stop, Findings()), known)
    return comparisons.result()


@dataclass(frozen=True)
class _Boot:
    """All inferences of one boot: equal if model, arithmetic and inputs are."""

    model_data: bytes = field(repr=False)
    arithmetic: Arithmetic
    inputs_sha256: bytes
    model: Model = field(compare=False)
    inputs: Sequence[Array] = field(compare=False, repr=False)


@lru_cache(maxsize=2)
def _expected(boot: _Boot) -> list[Array]:
    """The reference's outputs: computed once for the configurations and targets of a model."""
    outputs = Interpreter.from_model(boot.model, boot.arithmetic).invoke_batch(boot.inputs)
    for output in outputs:
        output.setflags(write=False)
    return outputs


@lru_cache(maxsize=4)
def _allowed(boot: _Boot, output: int, differing: bytes) -> Array:
    """The allowed errors of one output, for the inferences that differ (a byte each)."""
    interpreter = Interpreter.from_model(boot.model, boot.arithmetic)
    runs = np.frombuffer(differing, np.bool_)
    allowed = allowed_in_batch(interpreter, boot.inputs, output, runs)
    allowed.setflags(write=False)
    return allowed


class _Comparisons:
    """The comparisons of all boots of one image."""

    def __init__(self, model: Model, arithmetic: Arithmetic, tolerance: float | None) -> None:
        self._model = model
        self._arithmetic = arithmetic
        self._tolerance = tolerance
        self._compared = self._mismatches = self._inferences = 0
        self._incomplete: list[int] = []  # inferences whose outputs cannot be compared
        self._reports: list[str] = []
        self._differing: list[tuple[str, Comparison]] = []  # outputs of the model
        self._inputs: list[Sequence[Array]] = []  # of each boot's compared inferences
        self._stated: Stated | None = None  # of the only boot

    @cached_property
    def _interpreter(self) -> Interpreter:
        return Interpreter.from_model(self._model, self._arithmetic)

    def boot(self, tensors: Tensors, known: Rows) -> None:
        """Compare the outputs of one boot; ``known`` are the inputs of the host."""
        indices = range(len(self._model.outputs))
        seen = sorted({n for index in indices for n in tensors.inferences("output", index)})
        rows = {number: self._inputs_of(tensors, known, number) for number in seen}
        complete = [number for number in seen if rows[number] and self._has_all(tensors, number)]
        self._incomplete += sorted(set(seen) - set(complete))
        if not complete:
            return
        self._inferences += len(complete)
        inputs = [
            _stack([rows[number][index] for number in complete], tensor)
            for index, tensor in enumerate(self._model.inputs)
        ]
        self._inputs.append(inputs)
        boot = self._of_boot(inputs)
        expected = _expected(boot)
        outputs = []
        for index, tensor in enumerate(self._model.outputs):
            # An empty tensor has no record.
            parts = [tensors.get(TensorKey("output", number, index), b"") for number in complete]
            got, want = _stack(parts, tensor), expected[index]
            outputs.append(got)
            others: Alternatives = {}
            allowed: float | Array | None = self._tolerance
            differing = np.array([row.any() for row in got != want])
            if differing.any():
                others = alternatives(self._interpreter, inputs, index, batch=True)
                if allowed is None:
                    allowed = _allowed(boot, index, differing.tobytes())
            comparison = compare(got, want, tolerance=allowed, alternatives=others, rows=INFERENCES)
            self._count(comparison, tensor.name)
            if not comparison.equal:
                self._differing.append((tensor.name, comparison))
        whole = len(self._inputs) == 1 and complete == list(range(len(complete)))
        self._stated = Stated(tuple(inputs), tuple(outputs)) if whole else None
        self._layers(tensors, rows)

    def _of_boot(self, inputs: Sequence[Array]) -> _Boot:
        digest = hashlib.sha256()
        for array in inputs:
            digest.update(repr(array.shape).encode())
            digest.update(array.tobytes())
        model, arithmetic = self._model, self._arithmetic
        return _Boot(model.data, arithmetic, digest.digest(), model, inputs)

    def _layers(self, tensors: Tensors, rows: Mapping[int, Sequence[bytes]]) -> None:
        """Compare dumped outputs of operators, inference by inference.

        The check of records reports a layer that the model does not have.
        """
        places = tensors.places("layer")
        if not places:
            return
        model = self._model
        self._interpreter.restart()
        for number, row in rows.items():
            if not row:
                return
            self._interpreter.invoke(
                [_array(data, source) for data, source in zip(row, model.inputs, strict=True)]
            )
            errors = allowed_errors(self._interpreter) if self._tolerance is None else {}
            for index, node in places:
                data = tensors.get(TensorKey("layer", number, index, node))
                outputs = model.operators[node].outputs if node < len(model.operators) else ()
                tensor = model.tensors[outputs[index]] if index < len(outputs) else None
                if data is None or tensor is None or len(data) != _nbytes(tensor):
                    continue
                name = f"layer {node} ({model.operators[node].name}) of inference {number}"
                want = self._interpreter.tensors[tensor.index]
                allowed = errors.get(tensor.index, self._tolerance)
                self._count(compare(_array(data, tensor), want, tolerance=allowed), name)

    def _inputs_of(self, tensors: Tensors, known: Rows, number: int) -> Sequence[bytes]:
        """The inputs of inference ``number``, from the host if it has any, or recorded.

        () if they do not fit the model.
        """
        model = self._model
        if known:
            row: Sequence[bytes] = known[number] if number < len(known) else ()
        else:
            keys = [TensorKey("input", number, index) for index in range(len(model.inputs))]
            row = [tensors.get(key, b"") for key in keys]
        sizes = [len(data) for data in row]
        return row if sizes == [_nbytes(tensor) for tensor in model.inputs] else ()

    def _has_all(self, tensors: Tensors, number: int) -> bool:
        """Whether every output of inference ``number`` was recorded, with the right size."""
        return all(
            len(tensors.get(TensorKey("output", number, index), b"")) == _nbytes(tensor)
            for index, tensor in enumerate(self._model.outputs)
        )

    def _count(self, comparison: Comparison, name: str) -> None:
        self._compared += comparison.total
        self._mismatches += comparison.mismatches
        if not comparison.equal:
            self._reports.append(f"{name} [inference, element ...]: {comparison}")

    def result(self) -> OutputCheck:
        """The sum of all boots."""
        problems, mismatch = [], None
        if self._mismatches:
            differing = f"{self._mismatches} of {self._compared} output values differ"
            mismatch = mismatch_of(differing, self._differing)
            problems.append(str(mismatch))
        if self._incomplete:
            first, count = self._incomplete[0], len(self._incomplete)
            problems.append(
                f"{count} inferences (the first: {first}) gave outputs that cannot be compared: "
                "their inputs, or some of their outputs, are not known"
            )
        if not self._inferences and not self._incomplete:
            problems.append("no inference gave all of its inputs and outputs")
        return OutputCheck(
            self._compared, self._mismatches, self._inferences, "; ".join(problems),
            "\n".join(self._reports),
            compared_with=_reference_of(self._model) if self._compared else "",
            inputs=tuple(map(np.concatenate, zip(*self._inputs, strict=True))),
            stated=self._stated, mismatch=mismatch,
        )  # fmt: skip


def _nbytes(tensor: Tensor) -> int:
    return math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize


def _array(data: bytes, tensor: Tensor) -> Array:
    """A tensor as an array of its shape."""
    little_endian = np.dtype(tensor.dtype).newbyteorder("<")
    return np.frombuffer(data, little_endian).reshape(tensor.shape)


def _stack(parts: Sequence[bytes], tensor: Tensor) -> Array:
    """One tensor of several inferences, with a leading batch axis."""
    return np.stack([_array(part, tensor) for part in parts])
