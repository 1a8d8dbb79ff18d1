"""Checks of inferences: their order, inputs, outputs, status and ticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from harness.base.findings import Finding, Kind
from harness.case.evidence.known import Known, Measured, tensor_bytes
from harness.case.evidence.ledger import Ledger
from harness.model import Tensor
from harness.uart.tensors import TensorKey

#: Ticks by which a measured call may be too long (reading the counter twice) or too short (a
#: counter that is not exact).
_SLACK = 64

Places = npt.NDArray[np.int64]


def check_inferences(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Check that inferences 0 to N-1 come once each, with all of their tensors and no other."""
    _references(ledger)
    _indices(ledger)
    _status(ledger)
    _ticks(ledger, measured)
    _tensors_of(ledger, known)
    _inputs(ledger, known)
    if whole:
        _count(ledger, known)


def good_inferences(ledger: Ledger) -> list[int]:
    """The indices of the inferences that ended with status 0."""
    indices, status = (ledger.numbers("inference", name) for name in ("index", "status"))
    return [index for index, code in zip(indices, status, strict=True) if code == 0]


def _references(ledger: Ledger) -> None:
    """Check that parts of tensors and profiles name the inference during which they were sent."""
    ends: Places = np.array(ledger.places("inference"), np.int64)
    for kind, behind in (("input", 0), ("output", 0), ("op", 1), ("layer", 0)):
        places: Places = np.array(ledger.places(kind), np.int64)
        claimed: Places = np.array(ledger.numbers(kind, "inference"), np.int64)
        running = np.searchsorted(ends, places) - behind
        wrong = claimed != running
        if kind == "layer":
            wrong &= claimed != running - 1  # a dump may come before the inference record or after
        for number in np.flatnonzero(wrong):
            message = f"{kind} says inference {claimed[number]} and stands in {running[number]}"
            ledger.contradicts(message, kind, ledger.line(kind, int(number)))


def _indices(ledger: Ledger) -> None:
    for number, index in enumerate(ledger.numbers("inference", "index")):
        if index != number:
            message = f"inference {number} is called {index}"
            ledger.contradicts(message, "inference", ledger.line("inference", number))


def _status(ledger: Ledger) -> None:
    for number, status in enumerate(ledger.numbers("inference", "status")):
        if status:
            message = f"inference {number} ended with status {status}"
            line = ledger.line("inference", number)
            ledger.findings.add(Finding(Kind.INFERENCE_FAILED, message, "inference", line))


def _ticks(ledger: Ledger, measured: Measured) -> None:
    """Check that each inference takes ticks, and all together no more than the harness counted."""
    ticks = ledger.numbers("inference", "ticks")
    for number, count in enumerate(ticks):
        if not count:
            line = ledger.line("inference", number)
            message = f"inference {number} took 0 ticks"
            ledger.findings.add(Finding(Kind.ZERO_TICKS, message, "inference", line))
    _invoke_ticks(ledger, measured.invoked)
    if measured.ticks is not None and sum(ticks) > measured.ticks:
        message = f"the inferences took {sum(ticks):,} ticks, the whole run {measured.ticks:,}"
        ledger.contradicts(message, "inference")
    elif measured.hertz is not None:
        _ticks_in_time(ledger, ticks, measured.hertz)


def _ticks_in_time(ledger: Ledger, ticks: Sequence[int], hertz: int) -> None:
    """Check that the ticks up to each record fit into the time at which it was received."""
    total = 0
    for number, count in enumerate(ticks):
        total += count
        passed = round(ledger.time("inference", number) * hertz)
        if total > passed + _SLACK:
            message = f"inference {number} says {count:,} ticks: {total:,} with those before,"
            message = f"{message} and {passed:,} had passed"
            ledger.contradicts(message, "inference", ledger.line("inference", number))
            return


def _invoke_ticks(ledger: Ledger, counted: Sequence[int] | None) -> None:
    """Check the ticks of each inference against those counted for its call of Invoke()."""
    if not counted:
        return
    ticks = ledger.numbers("inference", "ticks")
    each = len(counted) == len(ledger.records.positions("inference"))
    at = ledger.rows("inference").start if each else 0
    for number, claimed in enumerate(ticks):
        if not each:  # some calls have no record: warm-up
            later = (one for one in range(at, len(counted)) if ticks_fit(claimed, counted[one]))
            at = next(later, at)
        own = counted[at] if at < len(counted) else None
        if own is not None and not ticks_fit(claimed, own):
            message = f"inference {number} says {claimed:,} ticks, its Invoke() took {own:,}"
            ledger.contradicts(message, "inference", ledger.line("inference", number))
        at += 1


def ticks_fit(claimed: int, counted: int) -> bool:
    """Whether an Invoke() of ``counted`` ticks may be measured by its caller as ``claimed``."""
    slack = _SLACK + counted // 1000
    return -slack <= claimed - counted <= 4 * slack


def _tensors_of(ledger: Ledger, known: Known) -> None:
    """Check that every good inference has each of the model's tensors once, and no other."""
    if known.model is None:
        return
    good = good_inferences(ledger)
    needed = {"output": good, "input": [] if known.fed else good}
    for kind, tensors in (("input", known.model.inputs), ("output", known.model.outputs)):
        for index, tensor in enumerate(tensors):
            have = ledger.tensors.inferences(kind, index)
            _completeness(ledger, kind, index, have, needed[kind])
            _sizes(ledger, kind, index, tensor)
        for index, _ in ledger.tensors.places(kind):
            if index >= len(tensors):
                message = f"{kind} {index} came, the model has {len(tensors)} {kind}s"
                ledger.unexpected(message, kind)


def _completeness(
    ledger: Ledger, kind: str, index: int, have: Sequence[int], good: Sequence[int]
) -> None:
    for inference in sorted(set(good) - set(have)):
        ledger.missing(f"inference {inference} has no {kind} {index}", kind)
    if kind != "output":
        return
    for inference in sorted(set(have) - set(ledger.numbers("inference", "index"))):
        message = f"output {index} of inference {inference}, which has no inference record"
        ledger.unexpected(message, kind)


def _sizes(ledger: Ledger, kind: str, index: int, tensor: Tensor) -> None:
    expected = tensor_bytes(tensor)
    parts = zip(ledger.numbers(kind, "index"), ledger.numbers(kind, "total"), strict=True)
    for number, (part_of, total) in enumerate(parts):
        if part_of == index and total != expected:
            message = f"{kind} {index} has {total} bytes, the model's {expected}"
            ledger.contradicts(message, kind, ledger.line(kind, number))


def _inputs(ledger: Ledger, known: Known) -> None:
    """Check the inputs that the image reports against those that the host knows."""
    if known.inputs is None:
        return
    for inference, index, data in _reported_inputs(ledger):
        row = known.inputs[inference] if inference < len(known.inputs) else ()
        if index < len(row) and data != row[index]:
            message = f"input {index} of inference {inference} is not the one that"
            message = f"{message} {'was sent' if known.fed else 'the sample has'}"
            ledger.contradicts(message, "input")


def _reported_inputs(ledger: Ledger) -> Iterator[tuple[int, int, bytes]]:
    for index, _ in ledger.tensors.places("input"):
        for inference in ledger.tensors.inferences("input", index):
            yield inference, index, ledger.tensors[TensorKey("input", inference, index)]


def _count(ledger: Ledger, known: Known) -> None:
    """Check the number of inferences; an image that reports a failure may have fewer."""
    count = len(ledger.numbers("inference", "index"))
    expected = known.inferences
    if expected is None or count == expected:
        return
    if count > expected:
        ledger.unexpected(f"{count} inferences came, {expected} were asked for", "inference")
    elif not ledger.has("failed"):
        ledger.missing(f"{count} of {expected} inferences came", "inference")
