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
from harness.simulator.peripherals.clock import LFCLKRUN, Clock
from harness.simulator.peripherals.counter import CC, Counter

if TYPE_CHECKING:
    from harness.simulator._native import Registers

WRAP = 1 << 24
CHANNELS = 4
EVTEN, EVTENSET, EVTENCLR = 0x340, 0x344, 0x348
_COUNTER, _PRESCALER = 0x504, 0x508
_CCS = tuple(CC + 4 * n for n in range(CHANNELS))
_ENABLES = (INTEN, INTENSET, INTENCLR, EVTEN, EVTENSET, EVTENCLR)
_COMPARE = 1 << 16  # bit of COMPARE[0] in EVTEN and INTEN
_MISS_TAGS = tuple(f"missed {n}" for n in range(CHANNELS))
_CLOCK_CHECK = "no clock"
#: Smallest distance of CC from COUNTER, in counts, at which COMPARE is certain.
MIN_AHEAD = 2
#: Edges of LFCLK (2 ms) within which firmware must correct a missed compare value, or start LFCLK.
#: Drivers that read COUNTER after writing CC, such as Zephyr's, need microseconds.
REPAIR_EDGES = 64


class Rtc(Counter):
    """A 24-bit counter computed from the virtual time.

    The counting core schedules its events, and raises those that are not published (native/rtc.c).
    An event is raised only if EVTEN or INTEN enables it. If CC equals the counter when it is
    written, or is one more, COMPARE occurs after a whole turn: the chip may miss it ("COMPARE").
    The counter stands still until LFCLK runs.
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
        Register(CC, "CC", count=CHANNELS),
    )
    CHANNELS: ClassVar[int] = CHANNELS
    PRESCALER: ClassVar[int] = _PRESCALER
    AWAITED: ClassVar[tuple[str, ...]] = (_CLOCK_CHECK, *_MISS_TAGS)
    STATE: ClassVar[tuple[str, ...]] = (
        "running", "base", "edge", "schedule", "started", "missed", "blamed_pc",
    )  # fmt: skip

    def reset(self) -> None:
        clocks = self.chip.memory_map
        self.regs.edges, self.regs.ticks = clocks.lfclk_hz, clocks.cpu_hz
        self.regs.soonest = MIN_AHEAD
        super().reset()
        self.regs.schedule = b""
        self.edge = 0
        #: True between START and STOP; :attr:`running` requires LFCLK as well.
        self.started = False
        #: Address of the code that started the RTC without LFCLK, or stopped LFCLK under it.
        self.blamed_pc = 0
        #: By channel: the missed count, and COUNTER and pc when CC was written.
        self.missed: dict[int, tuple[int, int, int]] = {}

    def connect(self, devices: Mapping[str, Device]) -> None:
        clock = devices["CLOCK"]
        assert isinstance(clock, Clock)
        self._clock = clock
        clock.on_lfclk(self._follow_clock)

    def serve(self) -> Registers:
        super().serve()
        self.regs.serve(_COUNTER, COUNT)
        for offset in (*_ENABLES, *_CCS):
            self.regs.serve(offset, PLAIN_READ | SCHEDULE)
        return self.regs

    # These attributes are stored in the counting core, which uses them without calling the model.

    @property
    def running(self) -> bool:
        """True while the counter counts."""
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
        """Times of the next events and missed counts, as an opaque state; empty after a reset."""
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
            self._check_clock_later()

    def task_stop(self) -> None:
        self.started = False
        self.chip.cancel(self.name, _CLOCK_CHECK)
        super().task_stop()

    def _follow_clock(self, runs: bool) -> None:
        if not self.started:
            return
        if runs:
            self.chip.cancel(self.name, _CLOCK_CHECK)
            super().task_start()
        else:
            super().task_stop()
            if self.regs[EVTEN] | self.regs[INTEN]:
                self._check_clock_later()

    def _check_clock_later(self) -> None:
        """Schedules a check that LFCLK runs; Zephyr starts it a few instructions after START."""
        self.blamed_pc = self.chip.pc
        self.chip.schedule(self.name, _CLOCK_CHECK, self._tick_of(self._edge_now() + REPAIR_EDGES))

    def _report_clock(self) -> None:
        """Reports an RTC that was started without LFCLK.

        The nRF52840 PS ("RTC") requires software to start LFCLK; by the nRF9151 PS the RTC falls
        back to LFRC. The nRF9160 PS could not be consulted.
        """
        if not self._clock.regs[LFCLKRUN]:
            self.chip.report(
                Kind.CLOCK_NOT_RUNNING,
                self.name,
                f"{self.name} was started but does not count, because LFCLK does not run:"
                " CLOCK.TASKS_LFCLKSTART was not triggered",
                self.blamed_pc,
            )

    # time: edge n of the 32 768 Hz clock is at tick ceil(n * cpu_hz / lfclk_hz)

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
        return self.regs.count(self.chip.now)

    def _rebase(self, value: int) -> None:
        self.base = value % WRAP
        self.edge = self._edge_now()
        for index in tuple(self.missed):
            self._cancel_miss(index)
        self.regs.arrange(self.chip.now)
        self.chip.stop_by(self.regs.due)

    def read_counter(self) -> int:
        return self._total() % WRAP

    def task_trigovrflw(self) -> None:
        self._rebase(0xFFFFF0)

    def write_prescaler(self, value: int) -> None:
        """Writes PRESCALER; ignored while the counter is started, as on the chip."""
        if not self.started:
            self.regs[_PRESCALER] = value & 0xFFF

    # compare values

    def write_cc(self, index: int, value: int) -> None:
        if index in self.missed:
            self._cancel_miss(index)
        if self.running:
            total = self._total()
            ahead = (value - total) % WRAP
            if ahead < MIN_AHEAD:
                self.missed[index] = (total + ahead, total % WRAP, self.chip.pc)
                self.regs.skip(index, total + ahead)
                edge = self._edge_of(total, ahead + 1) + REPAIR_EDGES
                self.chip.schedule(self.name, _MISS_TAGS[index], self._tick_of(edge))
        self._set(_CCS[index], value)

    def _set(self, offset: int, value: int) -> None:
        """Writes a register on which the times of events depend."""
        self.regs.set_rtc(offset, value, self.chip.now)
        self.update_line()
        self.chip.stop_by(self.regs.due)

    def _cancel_miss(self, index: int) -> None:
        self._clear_miss(index)
        self.chip.cancel(self.name, _MISS_TAGS[index])

    def _clear_miss(self, index: int) -> None:
        del self.missed[index]
        self.regs.skip(index, -1)

    def _report_miss(self, index: int) -> None:
        """Reports a missed compare value that firmware neither changed nor disabled."""
        _, counter, pc = self.missed[index]
        if self._enabled_events() & _COMPARE << index:
            value = self.regs[_CCS[index]]
            self.chip.report(
                Kind.RTC_COMPARE_TOO_CLOSE,
                f"{self.name}.CC[{index}]",
                f"{self.name}.CC[{index}] was set to 0x{value:x} while COUNTER was 0x{counter:x}:"
                f" less than {MIN_AHEAD} ahead, so COMPARE may occur a whole turn later",
                pc,
            )

    # events

    def _enabled_events(self) -> int:
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
        """Raises the events that are due."""
        while offset := self.regs.take_due(self.chip.now):
            self.event(_EVENT_OF[offset])

    def _edge_of(self, total: int, ahead: int) -> int:
        """The edge of LFCLK at which the counter, now ``total``, reaches ``total + ahead``."""
        return self.edge + (total - self.base + ahead) * self._step

    def due(self, channel: int) -> int:
        total = self._total()
        ahead = (self.regs[_CCS[channel]] - total) % WRAP or WRAP
        return self._tick_of(self._edge_of(total, ahead))

    def fire(self, tag: str) -> None:
        if tag == _CLOCK_CHECK:
            self._report_clock()
        elif tag in _MISS_TAGS:
            index = _MISS_TAGS.index(tag)
            self._report_miss(index)
            self._clear_miss(index)
        else:
            super().fire(tag)


_EVENT_OF = {offset: name for name, offset in Rtc.EVENTS.items()}
