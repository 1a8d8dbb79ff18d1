"""The smallest tensor arena with which an image allocates, found by running it.

The image is not built again: it boots once, stops where it hands its arena to tflite-micro, and
continues from a snapshot of that place with another size each time. The size argument is changed
(AAPCS32, section 6.4: four words in r0 to r3, the others on the stack), and the status of
``AllocateTensors`` succeeds if it is enough. ``arena_used_bytes()`` is smaller than this figure:
allocation needs temporary memory, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from harness.base.errors import FirmwareFailed, UsageError
from harness.elf import Image
from harness.elf.demangle import demangle, qualified
from harness.model.structures import WORD
from harness.simulator.snapshot import restore, take
from harness.targets.base import ConsoleMatch, Elapsed, Session, Stop
from harness.uart import records

if TYPE_CHECKING:
    from harness.simulator.machine import Machine

ALIGNMENT = 16  # tflite-micro aligns an arena's start and end to this
_IN_REGISTERS = 4  # arguments in r0 to r3
_RECORD_SECONDS = 2.0
#: A probe may take this many times as long as the first success, and half a second more.
_PATIENCE = 10
_LEAST_SECONDS = 0.5
_MOST_PROBES = 40
_ALLOCATE = "tflite::MicroInterpreter::AllocateTensors"
#: Functions that take an arena, outermost first; constructors have ``this`` before their arguments.
_TAKERS = {
    "tflite::MicroInterpreter::MicroInterpreter": 1,
    "tflite::RecordingMicroInterpreter::RecordingMicroInterpreter": 1,
    "tflite::RecordingMicroAllocator::Create": 0,
    "tflite::MicroAllocator::Create": 0,
    "tflite::SingleArenaBufferAllocator::SingleArenaBufferAllocator": 1,
    "tflite::SimpleMemoryAllocator::Create": 0,
    "tflite::SimpleMemoryAllocator::SimpleMemoryAllocator": 1,
}


class MachineSession(Session, Protocol):
    """A session of the simulator, which shows its machine."""

    @property
    def machine(self) -> Machine:
        """The machine."""
        ...


@dataclass(frozen=True)
class Site:
    """A function that takes an arena; ``index`` is the place of the size among its arguments."""

    symbol: str
    address: int
    index: int


@dataclass(frozen=True)
class Probe:
    """One run with an arena of ``bytes``; ``reason`` is why it did not allocate."""

    bytes: int
    allocated: bool
    reason: str = ""


@dataclass(frozen=True)
class ArenaMinimum:
    """The result of :func:`minimum`; ``used`` is ``arena_used_bytes()`` if the image prints it."""

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


Open = Callable[[Image], AbstractContextManager[MachineSession]]


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
    """The place of the size that follows an ``unsigned char*``, None if there is none."""
    inside = signature.partition("(")[2].rpartition(")")[0].split(", ")
    for index, (first, second) in enumerate(pairwise(inside)):
        if first == "unsigned char*" and second in ("unsigned int", "unsigned long"):
            return index + 1
    return None


def minimum(
    image: Image, open_session: Open, *, seconds: float = 30.0, guard: float = 60.0
) -> ArenaMinimum:
    """The smallest arena to the byte, by bisection from where the image hands its arena over.

    ``seconds`` (virtual) and ``guard`` (wall) limit one probe. Raises :class:`UsageError` for an
    image whose symbols do not show where it takes its arena, and :class:`FirmwareFailed` if it does
    not allocate with the arena that it declares.
    """
    hooks = _hooks_of(image)
    with open_session(image) as session:
        prober = _Prober(session, hooks, seconds, guard)
        declared, used = prober.declared()
        if not prober.probes[0].allocated:
            raise FirmwareFailed(
                f"{image.path.name} does not allocate with its own arena of {declared:,} B: "
                f"{prober.probes[0].reason}",
                hint="make the arena larger and build again; only smaller ones can be tried here",
            )
        low, high = 0, declared  # fails with low, allocates with high
        while high - low > 1 and len(prober.probes) < _MOST_PROBES:
            size = (low + high) // 2
            low, high = (low, size) if prober.allocates(size) else (size, high)
        return ArenaMinimum(declared, high, used, qualified(prober.site.symbol),
                            tuple(prober.probes), prober.instructions)  # fmt: skip


@dataclass(frozen=True)
class _Hooks:
    sites: tuple[Site, ...]
    allocate: int  # the address of AllocateTensors


def _hooks_of(image: Image) -> _Hooks:
    takers = sites(image)
    functions = (symbol for symbol in image.symbols if symbol.kind == "func")
    allocate = next((s.address for s in functions if qualified(s.name) == _ALLOCATE), None)
    if not takers or allocate is None:
        raise UsageError(
            f"{image.path} does not show where it takes its arena: no "
            f"{'AllocateTensors' if takers else 'function that takes one'} in its symbols",
            hint="pass an image with symbols, built without link-time optimization",
        )
    return _Hooks(takers, allocate)


class _Prober:
    """A machine that goes back to where its arena is handed over, for each probe."""

    def __init__(
        self, session: MachineSession, hooks: _Hooks, seconds: float, guard: float
    ) -> None:
        self.session = session
        self.machine = session.machine
        self.guard = guard
        self.seconds = seconds
        self.probes: list[Probe] = []
        self.status: int | None = None
        self.site = self._run_to(hooks)
        self.instructions = self._counted()
        self.printed = len(session.console)
        self.start = take(self.machine)
        self.machine.hook(hooks.allocate, self._entered)

    def _run_to(self, hooks: _Hooks) -> Site:
        """Boot to the outermost function that takes the arena; it passes the size on to others."""
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
        """AllocateTensors begins: stop where it returns."""
        self.machine.hook(self.machine.registers["lr"] & ~1, self._returned)
        return False

    def _returned(self, _: object) -> bool:
        """AllocateTensors ends with a TfLiteStatus in r0."""
        if self.status is None:
            self.status = self.machine.registers["r0"]
        return True

    def declared(self) -> tuple[int, int | None]:
        """The first probe: the image's own size, and the bytes that it reports as used."""
        size = int.from_bytes(self.machine.read_memory(self._stack_place(), WORD), "little")
        if self.site.index < _IN_REGISTERS:
            size = self.machine.registers[f"r{self.site.index}"]
        begun = self.machine.seconds
        allocated = self.allocates(size)
        # Failures take about as long as successes: stop an image that hangs before the limit.
        duration = self.machine.seconds - begun
        self.seconds = min(self.seconds, _PATIENCE * duration + _LEAST_SECONDS)
        return size, self._used() if allocated else None

    def allocates(self, size: int) -> bool:
        """Go back, hand over an arena of ``size`` bytes, and run to the end of AllocateTensors."""
        restore(self.machine, self.start)
        self.status = None
        faults, count_before = len(self.session.faults), self._counted()
        if self.site.index < _IN_REGISTERS:
            self.machine.write_register(f"r{self.site.index}", size)
        else:
            self.machine.write_memory(self._stack_place(), size.to_bytes(WORD, "little"))
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

    def _stack_place(self) -> int:
        return self.machine.registers["sp"] + WORD * max(self.site.index - _IN_REGISTERS, 0)

    def _used(self) -> int | None:
        """The figure of the image's ``arena`` record, None if it prints none in two seconds."""
        wait = self.session.deadline(_RECORD_SECONDS, guard=self.guard)
        self.session.run(ConsoleMatch(records.pattern("arena"), lines=True), wait)
        console = b"".join(chunk.data for chunk in self.session.console)
        printed = (record for line in console.splitlines() for record in records.each_in(line))
        return next((r.integer("used") for r in printed if r.kind == "arena"), None)

    def _reason(self, stop: Stop, faults: int) -> str:
        """Why a probe did not allocate: its fault, its silence, or its own words."""
        if len(self.session.faults) > faults:
            fault = self.session.faults[faults]
            return f"{fault.kind} in {fault.where}"
        if self.status is None:
            return f"AllocateTensors did not return ({stop})"
        console = self.session.console[self.printed :]
        lines = b"".join(chunk.data for chunk in console).splitlines()
        texts = [line.decode("utf-8", "backslashreplace").strip() for line in lines]
        words = [line for line in texts if line and not line.startswith(records.PREFIX)]
        return words[0] if words else f"AllocateTensors returned {self.status}"
