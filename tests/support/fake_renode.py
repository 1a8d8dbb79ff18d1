"""A Renode in this process: the real agent of the harness over a machine that follows a script.

The parts of .NET and Renode that the agent uses are fakes with state, in two releases:
:data:`R1_16` behaves as 1.16.1, :data:`R1_17` as 1.17.0. The agent's own files are run, not
imitated.
"""

from __future__ import annotations

import builtins
import os
import re
import struct
import threading
import time
from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fake_core import (
    LR,
    OTHER_SP,
    PC,
    SP,
    XPSR,
    Backend,
    Core,
    Event,
    Level,
    Nvic,
    Regions,
    Release,
    Storage,
    Uart,
    Words,
)

from harness.elf import Image
from harness.targets.renode.link import AgentLink, pipes
from harness.targets.renode.server import AGENT, RenodeServer
from harness.targets.renode.session import RenodeSession

NSACR = 0xE000ED8C
ANSWER = (0x0, 0x2, 0x4, 0x5, 0xE)  # the top digits of addresses at which something is
STATUS = (0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38)  # CFSR, HFSR, MMFAR, BFAR
PAGE = 0x10000
HALT = 0x40  # where the images of these tests have their fault handlers


def tiny_image(folder: Path) -> Image:
    """An ELF of one segment at 0: a vector table with a stack and five handlers at 0x41."""
    data = struct.pack("<16I", 0x20001000, *[HALT | 1] * 15) + bytes.fromhex("fee7")
    header = b"\x7fELF" + bytes((1, 1, 1)) + bytes(9)
    header += struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 0x41, 52, 0, 0x05000200, 52, 32, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, 84, 0, 0, len(data), len(data), 5, 4)
    path = folder / "image.elf"
    path.write_bytes(header + segment + data)
    return Image.from_elf(path)


R1_16 = Release((1, 16, 1), (), lockup_is_a_state=False)
R1_17 = Release(
    (1, 17, 0), ("TimestampType.Virtual",), lockup_is_a_state=True, nsacr_at_first=0xCFF
)


class NoAnswer(Exception):
    """A .NET exception of an access that nothing answers."""


class Died(BaseException):
    """Renode's process ends: its pipes close."""


@dataclass(frozen=True)
class Fault:
    """The core takes a fault: the registers at its handler's first instruction, and the frame."""

    exception: int
    link: int
    frame: tuple[int, ...]
    on_psp: bool
    status: tuple[int, ...] = (0, 0, 0, 0)  # CFSR, HFSR, MMFAR, BFAR
    stack: int = 0x20001000  # MSP
    handler: int = HALT


@dataclass(frozen=True)
class Warns:
    """Renode logs ``message`` of ``source``."""

    level: int
    message: str
    source: str | None = "sysbus"


@dataclass(frozen=True)
class Locks:
    """A fault that cannot be taken."""


@dataclass(frozen=True)
class Aborts:
    """The core would execute where there is no memory; its slice ends only if it is halted."""

    pc: int
    lr: int


@dataclass(frozen=True)
class Resets:
    """The firmware resets itself."""


#: Events in order: virtual time in ns, and what happens then; bytes are printed.
Script = list[tuple[int, object]]


class Port:
    """``sysbus.p0``: NRF52840_GPIO as far as the agent uses it; pin 2 is an output that is high."""

    def __init__(self) -> None:
        self.Pins = [
            SimpleNamespace(
                Direction="Input", InputValue=False, OutputValue=False, PullMode="PullUp"
            )
            for _ in range(32)
        ]
        self.Pins[2].Direction, self.Pins[2].OutputValue = "Output", True
        self.told: list[tuple[int, bool]] = []  # levels from outside

    def WriteDoubleWord(self, offset: int, value: int) -> None:  # noqa: N802
        """PIN_CNF: the level of a pull stays until that of the other one comes."""
        assert 0x200 <= offset < 0x280
        pull = value >> 2 & 3
        if pull:
            self.Pins[(offset - 0x200) // 4].InputValue = pull == 3
        self.Pins[(offset - 0x200) // 4].PullMode = ("Disabled", "PullDown", "?", "PullUp")[pull]

    def OnGPIO(self, number: int, value: bool) -> None:  # noqa: N802
        self.told.append((number, value))
        self.Pins[number].InputValue = value


class Button:
    """A button of the board, whose level the port learns when it changes."""

    def __init__(self, pressed: bool = False) -> None:
        self.Pressed = pressed
        self.changes: list[str] = []

    def Press(self) -> None:  # noqa: N802
        self.Pressed = True
        self.changes.append("pressed")

    def Release(self) -> None:  # noqa: N802
        self.Pressed = False
        self.changes.append("released")


class Machine:
    """``monitor.Machine``: a sparse memory, and a core that follows a script."""

    def __init__(self, renode: FakeRenode) -> None:
        self.renode, self.release = renode, renode.release
        self.pages: dict[int, bytearray] = {}
        self.now = 0
        self.sleeps = self.throws = False
        self.cpu, self.uart = Core(self.release), Uart()
        self.MachineReset = Event()
        self.SystemBus = self.ClockSource = self
        self.pending: Script = []
        self.slices: list[int] = []  # how long each run was, in ns
        self.quanta: list[int] = []  # the quantum of each run, in ns
        self.accesses: list[tuple[int, int | None]] = []  # words: address, and what was written
        self.parts = {"sysbus.cpu": self.cpu, "sysbus.uarte0": self.uart, "sysbus.dwt": "dwt"}
        self.parts["sysbus.p0"] = Port()
        self.nvic = self.parts["sysbus.nvic"] = Nvic(self.release)
        self.mpu = Regions(0xE000ED90, 8, 0xE000ED98, 16)
        self.mpu_ns = Regions(0xE002ED90, 8, 0xE002ED98, 16)
        self.sau = Regions(0xE000EDD4, 0, 0xE000EDD8, 8)
        if renode.trustzone:
            self.cpu.TrustZoneEnabled = True
        self.units = [self.mpu, self.mpu_ns, self.sau][: 3 if renode.trustzone else 1]
        self.put(NSACR, struct.pack("<I", self.release.nsacr_at_first))
        self.memories = {
            "ArrayMemory": [Storage(self, 0xFF0000, 0x1000)],
            "Button": [],
        }
        self.GetPeripheralsOfType = {
            name: lambda n=name: self.memories[n] for name in self.memories
        }

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]

    def at(self, address: int, size: int) -> bytes:
        return b"".join(bytes(page[part]) for page, part, _ in self._pages(address, size))

    def put(self, address: int, data: bytes) -> None:
        for page, part, taken in self._pages(address, len(data)):
            page[part] = data[taken]

    def _pages(self, address: int, size: int) -> Iterator[tuple[bytearray, slice, slice]]:
        """The pages of an area, the part of each, and the part of the area's bytes."""
        at = address
        while at < address + size:
            base = at - at % PAGE
            end = min(base + PAGE, address + size)
            page = self.pages.setdefault(base, bytearray(PAGE))
            yield page, slice(at - base, end - base), slice(at - address, end - address)
            at = end

    def ReadBytes(self, address: int, count: int) -> bytes:  # noqa: N802
        return self.at(address, count)

    def WriteBytes(self, data: bytes, address: int) -> None:  # noqa: N802
        self.put(address, bytes(data))

    def ReadDoubleWord(self, address: int, core: Core) -> int:  # noqa: N802
        self.accesses.append((address, None))
        if self.throws and address >> 28 not in ANSWER:
            raise NoAnswer(hex(address))
        for unit in self.units:
            if unit.covers(address):
                return unit.read(address)
        return int.from_bytes(self.at(address, 4), "little")

    def WriteDoubleWord(self, address: int, value: int, core: Core) -> None:  # noqa: N802
        self.accesses.append((address, value))
        (unit,) = [one for one in self.units if one.covers(address)] or [None]
        if unit is not None:
            unit.write(address, value)
        else:
            self.put(address, struct.pack("<I", value))

    def GetAllClockEntries(self) -> list[SimpleNamespace]:  # noqa: N802
        runs = not self.sleeps or self.renode.wakes_at > self.now
        timer = SimpleNamespace(Enabled=runs, Owner="rtc1")
        return [timer, SimpleNamespace(Enabled=True, Owner="dwt")]

    @property
    def NearestLimitIn(self) -> SimpleNamespace:  # noqa: N802
        wrap = (1 << 32) * 1000 // 64  # of the DWT's counter
        limits = [one - self.now for one in (self.renode.wakes_at,) if one > self.now]
        return SimpleNamespace(Ticks=min([*limits, wrap]))

    def ScheduleAction(self, delay: int, action: Callable[..., None]) -> None:  # noqa: N802
        insort(self.pending, (self.now + delay, action), key=itemgetter(0))

    def Reset(self) -> None:  # noqa: N802
        self.cpu.executed, self.cpu.locked = 0, False
        self.sleeps = False
        for base in [one for one in self.pages if one >= 0xE0000000]:
            del self.pages[base]
        self.MachineReset.fire(self)
        self.pending = [(self.now + when, event) for when, event in self.renode.script]

    def run_for(self, nanoseconds: int) -> None:
        """Time goes on to the end even if the core is halted, as in Renode."""
        self.renode.before_run()
        self.slices.append(nanoseconds)
        self.quanta.append(self.renode.Quantum)
        end = self.now + nanoseconds
        while self.pending and self.pending[0][0] <= end and not self.cpu.halted:
            moment, event = self.pending.pop(0)
            self.compute(moment)
            self.act(event)
        if self.renode.idles_at and end >= self.renode.idles_at > self.now:
            self.compute(self.renode.idles_at)
            self.sleeps = True
        if self.sleeps and end > self.renode.wakes_at >= self.now:
            self.compute(self.renode.wakes_at)
            self.sleeps = not self.renode.wakes_at
        self.compute(end)
        for address, data in self.renode.left.items():
            self.put(address, data)

    def compute(self, moment: int) -> None:
        if moment <= self.now:
            return
        awake = not (self.cpu.halted or self.sleeps)
        if awake and not (self.cpu.locked and self.release.lockup_is_a_state):
            self.cpu.executed += (moment - self.now) * 64 / 1000
            if not self.cpu.locked:  # before 1.17 it raises the same fault again and again
                self.cpu.values[PC] += 2
        self.now = moment

    def act(self, event: object) -> None:
        match event:
            case bytes():
                for byte in event:
                    self.uart.CharReceived.fire(byte)
            case Fault():
                self.take(event)
            case Warns():
                self.renode.log(Level(event.level), event.message, event.source)
            case Locks():
                self.cpu.locked = True
            case Resets():
                self.Reset()
            case Aborts():
                self.cpu.values.update({PC: event.pc, LR: event.lr})
                text = f"CPU abort [PC=0x{event.pc:X}]: Trying to execute code outside RAM or ROM."
                self.renode.log(Level(3), text, "cpu")
                if not self.cpu.halted:
                    self.renode.hang()
            case _:
                event(self.now)  # type: ignore[operator]

    def take(self, fault: Fault) -> None:
        stacks = {SP: fault.stack, OTHER_SP: 0x20002000}
        self.put(stacks[OTHER_SP if fault.on_psp else SP], struct.pack("<8I", *fault.frame))
        for address, word in zip(STATUS, fault.status, strict=True):
            self.put(address, struct.pack("<I", word))
        self.cpu.values.update(stacks | {XPSR: fault.exception, LR: fault.link, PC: fault.handler})
        for hook in list(self.cpu.hooks.get(fault.handler, ())):
            hook(self.cpu, fault.handler)


@dataclass
class FakeRenode:
    """Set by a test before a session, and inspected after it."""

    release: Release = R1_17
    script: Script = field(default_factory=list)
    left: dict[int, bytes] = field(default_factory=dict)  # memory after a run
    trustzone: bool = False  # of the core
    idles_at: int = 0
    wakes_at: int = 0  # by a timer
    Quantum: int = 1_000_000  # of the master time source, in ns
    refuses: str = ""  # the start of a command that fails
    dies: bool = False  # at the next run
    dies_at_a_command: bool = False
    hangs: bool = False  # at the next run
    agent_files: tuple[Path, ...] = AGENT

    def __post_init__(self) -> None:
        self.machine = Machine(self)
        self.commands: list[str] = []
        self.backends: dict[str, Any] = {}
        self.starts = self.clears = 0
        self.released = threading.Event()

    def connect(self) -> AgentLink:
        """Start it: the agent serves in a thread of its own."""
        self.starts += 1
        link, theirs = pipes()
        scope = {"monitor": self, "__builtins__": {**vars(builtins), "__import__": self.imports}}
        for path in self.agent_files:
            exec(compile(path.read_text(), str(path), "exec"), scope)
        self.scope = scope
        threading.Thread(target=self.serve, args=theirs, daemon=True).start()
        link.ready(10)
        return link

    def serve(self, requests: int, answers: int) -> None:
        try:
            self.scope["serve"](requests, answers)
        except (Died, BrokenPipeError):
            pass
        finally:
            os.close(requests)
            os.close(answers)

    @property
    def agent(self) -> Any:
        return self.scope["hil"]["agent"]

    def before_run(self) -> None:
        if self.hangs:
            self.hang()
        if self.dies:
            raise Died

    def hang(self) -> None:
        self.released.wait(30)
        raise Died

    def log(self, level: Level, message: str, source: str | None) -> None:
        """Every backend gets what one of them wants, and Renode's own wants Info."""
        entry = SimpleNamespace(Type=level, Message=message, ObjectName=source)
        wanted = [Level(1), *(backend.level for backend in self.backends.values())]
        for backend in self.backends.values():
            if any(not level < lowest for lowest in wanted):
                backend.Log(entry, *self.release.log_arguments)

    # -- Renode's Monitor ---------------------------------------------------------------------

    Interaction: Any = None

    @property
    def Machine(self) -> Machine:  # noqa: N802
        return self.machine

    def Parse(self, command: str, words: Words) -> bool:  # noqa: N802
        self.commands.append(command)
        if self.dies_at_a_command:
            raise Died
        if command == "Clear":
            self.clears += 1
        if command.endswith("ThrowException"):
            self.machine.throws = True
        if command.startswith("mach create"):
            self.machine = Machine(self)
            self.machine.pending = list(self.script)
        if match := re.match(r"sysbus LoadBinary @((?:\\ |\S)+) (0x[0-9a-f]+)", command):
            path = Path(match[1].replace("\\ ", " "))
            self.machine.put(int(match[2], 16), path.read_bytes())
        if command.startswith("boom"):
            words.error = "No such command or device: boom\n"
        if self.refuses and command.startswith(self.refuses):
            words.error = "Error E39: Exception was thrown during construction\n"
            return True  # understood, but failed
        return not words.error

    # -- what the agent imports ---------------------------------------------------------------

    def imports(self, name: str, *rest: Any) -> Any:
        if name != "System" and not name.startswith("Antmicro"):
            return builtins.__import__(name, *rest)
        return self.dotnet() if name == "System" else self.renode()

    def renode(self) -> SimpleNamespace:
        emulation = SimpleNamespace(MasterTimeSource=self, RunFor=self.run_for)
        instance = SimpleNamespace(CurrentEmulation=emulation)
        levels = {
            name: Level(number) for number, name in enumerate(("Debug", "Info", "Warning", "Error"))
        }
        return SimpleNamespace(
            EmulationManager=SimpleNamespace(Instance=instance),
            LoggerBackend=Backend,
            LogLevel=SimpleNamespace(**levels),
            Logger=SimpleNamespace(AddBackend=self.add_backend),
            TimeInterval=SimpleNamespace(FromTicks=int, FromMicroseconds=lambda us: us * 1000),
            CommandInteractionEater=Words,
            RegisterValue=SimpleNamespace(Create=lambda value, bits: value & (1 << bits) - 1),
            ArrayMemory="ArrayMemory",
            Button="Button",
        )

    def run_for(self, nanoseconds: int) -> None:
        self.machine.run_for(nanoseconds)

    @property
    def ElapsedVirtualTime(self) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(Ticks=self.machine.now)

    def add_backend(self, backend: Any, name: str, overwrite: bool) -> None:
        self.backends[name] = backend

    def dotnet(self) -> SimpleNamespace:
        from dotnet import system

        return system(time.monotonic)


def opened(renode: FakeRenode, image: Image) -> RenodeSession:
    """A session on ``renode``, which ends with it."""
    return RenodeSession(image, RenodeServer(connect=renode.connect), owns_server=True)
