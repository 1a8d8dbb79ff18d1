"""Parts of the fake Renode: the core, the UART, memories, events, log levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

LR, OTHER_SP, SP, PC, XPSR = 14, 22, 13, 15, 25


@dataclass(frozen=True)
class Release:
    """The differences between releases that the agent sees."""

    version: tuple[int, int, int]
    log_arguments: tuple[object, ...]  # arguments of a log backend after the entry
    lockup_is_a_state: bool
    nsacr_at_first: int = 0  # until the first reset


class Event:
    """A .NET event: ``+=``, ``-=``, and a call of all listeners."""

    def __init__(self) -> None:
        self.listeners: list[Callable[..., None]] = []

    def __iadd__(self, listener: Callable[..., None]) -> Event:
        self.listeners.append(listener)
        return self

    def __isub__(self, listener: Callable[..., None]) -> Event:
        self.listeners.remove(listener)
        return self

    def fire(self, *arguments: object) -> None:
        for listener in list(self.listeners):
            listener(*arguments)


@dataclass(frozen=True, order=True)
class Level:
    """A .NET LogLevel: ordered, and comparable with nothing else."""

    number: int


class Backend:
    """Renode's LoggerBackend, from which the agent's derives."""

    def SetLogLevel(self, level: Level, source: int = -1) -> None:  # noqa: N802
        self.level = level


class Core:
    """``sysbus.cpu``: registers, hooks, halting, instructions since the last reset."""

    def __init__(self, release: Release) -> None:
        self.hooks: dict[int, list[Callable[..., None]]] = {}
        self.values = dict.fromkeys(range(32), 0) | {SP: 0x20001000}
        self.executed, self.halted = 0.0, False
        self.halts = 0  # each change drops the translated code
        self.locked = False
        if release.lockup_is_a_state:
            self.__class__ = type("Core", (Core,), {"IsLockedUp": property(lambda s: s.locked)})

    @property
    def IsHalted(self) -> bool:  # noqa: N802
        return self.halted

    @IsHalted.setter
    def IsHalted(self, value: bool) -> None:  # noqa: N802
        self.halts += self.halted != value
        self.halted = value

    @property
    def ExecutedInstructions(self) -> int:  # noqa: N802
        return int(self.executed)

    @property
    def PC(self) -> SimpleNamespace:  # noqa: N802
        return self.GetRegister(PC)

    def GetRegister(self, number: int) -> SimpleNamespace:  # noqa: N802
        return SimpleNamespace(RawValue=self.values[number])

    def SetRegister(self, number: int, value: int) -> None:  # noqa: N802
        self.values[number] = value

    def AddHook(self, address: int, hook: Callable[..., None]) -> None:  # noqa: N802
        self.hooks.setdefault(address, []).append(hook)

    def RemoveHooksAt(self, address: int) -> None:  # noqa: N802
        self.hooks.pop(address, None)

    def RemoveAllHooks(self) -> None:  # noqa: N802
        self.hooks.clear()

    def SetHookAtBlockEnd(self, hook: Callable[..., None]) -> None:  # noqa: N802
        self.at_block_end = hook


class Uart:
    """``sysbus.uarte0``: its events, and a receiver that takes everything, or buffers of a size."""

    def __init__(self) -> None:
        self.CharReceived = Event()
        self.received = b""
        self.room = self.amount = 0  # RXD.MAXCNT and RXD.AMOUNT

    def ReadDoubleWord(self, offset: int) -> int:  # noqa: N802
        full = self.room > 0 and self.amount == self.room
        return {0x538: self.room, 0x53C: self.amount, 0x110: int(full)}[offset]

    def WriteChar(self, byte: int) -> None:  # noqa: N802
        if self.room > 1:
            assert self.amount < self.room, "it stays in Renode's FIFO"
            self.amount += 1
        self.received += bytes([byte])

    def take(self) -> None:
        """The firmware takes a buffer, and gives the next one."""
        self.amount = 0


class Storage:
    """An ArrayMemory (``initial`` 0xFF) of the machine's address space."""

    def __init__(self, machine: Any, base: int, size: int) -> None:
        self.machine, self.base, self.Size = machine, base, size

    def ReadBytes(self, offset: int, count: int) -> bytearray:  # noqa: N802
        data = bytearray(self.machine.at(self.base + offset, count))
        return type("Array", (bytearray,), {"Length": property(len)})(data)

    def WriteBytes(self, offset: int, data: bytes, start: int, count: int) -> None:  # noqa: N802
        self.machine.put(self.base + offset, bytes(data[start : start + count]))


class Words:
    """Renode's CommandInteractionEater."""

    def __init__(self) -> None:
        self.said, self.error = "", ""

    @property
    def HasError(self) -> bool:  # noqa: N802
        return bool(self.error)

    def GetError(self) -> str:  # noqa: N802
        return self.error

    def GetContents(self) -> str:  # noqa: N802
        return self.said


class Regions:
    """Regions of an MPU or the SAU: a count, a register that selects one, its base and limit.

    A reset of the machine keeps them, which a real one does not: a harder case.
    """

    def __init__(self, count_at: int, bit: int, select: int, count: int) -> None:
        self.count_at, self.count, self.select = count_at, count << bit, select
        self.selected = 0
        self.words: dict[tuple[int, int], int] = {}  # region, address
        self.locked = False  # writes are lost

    def covers(self, address: int) -> bool:
        return address == self.count_at or self.select <= address <= self.select + 8

    def read(self, address: int) -> int:
        if address == self.count_at:
            return self.count
        at_select = address == self.select
        return self.selected if at_select else self.words.get((self.selected, address), 0)

    def write(self, address: int, value: int) -> None:
        if address == self.select:
            self.selected = value
        elif not self.locked:
            self.words[self.selected, address] = value


class Nvic:
    """``sysbus.nvic``: its copies of BASEPRI, by release, which a reset of the machine keeps."""

    def __init__(self, release: Release) -> None:
        names = ("BASEPRI_S", "BASEPRI_NS") if release.lockup_is_a_state else ("BASEPRI",)
        for name in names:
            setattr(self, name, 0)
