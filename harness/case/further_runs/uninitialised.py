"""Whether the outcome of a failed run depends on RAM that was never written, and on which word.

The run is repeated with other contents of RAM at power-on. If its outcome is another one, the word
is searched: runs whose RAM has the other contents up to an address, halved until one word is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.base.findings import Kind
from harness.base.power_on import DEFAULT_SEED, ZERO, name_of, pattern, seed_of
from harness.case.further_runs.trials import Change, Trials, is_short
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
    other = DEFAULT_SEED if seed == ZERO else ZERO
    trials = Trials(prepared, targets)
    changed = trials.run(options={OPTION: name_of(other)})
    # A fault of the run itself has been explained, which the others are not.
    same = trials.run() if any(one.kind is Kind.FAULT for one in result.findings) else result
    if _outcome(changed) == _outcome(same):
        return None
    what = "RAM that was never written"
    if is_short(changed if changed.passed else result):
        ends = other if changed.passed else seed
        brief = trials.brief({OPTION: name_of(ends)})
        what = _deciding(brief, other) or what
    contents = "zeros" if other == ZERO else "other contents"
    note = f"the case passes with {contents} in RAM at power-on" if changed.passed else ""
    values = result.mismatch is not None and result.mismatch != changed.mismatch
    return Uninitialised(f"the outcome depends on {what}", note, values)


def _outcome(result: CaseResult) -> tuple[Verdict, str]:
    return result.verdict, result.reason


def _deciding(trials: Trials, other: int) -> str:
    """The word of RAM whose contents of seed ``other`` change the outcome, with its object."""
    image = trials.prepared.image
    ram = image.chip.area("ram")
    outcome = _outcome(trials.run())

    def same(words: int) -> bool:
        """Whether the outcome stays with the other contents in the first ``words``."""
        return _outcome(trials.run(_contents(image, other, ram.origin, 4 * words))) == outcome

    low, high = 0, ram.size // 4  # the outcome stays with the first, and not with the second
    if same(high):
        return "a register that was never written"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if same(middle) else (low, middle)
    return f"RAM that was never written: {_name_of(trials, ram.origin + 4 * low)}"


def _contents(image: Image, seed: int, begin: int, size: int) -> Change:
    """Writes the contents of ``seed`` to ``size`` bytes from ``begin``, but for what is loaded."""

    def change(session: Session) -> None:
        content = bytearray(pattern(seed, begin, size) if size else b"")
        for segment in image.loaded:
            first = max(segment.load_address - begin, 0)
            last = min(segment.load_address - begin + len(segment.data), size)
            if first < last:
                content[first:last] = session.memory.read(begin + first, last - first)
        if size:
            session.memory.write(begin, bytes(content))

    return change


def _name_of(trials: Trials, address: int) -> str:
    """The variable at ``address``, or what it is and which function reads it first."""
    image = trials.prepared.image
    if (symbol := image.object_at(address)) is not None:
        return short_name(symbol.name)
    stack = main_stack(image)
    local = stack is not None and stack.begin <= address < stack.top
    what = "a local variable" if local else f"0x{address:08x}"
    reader = _reader(trials, address)
    return f"{what}, read in {reader}" if reader else what


def _reader(trials: Trials, address: int) -> str:
    """The function that reads the word at ``address`` first; "" on a target that cannot tell."""
    from harness.targets.simulator import SimulatorSession  # noqa: PLC0415 - few runs need it

    places: list[int] = []

    def watch(session: Session) -> None:
        if isinstance(session, SimulatorSession):
            machine = session.machine
            machine.engine.watch(address, 4, lambda: places.append(machine.pc), True, False)

    trials.run(watch)
    return short_name(trials.prepared.image.locate(places[0]).function) if places else ""
