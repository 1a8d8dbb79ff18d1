"""RTC0 and RTC1: 24-bit counters on the 32 768 Hz clock (nRF9160 PS, "RTC")."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.simulator.peripherals.base import COUNT, INTEN, Register, numbered
from harness.simulator.peripherals.counter import Counter

if TYPE_CHECKING:
    from harness.simulator._native import Registers

WRAP = 1 << 24
CHANNELS = 4
EVTEN, _COUNTER = 0x340, 0x504
_BITS = {"TICK": 1 << 0, "OVRFLW": 1 << 1} | {f"COMPARE[{n}]": 1 << 16 + n for n in range(CHANNELS)}


class Rtc(Counter):
    """The counter is computed from the virtual time; only wanted events cost anything.

    An event is raised only if EVTEN or INTEN enables it. A CC that equals the counter matches one
    whole turn later, as on the chip.
    """

    TASKS: ClassVar[dict[str, int]] = {"START": 0, "STOP": 4, "CLEAR": 8, "TRIGOVRFLW": 12}
    EVENTS: ClassVar[dict[str, int]] = {"TICK": 0x100, "OVRFLW": 0x104} | numbered(
        "COMPARE", 0x140, CHANNELS
    )
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(EVTEN, "EVTEN"),
        Register(0x344, "EVTENSET"),
        Register(0x348, "EVTENCLR"),
        Register(_COUNTER, "COUNTER", access="r"),
        Register(0x508, "PRESCALER"),
        Register(0x540, "CC", count=CHANNELS),
    )
    STATE: ClassVar[tuple[str, ...]] = ("running", "base", "edge")

    def reset(self) -> None:
        clocks = self.chip.memory_map
        self.regs.edges, self.regs.ticks = clocks.lfclk_hz, clocks.cpu_hz
        super().reset()
        self.edge = 0

    def serve(self) -> Registers:
        super().serve()
        self.regs.serve(_COUNTER, COUNT)
        return self.regs

    # The counting core holds these to answer reads of the counter.

    @property
    def running(self) -> bool:
        """Between START and STOP."""
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

    # time: edge n of the 32 768 Hz clock lies at tick ceil(n * cpu_hz / lfclk_hz)

    def _edge_now(self) -> int:
        clocks = self.chip.memory_map
        return self.chip.now * clocks.lfclk_hz // clocks.cpu_hz

    def _tick_of(self, edge: int) -> int:
        clocks = self.chip.memory_map
        return -(-edge * clocks.cpu_hz // clocks.lfclk_hz)

    @property
    def _step(self) -> int:
        return (self.regs[0x508] & 0xFFF) + 1

    def _total(self) -> int:
        """The counter as if it did not wrap."""
        return self.regs.count(self.chip.now)

    def _rebase(self, value: int) -> None:
        self.base = value % WRAP
        self.edge = self._edge_now()
        self._arrange()

    def read_counter(self) -> int:
        return self._total() % WRAP

    def task_trigovrflw(self) -> None:
        self._rebase(0xFFFFF0)

    def write_prescaler(self, value: int) -> None:
        """Has an effect only while the counter is stopped, as on the chip."""
        if not self.running:
            self.regs[0x508] = value & 0xFFF

    def write_cc(self, index: int, value: int) -> None:
        self.regs[0x540 + 4 * index] = value & 0xFF_FFFF
        self._arrange_one(f"COMPARE[{index}]")

    def read_evtenset(self) -> int:
        return self.regs[EVTEN]

    read_evtenclr = read_evtenset

    def write_evten(self, value: int) -> None:
        changed = self.regs[EVTEN] ^ value
        self.regs[EVTEN] = value
        self._arrange(changed)

    def write_evtenset(self, value: int) -> None:
        self.write_evten(self.regs[EVTEN] | value)

    def write_evtenclr(self, value: int) -> None:
        self.write_evten(self.regs[EVTEN] & ~value)

    def _write_inten(self, value: int) -> None:
        changed = self.regs[INTEN] ^ value
        super()._write_inten(value)
        self._arrange(changed)

    def _arrange(self, concerned: int = ~0) -> None:
        """Schedule the events whose bit of EVTEN and INTEN is in ``concerned``."""
        for name, bit in _BITS.items():
            if bit & concerned:
                self._arrange_one(name)

    def _arrange_one(self, name: str) -> None:
        wanted = (self.regs[EVTEN] | self.regs[INTEN]) & _BITS[name]
        if not (wanted and self.running):
            self.chip.cancel(self.name, name)
            return
        total = self._total()
        if name == "TICK":
            ahead = 1
        elif name == "OVRFLW":
            ahead = WRAP - total % WRAP
        else:
            target = self.regs[self.EVENTS[name] - 0x140 + 0x540]
            ahead = (target - total) % WRAP or WRAP
        edge = self.edge + (total - self.base + ahead) * self._step
        self.chip.schedule(self.name, name, self._tick_of(edge))

    def fire(self, tag: str) -> None:
        self.event(tag)
        self._arrange_one(tag)
