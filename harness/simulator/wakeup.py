"""The question at the end of a run: can anything interrupt or wake this core?

A core that sleeps, or branches to itself, rests for good if no exception that the chip can still
make pending would be taken or end its sleep. An event alone does neither: a free-running TIMER
whose INTEN is zero, a SysTick without TICKINT, an RTC with EVTEN only. The priorities and masks are
those of the NVIC (Armv8-M ARM, "Wait For Interrupt", "Wait For Event", ExecutionPriority).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntFlag
from typing import TYPE_CHECKING

from harness.simulator.event_queue import NEVER, EventListener, EventQueue
from harness.simulator.faults import exception_name
from harness.simulator.nvic import FIRST_IRQ, NUMBER
from harness.simulator.peripherals.base import Nordic
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.rtc import Rtc
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.unicorn import Reg

if TYPE_CHECKING:
    from harness.simulator._native import Core, Nvic

_WAIT_FOR_INTERRUPT = 'Armv8-M ARM, "Wait For Interrupt"'
_PRIORITY = 'Armv8-M ARM, "ExecutionPriority"'


_ISER = 0x100  # offset of NVIC_ISER0 in the system control space


class Effect(IntFlag):
    """What an exception would do if it became pending (native/priority.h)."""

    PREEMPTS = 1
    WAKES_WFI = 2
    WAKES_WFE = 4


#: Core.sleeping (0: awake, WFI, WFE) -> the effect that ends the rest.
_ENDS_REST = (Effect.PREEMPTS, Effect.WAKES_WFI, Effect.WAKES_WFE)


class WakeUp:
    """Answers the question for one chip; ``listeners`` are its devices and timers by name."""

    def __init__(
        self, core: Core, nvic: Nvic, events: EventQueue, listeners: Mapping[str, EventListener]
    ) -> None:
        self._core, self._nvic = core, nvic
        self._events, self._listeners = events, listeners
        self._nordic = [one for one in listeners.values() if isinstance(one, Nordic)]
        self._rtcs = [one for one in self._nordic if isinstance(one, Rtc)]
        self._dppic = next(one for one in self._nordic if isinstance(one, Dppic))

    def possible(self) -> bool:
        """Whether anything can interrupt the core, end its sleep, or reset it.

        Bytes that a UARTE is sending are not considered: they end by themselves.
        """
        if any(self._listeners[name].awaits(tag) for name, tag in self._events.keys):
            return True
        ends = _ENDS_REST[self._core.sleeping]
        return any(
            self._prints(one)
            or (one.exception is not None and self._core.effect_of(one.exception) & ends)
            for one in self._active()
        )

    def masked(self) -> str:
        """Why the exception that is pending first does not end the rest; "" if none is pending.

        Names the mask, and what the architecture says of it. Without one: an interrupt that is
        pending and that the NVIC does not enable.
        """
        number = self._nvic.best()
        if not number:
            return self._disabled()
        what = f"{self._named(number & NUMBER)} is pending"
        if self._core.read(Reg.FAULTMASK) & 1:
            return f"{what}, and FAULTMASK is set, which no interrupt preempts ({_PRIORITY})"
        if not self._core.sleeping and self._core.read(Reg.PRIMASK) & 1:
            return (
                f"{what}, and PRIMASK is set: it ends each WFI, and its handler never runs"
                f" ({_WAIT_FOR_INTERRUPT})"
            )
        basepri = self._core.read(Reg.BASEPRI)
        if basepri and self._nvic.group_priority(number) >= basepri:
            return f"{what}, and BASEPRI 0x{basepri:02x} masks its priority ({_PRIORITY})"
        return f"{what}, and its priority is not above that of the running handler ({_PRIORITY})"

    def _disabled(self) -> str:
        """An interrupt that is pending, or will be, and that the NVIC does not enable.

        Not of a UARTE: firmware that polls it may set INTEN for WFE alone.
        """
        coming = {one.exception for one in self._active()}
        polled = {one.exception for one in self._nordic if isinstance(one, Uarte)}
        for number in range(FIRST_IRQ, FIRST_IRQ + self._nvic.irqs):
            if number in polled or self._enabled(number):
                continue
            if self._nvic.is_pending(number):
                return f"{self._named(number)} is pending, and not enabled in the NVIC"
            if number in coming:
                return f"{self._named(number)} will be pending, and is not enabled in the NVIC"
        return ""

    def _enabled(self, number: int) -> bool:
        irq = number - FIRST_IRQ
        return bool(self._nvic.read(_ISER + 4 * (irq // 32), False) >> irq % 32 & 1)

    def _named(self, number: int) -> str:
        """An exception's name; of an interrupt that of its peripheral."""
        owners = (name for name, one in self._listeners.items() if one.exception == number)
        owner = next(owners, "")
        name = exception_name(number)
        return f"{owner} ({name})" if owner and number >= FIRST_IRQ else name

    def _active(self) -> Iterator[EventListener]:
        """What has events to come: scheduled, or caused by others through DPPI."""
        found: dict[int, EventListener] = {}
        waiting = [self._listeners[name] for name, _ in self._events.keys]
        waiting += [rtc for rtc in self._rtcs if rtc.regs.due < NEVER]
        while waiting:
            one = waiting.pop()
            if id(one) in found:
                continue
            found[id(one)] = one
            yield one
            if isinstance(one, Nordic):
                waiting += self._subscribers(one)

    def _subscribers(self, publisher: Nordic) -> list[Nordic]:
        channels = [one for one in publisher.channels() if self._dppic.enabled(one)]
        return [
            device
            for device in self._nordic
            if any(device.subscriptions.get(channel) for channel in channels)
        ]

    def _prints(self, one: EventListener) -> bool:
        """Whether it is a UARTE whose transfers others start through DPPI."""
        if not isinstance(one, Uarte):
            return False
        start = one.TASKS["STARTTX"]
        return any(start in tasks for tasks in one.subscriptions.values())
