"""Every inference: numbered in turn, with its inputs, its outputs, a status and its ticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from harness.base.findings import Finding, Kind
from harness.case.evidence.known import Known, Measured, tensor_bytes
from harness.case.evidence.ledger import Ledger
from harness.model import Tensor
from harness.uart.tensors import TensorKey

#: Ticks around a call that a measurement of it may include, and an imprecise counter may lose.
_SLACK = 64

Places = npt.NDArray[np.int64]


def check_inferences(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Inferences 0 to N-1 must come once each, with all of their tensors and nothing else."""
    _numbers(ledger)
    _own_numbers(ledger)
    _status(ledger)
    _ticks(ledger, measured)
    _tensors_of(ledger, known)
    _inputs_are_the_hosts(ledger, known)
    if whole:
        _count(ledger, known)


def good_inferences(ledger: Ledger) -> list[int]:
    """The inferences that ended with status 0."""
    indices, status = (ledger.numbers("inference", name) for name in ("index", "status"))
    return [index for index, code in zip(indices, status, strict=True) if code == 0]


def _numbers(ledger: Ledger) -> None:
    """Parts of tensors and profiles must name the inference in which they come."""
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


def _own_numbers(ledger: Ledger) -> None:
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
    """Each inference takes some ticks; all together take no more than the harness counted."""
    ticks = ledger.numbers("inference", "ticks")
    for number, count in enumerate(ticks):
        if not count:
            line = ledger.line("inference", number)
            message = f"inference {number} took 0 ticks"
            ledger.findings.add(Finding(Kind.ZERO_TICKS, message, "inference", line))
    _invoked(ledger, measured.invoked)
    if measured.ticks is not None and sum(ticks) > measured.ticks:
        message = f"the inferences took {sum(ticks):,} ticks, the whole run {measured.ticks:,}"
        ledger.contradicts(message, "inference")
    elif measured.hertz is not None:
        _in_time(ledger, ticks, measured.hertz)


def _in_time(ledger: Ledger, ticks: Sequence[int], hertz: int) -> None:
    """No record says more ticks, with those before it, than had passed when it came."""
    total = 0
    for number, count in enumerate(ticks):
        total += count
        passed = round(ledger.time("inference", number) * hertz)
        if total > passed + _SLACK:
            message = f"inference {number} says {count:,} ticks: {total:,} with those before,"
            message = f"{message} and {passed:,} had passed"
            ledger.contradicts(message, "inference", ledger.line("inference", number))
            return


def _invoked(ledger: Ledger, counted: Sequence[int] | None) -> None:
    """The ticks of each inference are those of one call of Invoke(), in order."""
    if not counted:
        return
    ticks = ledger.numbers("inference", "ticks")
    each = len(counted) == len(ledger.records.positions("inference"))
    at = ledger.rows("inference").start if each else 0
    for number, claimed in enumerate(ticks):
        if not each:  # some calls, to warm up, have no record
            later = (one for one in range(at, len(counted)) if ticks_fit(claimed, counted[one]))
            at = next(later, at)
        own = counted[at] if at < len(counted) else None
        if own is not None and not ticks_fit(claimed, own):
            message = f"inference {number} says {claimed:,} ticks, its Invoke() took {own:,}"
            ledger.contradicts(message, "inference", ledger.line("inference", number))
        at += 1


def ticks_fit(claimed: int, counted: int) -> bool:
    """True if Invoke() of ``counted`` ticks may be measured from outside as ``claimed``."""
    slack = _SLACK + counted // 1000
    return -slack <= claimed - counted <= 4 * slack


def _tensors_of(ledger: Ledger, known: Known) -> None:
    """Every tensor of the model must come once in every good inference, and no other tensor."""
    if known.model is None:
        return
    good = good_inferences(ledger)
    needed = {"output": good, "input": [] if known.fed else good}
    for kind, tensors in (("input", known.model.inputs), ("output", known.model.outputs)):
        for index, tensor in enumerate(tensors):
            have = ledger.tensors.inferences(kind, index)
            _complete(ledger, kind, index, have, needed[kind])
            _sizes(ledger, kind, index, tensor)
        for index, _ in ledger.tensors.places(kind):
            if index >= len(tensors):
                message = f"{kind} {index} came, the model has {len(tensors)} {kind}s"
                ledger.unexpected(message, kind)


def _complete(
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
    wanted = tensor_bytes(tensor)
    parts = zip(ledger.numbers(kind, "index"), ledger.numbers(kind, "total"), strict=True)
    for number, (part_of, total) in enumerate(parts):
        if part_of == index and total != wanted:
            message = f"{kind} {index} has {total} bytes, the model's {wanted}"
            ledger.contradicts(message, kind, ledger.line(kind, number))


def _inputs_are_the_hosts(ledger: Ledger, known: Known) -> None:
    """The inputs that the image claims to have read must be those that the host knows."""
    if known.inputs is None:
        return
    for inference, index, data in _claimed_inputs(ledger):
        row = known.inputs[inference] if inference < len(known.inputs) else ()
        if index < len(row) and data != row[index]:
            message = f"input {index} of inference {inference} is not the one that"
            message = f"{message} {'was sent' if known.fed else 'the sample has'}"
            ledger.contradicts(message, "input")


def _claimed_inputs(ledger: Ledger) -> Iterator[tuple[int, int, bytes]]:
    for index, _ in ledger.tensors.places("input"):
        for inference in ledger.tensors.inferences("input", index):
            yield inference, index, ledger.tensors[TensorKey("input", inference, index)]


def _count(ledger: Ledger, known: Known) -> None:
    """As many inferences as were asked for must come, unless the image says that it failed."""
    came = len(ledger.numbers("inference", "index"))
    wanted = known.inferences
    if wanted is None or came == wanted:
        return
    if came > wanted:
        ledger.unexpected(f"{came} inferences came, {wanted} were asked for", "inference")
    elif not ledger.has("failed"):
        ledger.missing(f"{came} of {wanted} inferences came", "inference")
