"""Base classes of peripherals: declared registers, tasks, events, interrupts, DPPI.

Nordic peripherals share one layout (nRF9160 PS, "Peripheral interface"): tasks from 0x000, their
SUBSCRIBE registers 0x80 above, events from 0x100, their PUBLISH registers 0x80 above, SHORTS at
0x200, INTEN/INTENSET/INTENCLR at 0x300. A model declares names and offsets. The method
``task_<name>`` executes a task; ``read_<name>`` and ``write_<name>`` implement a register with
side effects (names in lower case; the index of an array is the first argument). Event and PUBLISH
registers can have such methods as well: ``write_events_<name>``, ``write_publish_<name>``.

A register without such a method is storage. The counting core handles accesses to storage, and to
events whose interrupt is disabled, without calling the model (:meth:`Device.serve`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from harness.base.exceptions import FIRST_IRQ
from harness.base.findings import Kind
from harness.base.platforms import ChipTable, Peripheral
from harness.simulator.peripherals.texts import endless, unmodelled_task

if TYPE_CHECKING:
    from harness.simulator._native import Registers

SUBSCRIBE, PUBLISH = 0x080, 0x080
SHORTS, INTEN, INTENSET, INTENCLR, INTPEND = 0x200, 0x300, 0x304, 0x308, 0x30C
ENABLE_BIT = 1 << 31
#: Accesses that the counting core handles itself (native/registers.h).
PLAIN_READ, PLAIN_WRITE, EVENT_WRITE, SEND, COUNT, SCHEDULE = 1, 2, 4, 8, 16, 32

#: Tasks that events may execute one within another; a chain without end is not modelled.
MOST_NESTED = 64

State = dict[str, Any]


@dataclass(frozen=True)
class Register:
    """One register, or ``count`` of them ``stride`` bytes apart."""

    offset: int
    name: str
    reset: int = 0
    access: str = "rw"  # without "r" the register reads as 0, without "w" it ignores writes
    count: int = 1
    stride: int = 4

    def offsets(self) -> list[int]:
        """The offset of each element."""
        return [self.offset + i * self.stride for i in range(self.count)]


class Chip(Protocol):
    """The interface between a peripheral and its chip."""

    memory_map: ChipTable
    #: Tasks that are being executed: each because of an event of the one before.
    nested: int

    def register_file(self, size: int) -> Registers:
        """Storage for ``size`` bytes of registers, all zero."""
        ...

    @property
    def now(self) -> int:
        """Virtual time in ticks of the CPU clock."""
        ...

    def schedule(self, device: str, tag: str, time: int) -> None:
        """Schedules ``fire(tag)`` of ``device`` at tick ``time``, and cancels an earlier one."""
        ...

    def cancel(self, device: str, tag: str) -> None:
        """Cancels the scheduled ``fire(tag)`` of ``device``, if there is one."""
        ...

    def stop_by(self, time: int) -> None:
        """Makes the run stop at tick ``time`` at the latest."""
        ...

    def line(self, irq: int, level: bool) -> None:
        """Drives an interrupt line."""
        ...

    def rewired(self) -> None:
        """Invalidates cached subscriptions of tasks to DPPI channels."""
        ...

    def publish(self, channel: int, publisher: Nordic) -> None:
        """Publishes an event on a DPPI channel."""
        ...

    def can_reach(self, device: str, access: str, address: int, size: int) -> bool:
        """True if EasyDMA may "read" or "write" data RAM there; otherwise reports a finding."""
        ...

    def send(self, registers: Registers) -> None:
        """Starts the transfer of a UARTE."""
        ...

    def dma_write(self, device: str, address: int, data: bytes) -> None:
        """Writes data RAM as EasyDMA; reports a finding and writes nothing elsewhere."""
        ...

    def unmodelled(self, subject: str, what: str) -> None:
        """Records the first access of its kind to an object that has no model."""
        ...

    def flash_word(self, address: int) -> int:
        """The word at an address of flash."""
        ...

    def report(self, kind: Kind, subject: str, message: str, pc: int | None = None) -> None:
        """Reports a finding, once for its kind and subject.

        ``pc`` is the address of the code that caused it, by default the current instruction.
        """
        ...

    @property
    def pc(self) -> int:
        """The address of the current instruction."""
        ...

    def security_changed(self) -> None:
        """Applies a change of the SPU to the security and permissions of memory."""
        ...

    def system_off(self) -> None:
        """Enters System OFF after the current instruction."""
        ...

    def pins_sensed(self) -> None:
        """Wakes the chip from System OFF if DETECT is active."""
        ...

    def stop(self) -> None:
        """Ends the run after the current instruction."""
        ...

    def system_reset(self, reason: int) -> None:
        """Resets the chip after the current instruction; ``reason`` is a bit of RESETREAS."""
        ...


#: Reads or writes a register of a device, or executes one of its tasks.
Reader = Callable[[Any], int]
Writer = Callable[[Any, int], None]
Task = Callable[[Any], None]


@dataclass(frozen=True, eq=False)
class RegisterLayout:
    """What is known of the registers of a class of devices, by offset.

    A register without a reader or writer is storage. ``plain_events`` are those without a write
    method; ``event_bits`` are an event's bit of INTEN, ``starts`` are the tasks that events need.
    """

    resets: dict[int, int] = field(default_factory=dict)
    readers: dict[int, Reader] = field(default_factory=dict)
    writers: dict[int, Writer] = field(default_factory=dict)
    tasks: dict[int, Task] = field(default_factory=dict)
    plain_events: list[int] = field(default_factory=list)
    event_bits: dict[int, int] = field(default_factory=dict)
    starts: set[int] = field(default_factory=set)

    @cached_property
    def rules(self) -> dict[int, int]:
        """What the counting core does itself at each offset."""
        found = {}
        for offset in self.resets:
            rule = 0 if offset in self.readers else PLAIN_READ
            found[offset] = rule if offset in self.writers else rule | PLAIN_WRITE
        return found | dict.fromkeys(self.plain_events, PLAIN_READ | EVENT_WRITE)


@lru_cache
def _contents(layout: RegisterLayout, size: int) -> bytes:
    """The reset values of a block of ``size`` bytes."""
    content = bytearray(size)
    for offset, value in layout.resets.items():
        if value:
            content[offset : offset + 4] = value.to_bytes(4, "little")
    return bytes(content)


def _zero(_device: Device) -> int:
    """The value of a write-only register."""
    return 0


def _ignore(_device: Device, _value: int) -> None:
    """Ignores a write to a read-only register."""


def _method(kind: type[Device], name: str, index: int | None) -> Callable[..., Any] | None:
    """The method ``name`` of a class, for element ``index`` of an array; None if there is none."""
    function: Callable[..., Any] | None = getattr(kind, name, None)
    if function is None or index is None:
        return function
    return lambda device, *value: function(device, index, *value)


class Device:
    """A block of registers; each is storage unless the model has a method for it."""

    REGISTERS: ClassVar[tuple[Register, ...]] = ()
    #: Attributes that a snapshot saves besides the registers: immutable values or flat lists.
    STATE: ClassVar[tuple[str, ...]] = ()
    #: Tags of scheduled events for which a run waits though no interrupt may follow.
    AWAITED: ClassVar[tuple[str, ...]] = ()
    layout: ClassVar[RegisterLayout] = RegisterLayout()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.layout = cls._lay_out()

    @classmethod
    def _lay_out(cls) -> RegisterLayout:
        layout = RegisterLayout()
        for register in cls.REGISTERS:
            name = register.name.lower()
            for index, offset in enumerate(register.offsets()):
                own = index if register.count > 1 else None
                reader = _method(cls, f"read_{name}", own)
                writer = _method(cls, f"write_{name}", own)
                layout.resets[offset] = register.reset
                if reader or "r" not in register.access:
                    layout.readers[offset] = reader or _zero
                if writer or "w" not in register.access:
                    layout.writers[offset] = writer or _ignore
        return layout

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.chip = chip
        self.block = block
        self.name = block.name
        self.irq = block.irq
        self.size = block.size
        self.regs = chip.register_file(block.size)
        self._contents = _contents(self.layout, block.size)
        self.reset()

    def connect(self, devices: Mapping[str, Device]) -> None:
        """Stores references to other devices; called once, when all of the chip exist."""

    def reset(self) -> None:
        """Sets all registers to their reset values."""
        self.regs.load(self._contents)

    def read(self, offset: int) -> int:
        """The word at ``offset`` (a multiple of four)."""
        reader = self.layout.readers.get(offset)
        if reader:
            return reader(self)
        if offset not in self.layout.resets:
            self.chip.unmodelled(f"{self.name}+0x{offset:x}", "read")
        return self.regs[offset]

    def write(self, offset: int, value: int) -> None:
        """Writes the word at ``offset`` (a multiple of four)."""
        writer = self.layout.writers.get(offset)
        if writer:
            writer(self, value)
            return
        if offset not in self.layout.resets:
            self._undeclared(offset, value)
        self.regs[offset] = value

    def _undeclared(self, offset: int, value: int) -> None:
        """Reports a write to an undeclared register; those below SUBSCRIBE are tasks."""
        if offset < SUBSCRIBE and value & 1:
            name = self.block.task(offset)
            self.chip.report(Kind.UNMODELLED_TASK, name, unmodelled_task(name))
        else:
            self.chip.unmodelled(f"{self.name}+0x{offset:x}", "written")

    def serve(self) -> Registers:
        """The registers, with rules for the accesses that the counting core handles itself."""
        serve = self.regs.serve
        for offset, rule in self.layout.rules.items():
            serve(offset, rule)
        return self.regs

    def register_name(self, offset: int) -> str:
        """The name of the register that contains the byte at ``offset``."""
        for register in self.REGISTERS:
            if offset & ~3 in register.offsets():
                index = register.offsets().index(offset & ~3)
                return f"{register.name}[{index}]" if register.count > 1 else register.name
        return f"0x{offset & ~3:x}"

    def awaits(self, tag: str) -> bool:
        """Whether a run waits for a scheduled event though no interrupt may follow."""
        return tag in self.AWAITED

    @property
    def exception(self) -> int | None:
        """The exception that its events make pending; None if firmware has enabled none."""
        return None if self.irq is None else FIRST_IRQ + self.irq

    def fire(self, tag: str) -> None:
        """Handles a scheduled event that is due (:meth:`Chip.schedule`)."""
        raise NotImplementedError(f"{self.name} scheduled no event {tag!r}")

    def state(self) -> State:
        """The state for a snapshot."""
        kept: State = {name: _copy(getattr(self, name)) for name in self.STATE}
        kept["regs"] = self.regs.save()
        return kept

    def holds(self, state: State) -> bool:
        """True if the device is in ``state``, as returned by :meth:`state`."""
        return self.regs.holds(state["regs"]) and all(
            getattr(self, name) == state[name] for name in self.STATE
        )

    def restore(self, state: State) -> None:
        """Restores a state returned by :meth:`state`."""
        self.regs.load(state["regs"])
        for name in self.STATE:
            setattr(self, name, _copy(state[name]))


class Nordic(Device):
    """A peripheral with tasks and events.

    ``TASKS`` and ``EVENTS`` map names to offsets.
    """

    TASKS: ClassVar[dict[str, int]] = {}
    EVENTS: ClassVar[dict[str, int]] = {}
    #: Bit of SHORTS -> (event, task).
    SHORTS: ClassVar[dict[int, tuple[str, str]]] = {}
    INTERRUPTS: ClassVar[bool] = True
    #: Event, without its index -> the tasks of which one must be triggered before it can occur.
    STARTED_BY: ClassVar[dict[str, tuple[str, ...]]] = {}

    @classmethod
    def _lay_out(cls) -> RegisterLayout:
        layout = super()._lay_out()
        for name, offset in cls.TASKS.items():
            stem, index = _split(name)
            task = _method(cls, f"task_{stem}", index)
            assert task is not None, f"{cls.__name__} has no task_{stem}"
            layout.tasks[offset] = task
            layout.resets[offset] = layout.resets[offset + SUBSCRIBE] = 0
            layout.readers[offset] = _zero
            layout.writers[offset] = _at(cls._write_task, offset)
            layout.writers[offset + SUBSCRIBE] = _at(cls._write_subscribe, offset)
        for name, offset in cls.EVENTS.items():
            layout.resets[offset] = layout.resets[offset + PUBLISH] = 0
            layout.event_bits[offset] = 1 << (offset - 0x100 >> 2)
            cls._wire(layout, offset, f"events_{name}")
            cls._wire(layout, offset + PUBLISH, f"publish_{name}")
            if offset not in layout.writers:
                layout.plain_events.append(offset)
                layout.writers[offset] = _at(cls.write_event, offset)
        starts = (cls.TASKS[task] for tasks in cls.STARTED_BY.values() for task in tasks)
        layout.starts.update(starts)
        if cls.SHORTS:
            layout.resets[SHORTS] = 0
        if cls.INTERRUPTS:
            cls._add_interrupts(layout)
        return layout

    @classmethod
    def _wire(cls, layout: RegisterLayout, offset: int, name: str) -> None:
        if reader := _method(cls, f"read_{name.lower()}", None):
            layout.readers[offset] = reader
        if writer := _method(cls, f"write_{name.lower()}", None):
            layout.writers[offset] = writer

    @classmethod
    def _add_interrupts(cls, layout: RegisterLayout) -> None:
        write = cls._write_inten
        layout.resets.update(dict.fromkeys((INTEN, INTENSET, INTENCLR, INTPEND), 0))
        layout.readers[INTENSET] = layout.readers[INTENCLR] = lambda device: device.regs[INTEN]
        layout.readers[INTPEND] = lambda device: device.regs[INTEN] & device._raised()
        layout.writers[INTEN] = write
        layout.writers[INTENSET] = lambda device, bits: write(device, device.regs[INTEN] | bits)
        layout.writers[INTENCLR] = lambda device, bits: write(device, device.regs[INTEN] & ~bits)
        layout.writers[INTPEND] = _ignore

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.subscriptions: dict[int, list[int]] = {}
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        self.triggered = 0  # a bit for each word: tasks that start it, executed since the reset
        self.subscriptions = {}
        self.chip.rewired()
        self.regs.level = False
        self.regs.stops_itself = 0
        if self.irq is not None and self.INTERRUPTS:
            self.regs.irq = self.irq

    def state(self) -> State:
        return super().state() | {"triggered": self.triggered}

    def holds(self, state: State) -> bool:
        return super().holds(state) and self.triggered == state["triggered"]

    def restore(self, state: State) -> None:
        super().restore(state)
        self.triggered = state["triggered"]
        self.regs.level = self.INTERRUPTS and bool(self.regs[INTEN] & self._raised())
        self.subscriptions = {}
        self.chip.rewired()
        for offset in self.layout.tasks:
            self._subscribe(offset, self.regs[offset + SUBSCRIBE])

    def register_name(self, offset: int) -> str:
        word = offset & ~3
        named = {at: f"TASKS_{name}" for name, at in self.TASKS.items()}
        named |= {at: f"EVENTS_{name}" for name, at in self.EVENTS.items()}
        named |= {SHORTS: "SHORTS", INTEN: "INTEN", INTENSET: "INTENSET", INTENCLR: "INTENCLR"}
        return named.get(word) or super().register_name(offset)

    # tasks

    def execute(self, offset: int) -> None:
        """Executes the task at an offset."""
        if offset in self.layout.starts:
            self.triggered |= 1 << (offset >> 2)
        if self.chip.nested == MOST_NESTED:
            text = endless(self.name)
            self.chip.report(Kind.UNMODELLED_TASK, f"{self.name} DPPI", text)
            return
        self.chip.nested += 1
        try:
            self.layout.tasks[offset](self)
        finally:
            self.chip.nested -= 1

    def _write_task(self, offset: int, value: int) -> None:
        if value & 1:
            self.execute(offset)

    def _write_subscribe(self, offset: int, value: int) -> None:
        for tasks in self.subscriptions.values():
            if offset in tasks:
                tasks.remove(offset)
        self.regs[offset + SUBSCRIBE] = value
        self._subscribe(offset, value)
        self.chip.rewired()

    def _subscribe(self, offset: int, value: int) -> None:
        if value & ENABLE_BIT:
            self.subscriptions.setdefault(value & 0xFF, []).append(offset)

    def trigger_subscribers(self, channel: int) -> None:
        """Executes the tasks that are subscribed to a DPPI channel."""
        for offset in tuple(self.subscriptions.get(channel, ())):
            self.execute(offset)

    # events

    @property
    def exception(self) -> int | None:
        if self.irq is None or not self.INTERRUPTS or not self.regs[INTEN]:
            return None
        return FIRST_IRQ + self.irq

    @property
    def raised(self) -> list[str]:
        """The events that drive the interrupt line."""
        bits = self.regs[INTEN] & self._raised()
        return [name for name, at in self.EVENTS.items() if self.layout.event_bits[at] & bits]

    def polled(self, offset: int) -> str:
        """Why an event that firmware polls does not come; "" if it has, and for other registers."""
        event = next((name for name, at in self.EVENTS.items() if at == offset), "")
        if not event or self.regs[offset]:
            return ""
        text = f"{self.name}.EVENTS_{event} is polled, and stays 0"
        tasks = self.STARTED_BY.get(_stem(event), ())
        wired = any(self.regs[self.TASKS[task] + SUBSCRIBE] for task in tasks)
        if not tasks or wired or any(map(self._was_triggered, tasks)):
            return text
        names = " or ".join(f"TASKS_{task}" for task in tasks)
        return f"{text}: {names} was never triggered"

    def missing(self) -> str:
        """What the events lack whose interrupts are enabled, so that none can occur; or ""."""
        tasks = self._awaited
        if not tasks or any(map(self._was_triggered, tasks)) or self.awaited_channels:
            return ""
        names = " or ".join(f"TASKS_{task}" for task in tasks)
        events = ", ".join(self._interrupting)
        return f"{self.name} has INTENSET for {events}, and was never started ({names})"

    def listens(self) -> bool:
        """Whether something from outside the chip may raise an event whose interrupt is enabled."""
        return False

    @property
    def awaited_channels(self) -> list[int]:
        """The DPPI channels that may trigger the tasks that enabled interrupts wait for."""
        subscribed = [self.regs[self.TASKS[task] + SUBSCRIBE] for task in self._awaited]
        return [value & 0xFF for value in subscribed if value & ENABLE_BIT]

    @property
    def _interrupting(self) -> list[str]:
        """The events whose interrupts are enabled."""
        enabled, bits = self.regs[INTEN] if self.INTERRUPTS else 0, self.layout.event_bits
        return [name for name, at in self.EVENTS.items() if bits[at] & enabled]

    @property
    def _awaited(self) -> tuple[str, ...]:
        """The tasks that lead to these events; none if one of them may occur without."""
        starts = [self.STARTED_BY.get(_stem(name), ()) for name in self._interrupting]
        return tuple(dict.fromkeys(task for each in starts for task in each if all(starts)))

    def _was_triggered(self, task: str) -> bool:
        return bool(self.triggered >> (self.TASKS[task] >> 2) & 1)

    def channels(self) -> Iterator[int]:
        """The DPPI channels on which it publishes events."""
        for offset in self.layout.event_bits:
            published = self.regs[offset + PUBLISH]
            if published & ENABLE_BIT:
                yield published & 0xFF

    def event(self, name: str) -> None:
        """Raises an event: sets its register, then drives interrupt, shortcuts and DPPI."""
        offset = self.EVENTS[name]
        if not self.regs.raise_event(offset):
            return
        self.update_line()
        shorts = self.regs[SHORTS]
        if shorts:
            for bit, (event, task) in self.SHORTS.items():
                if event == name and shorts >> bit & 1:
                    self.execute(self.TASKS[task])
        published = self.regs[offset + PUBLISH]
        if published & ENABLE_BIT:
            self.chip.publish(published & 0xFF, self)

    def write_event(self, offset: int, value: int) -> None:
        """Sets or clears an event as the firmware wrote it."""
        self.regs[offset] = value & 1
        self.update_line()

    def _raised(self) -> int:
        """The raised events, as bits of INTEN."""
        return sum(bit for offset, bit in self.layout.event_bits.items() if self.regs[offset])

    def _write_inten(self, value: int) -> None:
        self.regs[INTEN] = value & 0xFFFF_FFFF
        self.update_line()

    def update_line(self) -> None:
        """Drives the interrupt line from the events and INTEN."""
        if self.irq is not None and self.INTERRUPTS:
            enabled = self.regs[INTEN]
            level = bool(enabled and enabled & self._raised())
            if level != self.regs.level:
                self.regs.level = level
                self.chip.line(self.irq, level)


def numbered(stem: str, offset: int, count: int, stride: int = 4) -> dict[str, int]:
    """Names and offsets of an array of tasks or events: ``{"COMPARE[0]": 0x140, ...}``."""
    return {f"{stem}[{i}]": offset + i * stride for i in range(count)}


def _at(method: Callable[[Any, int, int], None], offset: int) -> Writer:
    """A method that writes the register at an offset."""
    return lambda device, value: method(device, offset, value)


def _stem(event: str) -> str:
    """The name of an event without its index."""
    return event.partition("[")[0]


def _split(name: str) -> tuple[str, int | None]:
    stem, bracket, rest = name.lower().partition("[")
    return stem.replace(".", "_"), int(rest.rstrip("]")) if bracket else None


def _copy(value: Any) -> Any:
    return value.copy() if isinstance(value, list | dict | set | bytearray) else value
