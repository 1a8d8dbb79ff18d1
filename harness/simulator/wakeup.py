"""The question at the end of a run: can anything interrupt or wake this core?

A core that sleeps, or branches to itself, rests for good if no exception that the chip can still
make pending would be taken or end its sleep. An event alone does neither: a free-running TIMER
whose INTEN is zero, a SysTick without TICKINT, an RTC with EVTEN only. The priorities and masks are
those of the NVIC (Armv8-M ARM, "Wait For Interrupt", "Wait For Event", ExecutionPriority).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntFlag
from typing import TYPE_CHECKING

from harness.simulator.event_queue import NEVER, EventListener, EventQueue
from harness.simulator.peripherals.base import Nordic
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.rtc import Rtc
from harness.simulator.peripherals.uarte import Uarte

if TYPE_CHECKING:
    from harness.simulator._native import Core


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
        self,
        core: Core,
        events: EventQueue,
        listeners: Mapping[str, EventListener],
        rtcs: Sequence[Rtc],
        dppic: Dppic,
    ) -> None:
        self._core, self._rtcs, self._dppic = core, rtcs, dppic
        self._events, self._listeners = events, listeners
        self._nordic = [one for one in listeners.values() if isinstance(one, Nordic)]

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
            for one in self.active()
        )

    def active(self) -> Iterator[EventListener]:
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
