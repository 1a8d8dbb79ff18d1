"""The interpreter's own functions as the target saw them called: statuses, and the pace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.base.findings import Finding, Kind
from harness.base.text import count_of
from harness.elf import Image
from harness.elf.interpreter import ALLOCATE, INVOKE
from harness.model import Model
from harness.targets.calls import Call
from harness.targets.session import Session

#: Each returns a TfLiteStatus; what it means if that is not kTfLiteOk (0).
_FAILED = {ALLOCATE: Kind.ALLOCATION_FAILED, INVOKE: Kind.INVOKE_FAILED}
_SHOWN = {ALLOCATE: "AllocateTensors()", INVOKE: "Invoke()"}
#: Operators that a message names.
_NAMED = 3


@dataclass(frozen=True)
class Invocations:
    """Calls of ``Invoke()``: how many ``returned`` and in which mean time, in seconds.

    ``running`` is the time since the call that has not returned; None if there is none, or on a
    target that does not tell. ``last`` is when the last call returned, on the target's clock, and
    ``refused`` the finding of a status that is an error.
    """

    returned: int = 0
    seconds: float = 0.0
    running: float | None = None
    last: float | None = None
    refused: Finding | None = None

    def go_on(self, now: float) -> bool:
        """Whether a call has returned in the second half of the time until ``now``."""
        return self.last is not None and self.last >= now / 2

    @property
    def pace(self) -> str:
        """What the calls show: ``115 calls of Invoke() returned, 0.087 s each``."""
        if self.returned:
            calls = f"{count_of(self.returned, 'call')} of Invoke() returned"
            return f"{calls}, {self.seconds:.3g} s each"
        return f"Invoke() has been running for {self.running:.3g} s" if self.running else ""


NO_INVOCATIONS = Invocations()


def invocations_of(session: Session, functions: Mapping[int, str], image: Image) -> Invocations:
    """What the calls of ``functions`` (address -> linker name) show so far."""
    hertz = image.chip.cpu_hz
    calls = [(functions[call.address], call) for call in session.calls]
    invoked = [call for name, call in calls if name == INVOKE]
    taken = [call.taken for call in invoked if call.taken is not None]
    open_since = [call.begun for call in invoked if call.ended is None]
    ends = [call.ended for call in invoked if call.ended is not None]
    now = session.counters.virtual_seconds
    running = None if now is None or not open_since else max(now - open_since[-1], 0.0)
    last = ends[-1] if ends else None
    mean = sum(taken) / len(taken) / hertz if taken else 0.0
    return Invocations(len(taken), mean, running, last, _refused(calls, image))


def _refused(calls: list[tuple[str, Call]], image: Image) -> Finding | None:
    """The first status that is an error: of the last allocation, or of any inference.

    Firmware may try a smaller arena first.
    """
    last = max((at for at, (name, _) in enumerate(calls) if name == ALLOCATE), default=0)
    for name, call in calls[last:]:
        if name in _FAILED and call.result:
            caller = image.locate(call.caller - 2)
            text = f"{_SHOWN[name]} returned {call.result}, not kTfLiteOk, in {caller}"
            return Finding(_FAILED[name], text, time=call.ended)
    return None


def completed(refused: Finding, image: Image, model: Model | None) -> Finding:
    """``refused`` with the operators that the model needs and the image does not even link."""
    registrations = {one.operator for one in image.registrations}
    if model is None or not registrations:
        return refused
    missing = [
        name
        for name in model.operator_names
        if name not in registrations and name not in model.custom_operator_names
    ]
    if not missing:
        return refused
    names = ", ".join(missing[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    text = f"{names}{more}, which the model needs, is not linked: {refused.message}"
    return replace(refused, message=text)
