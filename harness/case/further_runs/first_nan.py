"""Where the first NaN of a run is made, and the first infinity before it.

The FPU notes each kind of exception in FPSCR, where it stays (Armv8-M ARM, D1.2, "FPSCR"). Runs of
halved length find the instruction that does; its result must be a NaN, or an infinity.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass

from harness.case.further_runs.trials import is_short
from harness.case.prepare import Prepared
from harness.case.result import CaseResult
from harness.debug.unwind import StackFrame, Unwinder
from harness.simulator.unicorn import Reg
from harness.targets.base import Executed
from harness.targets.opening import Targets
from harness.targets.session import Session
from harness.targets.simulator import SimulatorSession

#: Bits of FPSCR: invalid operation; division by zero and overflow.
_INVALID, _INFINITE = 1, 2 | 4
_FLAGS = 0x9F
_FLOATS = 32


@dataclass(frozen=True)
class _Moment:
    """The state before an instruction, which is the ``executed``-th."""

    executed: int
    flags: int
    code: bytes
    floats: tuple[float, ...]
    frames: tuple[StackFrame, ...]


def first_nan(prepared: Prepared, result: CaseResult, targets: Targets) -> tuple[str, ...]:
    """What makes the first NaN, and the first infinity before it; () if that cannot be found."""
    case, count = prepared.case, result.measures.total_instructions
    if case.target != SimulatorSession.target or prepared.hosted:
        return ()
    if count is None or not is_short(result):
        return ()
    search = _Search(prepared, targets)
    made = search.first(_INVALID, count, math.isnan)
    if made is None:
        return ()
    text = f"nan comes of {_operation(made)} in {_place(made.frames)}"
    infinite = search.first(_INFINITE, made.executed, math.isinf)
    return (text,) if infinite is None else (text, f"inf comes of {_place(infinite.frames)}")


@dataclass(frozen=True)
class _Search:
    """Runs of one case up to some instruction."""

    prepared: Prepared
    targets: Targets

    def at(self, executed: int) -> _Moment:
        """The state before the instruction with this number."""
        image, case = self.prepared.image, self.prepared.case

        def look(session: Session) -> _Moment:
            assert isinstance(session, SimulatorSession)
            core = session.machine.core
            core.write(Reg.FPSCR, core.read(Reg.FPSCR) & ~_FLAGS)
            session.run(Executed(executed), session.deadline(case.timeout, guard=case.guard))
            words = [core.read(Reg.S0 + number) for number in range(_FLOATS)]
            floats = struct.unpack(f"<{_FLOATS}f", struct.pack(f"<{_FLOATS}I", *words))
            code = image.read(session.machine.pc, 4) or bytes(4)
            frames = Unwinder(image).walk(session.core_state)
            return _Moment(executed, core.read(Reg.FPSCR), code, floats, frames)

        return self.targets.run(case.target, image, look, case.target_options)

    def first(self, flags: int, last: int, made: Callable[[float], bool]) -> _Moment | None:
        """The first instruction that sets ``flags``, if its result is what ``made`` tells."""
        low, high = 0, last
        if not self.at(high).flags & flags:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at(middle).flags & flags else (middle, high)
        before, after = self.at(low), self.at(high)
        changed = zip(before.floats, after.floats, strict=True)
        new = any(made(now) and not made(then) for then, now in changed)
        return before if new and _operation(before) else None


def _operation(moment: _Moment) -> str:
    """The operation of an instruction for floats, with its operands; "" for another one."""
    first, second = struct.unpack("<2H", moment.code)
    kind = _kind(first, second)
    one = moment.floats[(first & 15) << 1 | second >> 7 & 1]
    other = moment.floats[(second & 15) << 1 | second >> 5 & 1]
    if kind == "sqrt":
        return f"sqrt({other:.4g})"
    return f"{one:.4g} {kind} {other:.4g}" if kind else ""


def _kind(first: int, second: int) -> str:
    """The operation of a VFP instruction in single precision (Armv8-M ARM, C2.4).

    A product that is negated, or added to another number, counts as a product.
    """
    if first & 0xFFBF == 0xEEB1 and second & 0x0FD0 == 0x0AC0:
        return "sqrt"
    if second & 0x0F10 != 0x0A00:
        return ""
    return {
        0xEE00: "*", 0xEE10: "*", 0xEE20: "*", 0xEE90: "*", 0xEEA0: "*",
        0xEE30: "-" if second & 0x40 else "+",
        0xEE80: "/",
    }.get(first & 0xFFB0, "")  # fmt: skip


def _place(frames: tuple[StackFrame, ...]) -> str:
    """The line that computes, in the file of main(); before it the library's function, if any."""
    if not frames:
        return "code without symbols"
    here = frames[0].location
    files = [one.location.file for one in frames if one.location.function == "main"]
    own = next((one.location for one in frames if one.location.file in files), here)
    return f"{here}" if own == here else f"{here.function} in {own}"
