"""The smallest tensor arena with which an image allocates, found by running it.

The image boots once, to the call that passes its arena to tflite-micro. Each probe continues from a
snapshot there with another size argument (AAPCS32, section 6.4: four words in r0 to r3, the others
on the stack), and succeeds if ``AllocateTensors`` returns success. ``arena_used_bytes()`` is
smaller than this figure: allocation needs temporary memory, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from harness.base.errors import FirmwareFailed
from harness.base.findings import Finding, Kind
from harness.base.hints import NO_HINT, Hint, HintText, for_findings
from harness.elf import Image
from harness.elf.demangle import demangle, qualified
from harness.elf.functions import not_shown
from harness.elf.models import embedded_models
from harness.model.refusals import refusals
from harness.model.structures import WORD
from harness.simulator.snapshot import restore, take
from harness.targets.base import ConsoleMatch, Elapsed, Stop
from harness.uart import records
from harness.uart.lines import LineSplitter
from harness.uart.messages import messages_in

if TYPE_CHECKING:
    from harness.targets.simulator import SimulatorSession

ALIGNMENT = 16  # bytes to which tflite-micro aligns an arena's start and end
_IN_REGISTERS = 4  # arguments in r0 to r3
#: Virtual seconds within which the image must print its arena record.
_RECORD_SECONDS = 2.0
#: The time limit of a probe: the duration of the first one times the factor, plus the seconds.
_LIMIT_FACTOR, _LIMIT_SECONDS = 10, 0.5
#: Most probes; bisection of a 32-bit size takes at most 33.
_MOST_PROBES = 40
_ALLOCATE = "tflite::MicroInterpreter::AllocateTensors"
#: Functions that take an arena, outermost first, with the number of their hidden arguments (this).
_TAKERS = {
    "tflite::MicroInterpreter::MicroInterpreter": 1,
    "tflite::RecordingMicroInterpreter::RecordingMicroInterpreter": 1,
    "tflite::RecordingMicroAllocator::Create": 0,
    "tflite::MicroAllocator::Create": 0,
    "tflite::SingleArenaBufferAllocator::SingleArenaBufferAllocator": 1,
    "tflite::SimpleMemoryAllocator::Create": 0,
    "tflite::SimpleMemoryAllocator::SimpleMemoryAllocator": 1,
}


@dataclass(frozen=True)
class Site:
    """A function that takes an arena; ``index`` is the index of the size among its arguments."""

    symbol: str
    address: int
    index: int


@dataclass(frozen=True)
class Probe:
    """One run with an arena of ``bytes``; ``reason`` explains a failed allocation."""

    bytes: int
    allocated: bool
    reason: str = ""


@dataclass(frozen=True)
class ArenaMinimum:
    """The result of :func:`minimum`; ``used`` is ``arena_used_bytes()``, None if not printed."""

    declared: int
    minimum: int
    used: int | None
    site: str
    probes: tuple[Probe, ...]
    instructions: int

    @property
    def aligned(self) -> int:
        """The smallest multiple of 16 that is enough, for the source code."""
        return -(-self.minimum // ALIGNMENT) * ALIGNMENT

    @property
    def margin(self) -> int:
        """Declared bytes that are not needed."""
        return self.declared - self.minimum

    def to_json(self) -> dict[str, Any]:
        """The document of ``arena --json``."""
        return {**asdict(self), "aligned": self.aligned, "margin": self.margin}


Open = Callable[[Image], "SimulatorSession"]


def sites(image: Image) -> tuple[Site, ...]:
    """Functions of the image that take an arena and its size, outermost first."""
    by_address: dict[int, Site] = {}
    for function, hidden in _TAKERS.items():
        for symbol in image.symbols:
            if symbol.kind != "func" or qualified(symbol.name) != function:
                continue
            index = _size_argument(demangle(symbol.name))
            if index is not None:
                by_address.setdefault(
                    symbol.address, Site(symbol.name, symbol.address, hidden + index)
                )
    return tuple(by_address.values())


def _size_argument(signature: str) -> int | None:
    """The index of the size after an ``unsigned char*`` argument, None if there is none."""
    arguments = signature.partition("(")[2].rpartition(")")[0].split(", ")
    for index, (first, second) in enumerate(pairwise(arguments)):
        if first == "unsigned char*" and second in ("unsigned int", "unsigned long"):
            return index + 1
    return None


def minimum(
    image: Image, open_session: Open, *, seconds: float = 30.0, guard: float = 60.0
) -> ArenaMinimum:
    """The smallest arena to the byte, by bisection.

    ``seconds`` (virtual) and ``guard`` (wall) limit one probe. Raises :class:`UsageError` for an
    image whose symbols do not show where it passes its arena, and :class:`FirmwareFailed` for one
    that does not allocate with its declared arena.
    """
    hooks = _hooks_of(image)
    with open_session(image) as session:
        prober = _Prober(session, hooks, seconds, guard)
        declared, used = prober.declared()
        if not prober.probes[0].allocated:
            raise _never_allocates(image, prober, declared)
        low, high = 0, declared  # fails with low, allocates with high
        while high - low > 1 and len(prober.probes) < _MOST_PROBES:
            size = (low + high) // 2
            low, high = (low, size) if prober.allocates(size) else (size, high)
        return ArenaMinimum(declared, high, used, qualified(prober.site.symbol),
                            tuple(prober.probes), prober.instructions)  # fmt: skip


def _never_allocates(image: Image, prober: _Prober, declared: int) -> FirmwareFailed:
    """Why an image does not allocate with its own arena."""
    reason = prober.probes[0].reason
    for model in embedded_models(image):
        for refusal in refusals(model):
            return FirmwareFailed(
                f"{image.path.name} allocates with no arena: {refusal.message}: {reason}",
                hint=Hint.CONVERT_MODEL.told(remedy=refusal.remedy),
            )
    message = f"{image.path.name} does not allocate with its own arena of {declared:,} B: {reason}"
    return FirmwareFailed(message, hint=_remedy(prober.cause, image))


def _remedy(cause: Finding | None, image: Image) -> HintText:
    """What to do about an image that does not allocate, by the first finding in what it printed."""
    if cause is None:
        return NO_HINT
    if cause.kind is Kind.PREPARE_FAILED:
        return Hint.NOT_THE_ARENA.told()
    return for_findings([cause], image.chip.area("ram").size)


@dataclass(frozen=True)
class _Hooks:
    sites: tuple[Site, ...]
    allocate: int  # the address of AllocateTensors


def _hooks_of(image: Image) -> _Hooks:
    takers = sites(image)
    functions = (symbol for symbol in image.symbols if symbol.kind == "func")
    allocate = next((s.address for s in functions if qualified(s.name) == _ALLOCATE), None)
    if not takers or allocate is None:
        missing = "AllocateTensors" if takers else "function that takes one"
        message = (
            f"{image.path} does not show where it takes its arena: no {missing} in its symbols"
        )
        raise not_shown(image, message)
    return _Hooks(takers, allocate)


class _Prober:
    """Runs probes on a machine, each from the snapshot at which the arena is passed."""

    def __init__(
        self, session: SimulatorSession, hooks: _Hooks, seconds: float, guard: float
    ) -> None:
        self.session = session
        self.machine = session.machine
        self.guard = guard
        self.seconds = seconds
        self.probes: list[Probe] = []
        self.status: int | None = None
        self.cause: Finding | None = None
        self.site = self._run_to(hooks)
        self.instructions = self._counted()
        self.printed = len(session.console)
        self.start = take(self.machine)
        self.machine.hook(hooks.allocate, self._entered)

    def _run_to(self, hooks: _Hooks) -> Site:
        """Boot to the outermost function that takes the arena; the inner ones get its size."""
        reached: list[Site] = []

        def stop_at(site: Site, _: object) -> bool:
            reached.append(site)
            return True

        for site in hooks.sites:
            self.machine.hook(site.address, partial(stop_at, site))
        stop = self.session.run(
            Elapsed(self.seconds), self.session.deadline(self.seconds, guard=self.guard)
        )
        for site in hooks.sites:
            self.machine.unhook(site.address)
        if not reached:
            name = self.machine.firmware.path.name
            raise FirmwareFailed(f"{name} never hands over an arena ({stop})")
        return reached[0]

    def _entered(self, _: object) -> bool:
        """AllocateTensors was called: stop at its return address."""
        self.machine.hook(self.machine.registers["lr"] & ~1, self._returned)
        return False

    def _returned(self, _: object) -> bool:
        """AllocateTensors has returned, with a TfLiteStatus in r0."""
        if self.status is None:
            self.status = self.machine.registers["r0"]
        return True

    def declared(self) -> tuple[int, int | None]:
        """Run the first probe: the declared size, and the bytes that the image reports as used."""
        size = int.from_bytes(self.machine.read_memory(self._stack_argument(), WORD), "little")
        if self.site.index < _IN_REGISTERS:
            size = self.machine.registers[f"r{self.site.index}"]
        begun = self.machine.seconds
        allocated = self.allocates(size)
        # Failures take about as long as successes: a shorter limit stops an image that hangs.
        duration = self.machine.seconds - begun
        self.seconds = min(self.seconds, _LIMIT_FACTOR * duration + _LIMIT_SECONDS)
        return size, self._used() if allocated else None

    def allocates(self, size: int) -> bool:
        """Restore the snapshot, pass ``size`` as the arena's, and run to AllocateTensors' end."""
        restore(self.machine, self.start)
        self.status = None
        faults, count_before = len(self.session.faults), self._counted()
        if self.site.index < _IN_REGISTERS:
            self.machine.write_register(f"r{self.site.index}", size)
        else:
            self.machine.write_memory(self._stack_argument(), size.to_bytes(WORD, "little"))
        deadline = self.session.deadline(self.seconds, guard=self.guard)
        stop = self.session.run(Elapsed(self.seconds), deadline)
        self.instructions += self._counted() - count_before
        reason = "" if self.status == 0 else self._reason(stop, faults)
        self.probes.append(Probe(size, self.status == 0, reason))
        return self.status == 0

    def _counted(self) -> int:
        """Instructions since the session was opened."""
        counted = self.session.counters.instructions
        assert counted is not None
        return counted

    def _stack_argument(self) -> int:
        """The address of the size argument, if it is on the stack."""
        return self.machine.registers["sp"] + WORD * max(self.site.index - _IN_REGISTERS, 0)

    def _used(self) -> int | None:
        """The used bytes in the image's ``arena`` record, None if it prints none in time."""
        wait = self.session.deadline(_RECORD_SECONDS, guard=self.guard)
        self.session.run(ConsoleMatch(records.pattern("arena"), lines=True), wait)
        console = b"".join(chunk.data for chunk in self.session.console)
        printed = (record for line in console.splitlines() for record in records.each_in(line))
        return next((r.integer("used") for r in printed if r.kind == "arena"), None)

    def _reason(self, stop: Stop, faults: int) -> str:
        """The reason why a probe did not allocate: a fault, no return, or the image's message.

        :attr:`cause` is the first finding in the message.
        """
        self.cause = None
        if len(self.session.faults) > faults:
            fault = self.session.faults[faults]
            return f"{fault.kind} in {fault.where}"
        if self.status is None:
            return f"AllocateTensors did not return ({stop})"
        console = b"".join(chunk.data for chunk in self.session.console[self.printed :])
        lines = list(LineSplitter().feed(console + b"\n"))
        self.cause = found = next(iter(messages_in(lines)), None)
        texts = (line.text.strip() for line in lines)
        first = next((text for text in texts if text and not text.startswith(records.PREFIX)), "")
        said = first if found is None else found.message
        return said or f"AllocateTensors returned {self.status}"
