"""RTC0 and RTC1: 24-bit counters on the 32 768 Hz clock (nRF9160 PS, "RTC")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from harness.base.findings import Kind
from harness.simulator.peripherals.base import (
    COUNT,
    INTEN,
    INTENCLR,
    INTENSET,
    PLAIN_READ,
    SCHEDULE,
    Device,
    Register,
    numbered,
)
from harness.simulator.peripherals.clock import Clock
from harness.simulator.peripherals.counter import Counter

if TYPE_CHECKING:
    from harness.simulator._native import Registers

WRAP = 1 << 24
CHANNELS = 4
EVTEN, EVTENSET, EVTENCLR = 0x340, 0x344, 0x348
_COUNTER, _PRESCALER, _CC = 0x504, 0x508, 0x540
_CCS = tuple(_CC + 4 * n for n in range(CHANNELS))
_ENABLES = (INTEN, INTENSET, INTENCLR, EVTEN, EVTENSET, EVTENCLR)
_COMPARE = 1 << 16  # bit of COMPARE[0] in EVTEN and INTEN
_MISSED = tuple(f"missed {n}" for n in range(CHANNELS))
_UNCLOCKED = "no clock"
#: A CC that lies less than so many counts ahead when it is written may miss its count.
SOONEST = 2
#: Edges of LFCLK (2 ms) within which firmware must repair a compare value that was missed, or start
#: the clock. Drivers that look at COUNTER after they wrote CC, as Zephyr's does, take microseconds.
PATIENCE = 64


class Rtc(Counter):
    """The counter is computed from the virtual time; only wanted events cost anything.

    The counting core knows when they come, and raises those that are not published
    (native/rtc.c).
    An event is raised only if EVTEN or INTEN enables it. A CC that equals the counter when it is
    written, or is one more, is met one whole turn later: the chip may miss it ("COMPARE").
    The counter stands until LFCLK runs.
    """

    TASKS: ClassVar[dict[str, int]] = {"START": 0, "STOP": 4, "CLEAR": 8, "TRIGOVRFLW": 12}
    EVENTS: ClassVar[dict[str, int]] = {"TICK": 0x100, "OVRFLW": 0x104} | numbered(
        "COMPARE", 0x140, CHANNELS
    )
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(EVTEN, "EVTEN"),
        Register(EVTENSET, "EVTENSET"),
        Register(EVTENCLR, "EVTENCLR"),
        Register(_COUNTER, "COUNTER", access="r"),
        Register(_PRESCALER, "PRESCALER"),
        Register(_CC, "CC", count=CHANNELS),
    )
    STATE: ClassVar[tuple[str, ...]] = (
        "running", "base", "edge", "schedule", "started", "missed", "blame",
    )  # fmt: skip

    def reset(self) -> None:
        clocks = self.chip.memory_map
        self.regs.edges, self.regs.ticks = clocks.lfclk_hz, clocks.cpu_hz
        self.regs.soonest = SOONEST
        super().reset()
        self.schedule = b""
        self.edge = 0
        #: Between START and STOP; it is :attr:`running` only while LFCLK runs, too.
        self.started = False
        #: The code that started it, or stopped its clock, when LFCLK did not run.
        self.blame = 0
        #: By channel: the count that CC missed; counter and code's address when it was written.
        self.missed: dict[int, tuple[int, int, int]] = {}

    def connect(self, devices: Mapping[str, Device]) -> None:
        clock = devices["CLOCK"]
        assert isinstance(clock, Clock)
        self._clock = clock
        clock.drive(self._follow_clock)

    def serve(self) -> Registers:
        super().serve()
        self.regs.serve(_COUNTER, COUNT)
        for offset in (*_ENABLES, *_CCS):
            self.regs.serve(offset, PLAIN_READ | SCHEDULE)
        return self.regs

    # The counting core holds these to answer reads of the counter, and to raise events.

    @property
    def running(self) -> bool:
        """The counter counts."""
        return self.regs.running

    @running.setter
    def running(self, value: bool) -> None:
        self.regs.running = value

    @property
    def base(self) -> int:
        """The value of the counter at :attr:`edge`."""
        return self.regs.base

    @base.setter
    def base(self, value: int) -> None:
        self.regs.base = value

    @property
    def edge(self) -> int:
        """The number of the LFCLK edge at which the counter was :attr:`base`."""
        return self.regs.since

    @edge.setter
    def edge(self, value: int) -> None:
        self.regs.since = value

    @property
    def schedule(self) -> bytes:
        """When the events come, and the counts that are missed; empty after a reset."""
        return self.regs.schedule

    @schedule.setter
    def schedule(self, value: bytes) -> None:
        self.regs.schedule = value

    # the clock

    def task_start(self) -> None:
        if self.started:
            return
        self.started = True
        if self._clock.lfclk_runs:
            super().task_start()
        else:
            self._expect_clock()

    def task_stop(self) -> None:
        self.started = False
        self.chip.cancel(self.name, _UNCLOCKED)
        super().task_stop()

    def _follow_clock(self, runs: bool) -> None:
        if not self.started:
            return
        if runs:
            self.chip.cancel(self.name, _UNCLOCKED)
            super().task_start()
        else:
            super().task_stop()
            if self.regs[EVTEN] | self.regs[INTEN]:
                self._expect_clock()

    def _expect_clock(self) -> None:
        """Somebody must start LFCLK soon; Zephyr does so a few instructions after START."""
        self.blame = self.chip.pc
        self.chip.schedule(self.name, _UNCLOCKED, self._tick_of(self._edge_now() + PATIENCE))

    def _report_clock(self) -> None:
        """The nRF52840 PS ("RTC") says that software starts LFCLK; the nRF9151's, that the RTC
        then takes LFRC. Of the nRF9160 nobody here could look it up.
        """
        if not self._clock.regs[0x414]:  # LFCLKRUN
            self.chip.report(
                Kind.CLOCK_NOT_RUNNING,
                self.name,
                f"{self.name} was started and stands, because LFCLK does not run:"
                " CLOCK.TASKS_LFCLKSTART was not triggered",
                self.blame,
            )

    # time: edge n of the 32 768 Hz clock lies at tick ceil(n * cpu_hz / lfclk_hz)

    def _edge_now(self) -> int:
        clocks = self.chip.memory_map
        return self.chip.now * clocks.lfclk_hz // clocks.cpu_hz

    def _tick_of(self, edge: int) -> int:
        clocks = self.chip.memory_map
        return -(-edge * clocks.cpu_hz // clocks.lfclk_hz)

    @property
    def _step(self) -> int:
        return (self.regs[_PRESCALER] & 0xFFF) + 1

    def _total(self) -> int:
        """The counter as if it did not wrap."""
        return self.regs.count(self.chip.now)

    def _rebase(self, value: int) -> None:
        self.base = value % WRAP
        self.edge = self._edge_now()
        for index in tuple(self.missed):
            self._forgive(index)
        self.regs.arrange(self.chip.now)
        self.chip.stop_by(self.regs.due)

    def read_counter(self) -> int:
        return self._total() % WRAP

    def task_trigovrflw(self) -> None:
        self._rebase(0xFFFFF0)

    def write_prescaler(self, value: int) -> None:
        """Has an effect only while the counter is stopped, as on the chip."""
        if not self.started:
            self.regs[_PRESCALER] = value & 0xFFF

    # compare values

    def write_cc(self, index: int, value: int) -> None:
        if index in self.missed:
            self._forgive(index)
        if self.running:
            total = self._total()
            ahead = (value - total) % WRAP
            if ahead < SOONEST:
                self.missed[index] = (total + ahead, total % WRAP, self.chip.pc)
                self.regs.skip(index, total + ahead)
                edge = self._edge_of(total, ahead + 1) + PATIENCE
                self.chip.schedule(self.name, _MISSED[index], self._tick_of(edge))
        self._set(_CCS[index], value)

    def _set(self, offset: int, value: int) -> None:
        """Write a register that moves events."""
        self.regs.set_rtc(offset, value, self.chip.now)
        self.update_line()
        self.chip.stop_by(self.regs.due)

    def _forgive(self, index: int) -> None:
        self._forget(index)
        self.chip.cancel(self.name, _MISSED[index])

    def _forget(self, index: int) -> None:
        del self.missed[index]
        self.regs.skip(index, -1)

    def _report_miss(self, index: int) -> None:
        """Firmware relies on a missed value if it neither moved it nor disabled its event."""
        _, counter, pc = self.missed[index]
        if self._wanted() & _COMPARE << index:
            value = self.regs[_CCS[index]]
            self.chip.report(
                Kind.RTC_COMPARE_TOO_CLOSE,
                f"{self.name}.CC[{index}]",
                f"{self.name}.CC[{index}] was set to 0x{value:x} while COUNTER was 0x{counter:x}:"
                f" less than {SOONEST} ahead, it may be met a whole turn later",
                pc,
            )

    # events

    def _wanted(self) -> int:
        return self.regs[EVTEN] | self.regs[INTEN]

    def write_evten(self, value: int) -> None:
        self._set(EVTEN, value)

    def write_evtenset(self, value: int) -> None:
        self._set(EVTENSET, value)

    def write_evtenclr(self, value: int) -> None:
        self._set(EVTENCLR, value)

    def _write_inten(self, value: int) -> None:
        self._set(INTEN, value)

    def settle(self) -> None:
        """Raise the events that are due."""
        while offset := self.regs.take_due(self.chip.now):
            self.event(_EVENT_OF[offset])

    def _edge_of(self, total: int, ahead: int) -> int:
        """The edge at which the counter, which is ``total`` now, has counted ``ahead`` more."""
        return self.edge + (total - self.base + ahead) * self._step

    def fire(self, tag: str) -> None:
        if tag == _UNCLOCKED:
            self._report_clock()
        elif tag in _MISSED:
            index = _MISSED.index(tag)
            self._report_miss(index)
            self._forget(index)
        else:
            super().fire(tag)


_EVENT_OF = {offset: name for name, offset in Rtc.EVENTS.items()}
