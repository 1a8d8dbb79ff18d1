"""The smallest tensor arena with which an image allocates, found by running it.

The image is not built again: it is stopped where it hands its arena to tflite-micro, the size
argument is changed (procedure call standard of the Arm architecture, AAPCS32 section 6.4: four
words in r0 to r3, the others on the stack), and what ``AllocateTensors`` returns decides.
``arena_used_bytes()`` is smaller than this figure: allocation needs temporary memory, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

from harness.deadline import Deadline
from harness.errors import FirmwareFailed, UsageError
from harness.firmware.demangle import demangle, qualified
from harness.firmware.elf import Firmware
from harness.targets.base import ConsoleMatch, Elapsed, Session, Stop

ALIGNMENT = 16  # tflite-micro aligns an arena's start and end to this
_WORD = 4
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
_USED = re.compile(rb"~HIL \d+ arena [^\r\n]*\bused=(\d+)")


class Machine(Protocol):
    """What is needed of the simulator's machine."""

    @property
    def registers(self) -> dict[str, int]:
        """Core registers by name."""
        ...

    def write_register(self, name: str, value: int) -> None:
        """Set a register."""
        ...

    def read_memory(self, address: int, size: int) -> bytes:
        """Read memory."""
        ...

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory."""
        ...

    def hook(self, where: str | int, called: Callable[[Any], bool | None]) -> None:
        """Call before the instruction at an address; True stops the run."""
        ...


class MachineSession(Session, Protocol):
    """A session of a target that has a machine to look into."""

    @property
    def machine(self) -> Machine:
        """The machine."""
        ...


@dataclass(frozen=True)
class Site:
    """Where an image hands over its arena; ``index`` is the size's place among all arguments."""

    symbol: str
    address: int
    index: int


@dataclass(frozen=True)
class Probe:
    """One run with an arena of ``bytes``; ``reason`` says why it did not allocate."""

    bytes: int
    allocated: bool
    reason: str = ""


@dataclass(frozen=True)
class ArenaMinimum:
    """What :func:`minimum` found; ``used`` is ``arena_used_bytes()`` where the image prints it."""

    declared: int
    minimum: int
    used: int | None
    site: str
    probes: tuple[Probe, ...]
    instructions: int

    @property
    def aligned(self) -> int:
        """The smallest multiple of 16 that is enough: what to write into the source."""
        return -(-self.minimum // ALIGNMENT) * ALIGNMENT

    @property
    def margin(self) -> int:
        """Declared bytes that are not needed."""
        return self.declared - self.minimum

    def to_json(self) -> dict[str, Any]:
        """The document of ``arena --json``."""
        return {**asdict(self), "aligned": self.aligned, "margin": self.margin}


Open = Callable[[Firmware], AbstractContextManager[MachineSession]]


def sites(firmware: Firmware) -> tuple[Site, ...]:
    """Functions of the image that take an arena and its size, outermost first."""
    found: dict[int, Site] = {}
    for wanted, before in _TAKERS.items():
        for symbol in firmware.symbols:
            if symbol.kind != "func" or qualified(symbol.name) != wanted:
                continue
            index = _size_argument(demangle(symbol.name))
            if index is not None:
                found.setdefault(symbol.address, Site(symbol.name, symbol.address, before + index))
    return tuple(found.values())


def _size_argument(signature: str) -> int | None:
    """The place of the size that follows an ``unsigned char*``, None where there is none."""
    inside = signature.partition("(")[2].rpartition(")")[0].split(", ")
    for index, (first, second) in enumerate(pairwise(inside)):
        if first == "unsigned char*" and second in ("unsigned int", "unsigned long"):
            return index + 1
    return None


def minimum(
    firmware: Firmware, open_session: Open, *, seconds: float = 30.0, guard: float = 60.0
) -> ArenaMinimum:
    """Bisect to the byte. Each probe is a run from reset to the end of AllocateTensors.

    ``seconds`` (virtual) and ``guard`` (wall) limit one probe. Raises :class:`UsageError` for an
    image that does not show where it takes its arena, and :class:`FirmwareFailed` where it does
    not allocate with the arena that it declares.
    """
    prober = _Prober(firmware, open_session, seconds, guard)
    declared, first, used = prober.as_declared()
    if not prober.taken_at:
        raise FirmwareFailed(f"{firmware.path.name}: {first.reason}")
    if not first.allocated:
        raise FirmwareFailed(
            f"{firmware.path.name} does not allocate with its own arena of {declared:,} B: "
            f"{first.reason}",
            hint="make the arena larger and build again; only a smaller one can be tried here",
        )
    probes = [first]
    low, high = 0, declared  # fails with low, allocates with high
    while high - low > 1 and len(probes) < _MOST_PROBES:
        size = (low + high) // 2
        probe = prober.with_size(size)
        probes.append(probe)
        low, high = (low, size) if probe.allocated else (size, high)
    return ArenaMinimum(declared, high, used, demangle(prober.taken_at), tuple(probes),
                        prober.instructions)  # fmt: skip


class _Prober:
    def __init__(
        self, firmware: Firmware, open_session: Open, seconds: float, guard: float
    ) -> None:
        self.firmware = firmware
        self.open = open_session
        self.seconds = seconds
        self.guard = guard
        self.sites = sites(firmware)
        allocate = next(
            (s.address for s in firmware.symbols
             if s.kind == "func" and qualified(s.name) == _ALLOCATE), None,
        )  # fmt: skip
        self.taken_at = ""
        self.instructions = 0
        if not self.sites or allocate is None:
            raise UsageError(
                f"{firmware.path} does not show where it takes its arena: no "
                f"{'AllocateTensors' if self.sites else 'function that takes one'} in its symbols",
                hint="pass an image with symbols, built without link-time optimization",
            )
        self.allocate = allocate

    def as_declared(self) -> tuple[int, Probe, int | None]:
        """A run with the image's own size: that size, the outcome, the bytes it says are used."""
        return self._run(None)

    def with_size(self, size: int) -> Probe:
        """A run with another size."""
        return self._run(size)[1]

    def _run(self, size: int | None) -> tuple[int, Probe, int | None]:
        with self.open(self.firmware) as session:
            run = _Run(session.machine, size)
            for site in self.sites:
                session.machine.hook(site.address, partial(run.taken, site))
            session.machine.hook(self.allocate, run.entered)
            deadline = session.deadline(self.seconds, guard=self.guard)
            stop = session.run(Elapsed(self.seconds), deadline)
            used = self._used(session, deadline) if size is None and run.status == 0 else None
            self.instructions += session.counters.instructions or 0
            reason = "" if run.status == 0 else _reason(session, run, stop)
        if run.site is not None:
            self.taken_at = run.site.symbol
        return run.declared, Probe(size if size is not None else run.declared,
                                   run.status == 0, reason), used  # fmt: skip

    @staticmethod
    def _used(session: Session, deadline: Deadline) -> int | None:
        """The figure of the image's ``arena`` record, None where it prints none in two seconds."""
        wait = session.deadline(min(2.0, max(deadline.remaining, 0.1)))
        session.run(ConsoleMatch(rb" arena [^\r\n]*used=\d+ \*"), wait)
        found = _USED.search(b"".join(chunk.data for chunk in session.console))
        return int(found[1]) if found else None


class _Run:
    """What the hooks of one run saw."""

    def __init__(self, machine: Machine, size: int | None) -> None:
        self.machine = machine
        self.size = size
        self.declared = 0
        self.site: Site | None = None
        self.status: int | None = None

    def taken(self, site: Site, _: object) -> bool:
        """The image hands over its arena; inner functions get what the outermost was given."""
        if self.site is not None:
            return False
        self.site = site
        registers = self.machine.registers
        place = registers["sp"] + _WORD * (site.index - 4)
        if site.index < 4:
            self.declared = registers[f"r{site.index}"]
        else:
            self.declared = int.from_bytes(self.machine.read_memory(place, _WORD), "little")
        if self.size is not None and site.index < 4:
            self.machine.write_register(f"r{site.index}", self.size)
        elif self.size is not None:
            self.machine.write_memory(place, self.size.to_bytes(_WORD, "little"))
        return False

    def entered(self, _: object) -> bool:
        """AllocateTensors begins: stop where it returns."""
        self.machine.hook(self.machine.registers["lr"] & ~1, self.returned)
        return False

    def returned(self, _: object) -> bool:
        """AllocateTensors ends with a TfLiteStatus in r0."""
        if self.status is None:
            self.status = self.machine.registers["r0"]
        return True


def _reason(session: Session, run: _Run, stop: Stop) -> str:
    lines = b"".join(chunk.data for chunk in session.console).splitlines()
    said = [line.decode("utf-8", "backslashreplace").strip() for line in lines]
    words = [line for line in said if line and not line.startswith("~HIL")]
    if run.site is None:
        return f"it never hands over an arena ({stop})"
    if session.faults:
        return f"{session.faults[0].kind} in {session.faults[0].where}"
    if run.status is None:
        return f"AllocateTensors did not return ({stop})"
    return words[0] if words else f"AllocateTensors returned {run.status}"
