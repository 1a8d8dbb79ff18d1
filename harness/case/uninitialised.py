"""Whether the outcome of a failed run depends on RAM that was never written, and on which word.

The run is repeated with other contents of RAM at power-on. If its outcome is another one, the word
is searched: runs whose RAM has the other contents up to an address, halved until one word is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.base.power_on import DEFAULT_SEED, ZERO, name_of, pattern, seed_of
from harness.case.case import Case
from harness.case.judge import judged
from harness.case.observe import observe
from harness.case.power_on import OPTION, runs_of
from harness.case.prepare import Prepared
from harness.case.result import CaseResult, Verdict
from harness.elf import Image
from harness.elf.demangle import short_name
from harness.elf.main_stack import main_stack
from harness.targets.base import Stop
from harness.targets.opening import Targets
from harness.targets.registry import target
from harness.targets.session import Session

#: Instructions of a run up to which the word is searched, with some 16 more runs.
_MOST_INSTRUCTIONS = 20_000_000
#: Seconds of the target's clock after the end of a run that searches.
_OBSERVED = 0.01
_FAILED = (Verdict.FAIL, Verdict.FIRMWARE)


@dataclass(frozen=True)
class Uninitialised:
    """What a run reads before it is written.

    ``passes`` says that the case passes with other contents of RAM; "" if it does not. ``values``:
    the values that differ are other ones then.
    """

    text: str
    passes: str
    values: bool


def uninitialised(
    prepared: Prepared, result: CaseResult, stop: Stop, targets: Targets
) -> Uninitialised | None:
    """What the failed run with ``result`` reads before it is written; None if nothing shows it."""
    case = prepared.case
    option = target(case.target).option(OPTION)
    if option is None or result.verdict not in _FAILED or stop is Stop.GUARD:
        return None
    if len(runs_of(case)) > 1:  # the finding tells it
        return None
    seed = seed_of(str(case.target_options.get(OPTION, option.default)))
    trials = _Trials(prepared, targets, seed, DEFAULT_SEED if seed == ZERO else ZERO)
    other = trials.run(trials.other)
    if _outcome(other) == _outcome(result):
        return None
    what = "RAM that was never written"
    if _instructions(other if other.passed else result) < _MOST_INSTRUCTIONS:
        what = trials.shortened().deciding() or what
    contents = "zeros" if trials.other == ZERO else "other contents"
    note = f"the case passes with {contents} in RAM at power-on" if other.passed else ""
    values = result.mismatch is not None and result.mismatch != other.mismatch
    return Uninitialised(f"the outcome depends on {what}", note, values)


def _instructions(result: CaseResult) -> int:
    return result.measures.total_instructions or _MOST_INSTRUCTIONS


def _outcome(result: CaseResult) -> tuple[Verdict, str]:
    return result.verdict, result.reason


@dataclass(frozen=True)
class _Trials:
    """Runs with the contents of RAM of two seeds."""

    prepared: Prepared
    targets: Targets
    seed: int
    other: int

    def run(self, seed: int, change: Callable[[Session], None] | None = None) -> CaseResult:
        """The result of a run with RAM of ``seed``, after ``change`` of the session."""
        prepared, case = self.prepared, self.prepared.case
        options = {**case.target_options, OPTION: name_of(seed)}

        def attempt(session: Session) -> CaseResult:
            if change is not None:
                change(session)
            return judged(prepared, observe(session, case, prepared.inputs, None, prepared.image))

        return self.targets.run(case.target, prepared.image, attempt, options)

    def shortened(self) -> _Trials:
        """Trials that end soon after one that passes does: one that hangs takes far longer."""
        case = replace(self.prepared.case, observe_after=_OBSERVED)
        soon = self._of(case)
        passed = soon.run(soon.other)
        seconds = passed.measures.virtual_seconds
        if not passed.passed or seconds is None:
            return self
        return self._of(replace(case, timeout=min(case.timeout, 2 * seconds)))

    def _of(self, case: Case) -> _Trials:
        return replace(self, prepared=replace(self.prepared, case=case))

    def deciding(self) -> str:
        """The word of RAM that changes the outcome, with the object that has it; "" for none."""
        ram = self.prepared.image.chip.area("ram")
        outcome = _outcome(self.run(self.seed))

        def same(words: int) -> bool:
            """Whether the outcome stays with the other contents in the first ``words``."""
            change = self._changed(ram.origin, 4 * words)
            return _outcome(self.run(self.seed, change)) == outcome

        low, high = 0, ram.size // 4  # the outcome stays with the first, and not with the second
        if same(high):
            return "a register that was never written"
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if same(middle) else (low, middle)
        where = _name_of(self.prepared.image, ram.origin + 4 * low)
        return f"RAM that was never written: {where}"

    def _changed(self, begin: int, size: int) -> Callable[[Session], None]:
        """Writes the other contents to ``size`` bytes from ``begin``, but for what was loaded."""
        content = bytearray(pattern(self.other, begin, size) if size else b"")

        def change(session: Session) -> None:
            for segment in self.prepared.image.loaded:
                first, last = segment.load_address - begin, segment.load_address - begin
                last += len(segment.data)
                if first < size and last > 0:
                    first, last = max(first, 0), min(last, size)
                    content[first:last] = session.memory.read(begin + first, last - first)
            if size:
                session.memory.write(begin, bytes(content))

        return change


def _name_of(image: Image, address: int) -> str:
    """The variable at ``address``, or where it is."""
    for symbol in image.symbols:
        if symbol.kind == "object" and symbol.address <= address < symbol.address + symbol.size:
            return short_name(symbol.name)
    stack = main_stack(image)
    if stack is not None and stack.begin <= address < stack.top:
        return f"a local variable at 0x{address:08x}"
    return f"0x{address:08x}"
