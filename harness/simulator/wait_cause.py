"""The question after a run without an end: what does the core wait for, and why does it not come?

Each answer is read from registers: an interrupt that is pending and masked, an event that its
handler does not clear, a timer that nobody started. Without such evidence there is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from harness.base.exceptions import FIRST_IRQ, IPSR, SYSTICK, exception_name
from harness.base.masked import Masks, not_enabled
from harness.base.platforms import ChipTable
from harness.elf import Image
from harness.simulator.event_queue import EventListener
from harness.simulator.nvic import NUMBER
from harness.simulator.peripherals.base import INTEN, Nordic
from harness.simulator.peripherals.counter import CC, Counter
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.rtc import Rtc
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.systick import SysTick
from harness.simulator.unicorn import Reg
from harness.simulator.wakeup import Effect, WakeUp

if TYPE_CHECKING:
    from harness.simulator._native import Core, Nvic

#: The instructions in which Core.sleeping is 1 and 2.
_WAITS = ("", "WFI", "WFE")
_ISER = 0x100  # offset of NVIC_ISER0 in the system control space
#: Returns of a handler whose line is still high. One that clears an event of several at each entry,
#: or reads a FIFO byte by byte, needs fewer.
_NEVER_CLEARED = 1000
#: Entries of a handler, each from its own return, after which nothing else is said to run.
_STARVES = 100
#: Instructions of the longest loop that the core skips, and more.
_LONGEST_LOOP = 4096
#: Symbols of kernels (Zephyr, FreeRTOS), whose drivers enable interrupts long before they start a
#: peripheral.
_KERNELS = ("_kernel", "pxCurrentTCB")


class WaitCause:
    """Answers the question for one chip; ``listeners`` are its devices and timers by name."""

    def __init__(
        self,
        core: Core,
        nvic: Nvic,
        wakeup: WakeUp,
        listeners: Mapping[str, EventListener],
        dppic: Dppic,
        chip: ChipTable,
    ) -> None:
        self._core, self._nvic, self._wakeup, self._chip = core, nvic, wakeup, chip
        self._dppic = dppic
        self._nordic = [one for one in listeners.values() if isinstance(one, Nordic)]
        self._timers = [one for one in listeners.values() if isinstance(one, SysTick)]

    def text(self, firmware: Image) -> str:
        """The cause in one line; "" if there is no evidence of any."""
        if storm := self._storm():
            return storm
        if not self._core.sleeping and not self._idles():
            return ""
        has_kernel = any(firmware.symbol(name) for name in _KERNELS)
        causes = [self._polled(), self._masked(), self._masked_later()]
        if not self._listens():
            causes += [
                self._disabled(),
                self._missing(firmware, has_kernel=has_kernel),
                self._unlinked(),
                self._not_enabled(),
                self._late(has_kernel=has_kernel),
            ]
        return next((cause for cause in causes if cause), "")

    def _listens(self) -> bool:
        """Whether something from outside may wake the core: input, a pin."""
        return any(
            one.irq is not None and self._enabled(FIRST_IRQ + one.irq) and one.listens()
            for one in self._nordic
        )

    def _idles(self) -> bool:
        """Whether the core is in a loop that has no effect, or before a branch to itself."""
        core = self._core
        return core.stands or core.executed - core.skipped_to < _LONGEST_LOOP

    def _polled(self) -> str:
        """The event that the core polls, if it does."""
        if self._core.sleeping or self._core.stands:
            return ""
        found = self._chip.answering(self._core.polled)
        if found is None:
            return ""
        block, base = found
        devices = (one for one in self._nordic if one.block.offset == block.offset)
        return next((one.polled(self._core.polled - base) for one in devices), "")

    # handlers that run again and again

    def _storm(self) -> str:
        """A handler that is entered again as soon as it returns."""
        for device in self._nordic:
            number = device.exception
            if number is not None and self._nvic.counts(number)[1] >= _NEVER_CLEARED:
                return self._uncleared(device, number)
        number, times = self._nvic.last & NUMBER, self._nvic.in_row
        if not number or times < _STARVES:
            return ""
        name = exception_name(number, self._chip)
        return f"{name} is pending again whenever its handler returns, {times:,} times in a row"

    def _uncleared(self, device: Nordic, number: int) -> str:
        """A handler that returns and leaves its event set."""
        events = ", ".join(f"EVENTS_{name}" for name in device.raised)
        times = self._nvic.counts(number)[1]
        return (
            f"the handler of {device.name} does not clear {events}: it was entered {times:,} times"
        )

    # interrupts that are not taken

    def masked(self) -> str:
        """Why an interrupt that is or will be pending does not end the rest; "" without one."""
        return self._masked() or self._masked_later() or self._disabled()

    def _masked(self) -> str:
        """What masks the exception that is pending first; "" if nothing does, or none is."""
        number = self._nvic.best()
        if not number or self._core.effect_of(number) & Effect.PREEMPTS:  # it is taken next
            return ""
        priority = self._nvic.group_priority(number)
        return self._masks().of_pending(number & NUMBER, self._chip, priority=priority)

    def _masks(self) -> Masks:
        read = self._core.read
        return Masks(
            bool(read(Reg.FAULTMASK) & 1),
            bool(read(Reg.PRIMASK) & 1),
            read(Reg.BASEPRI),
            read(Reg.XPSR) & IPSR,
            _WAITS[self._core.sleeping],
        )

    def _masked_later(self) -> str:
        """An interrupt that will be pending, and whose priority BASEPRI masks: it wakes no WFI."""
        masks = self._masks()
        for device in self._wakeup.active():
            number = device.exception
            if number is not None and self._enabled(number):
                priority = self._nvic.group_priority(number)
                if cause := masks.of_coming(number, self._chip, priority=priority):
                    return cause
        return ""

    def _disabled(self) -> str:
        """An interrupt that is pending, or will be, and that the NVIC does not enable.

        Not of a UARTE: firmware that polls it may set INTEN for WFE alone.
        """
        coming = {one.exception for one in self._wakeup.active()}
        polled = {one.exception for one in self._nordic if isinstance(one, Uarte)}
        for number in range(FIRST_IRQ, FIRST_IRQ + self._nvic.irqs):
            pending = self._nvic.is_pending(number)
            if not pending and number not in coming:
                continue
            if number not in polled and not self._enabled(number):
                return not_enabled(number, self._chip, pending=pending)
        return ""

    def _enabled(self, number: int) -> bool:
        irq = number - FIRST_IRQ
        return bool(self._nvic.read(_ISER + 4 * (irq // 32), False) >> irq % 32 & 1)

    # interrupts that do not come

    def _missing(self, firmware: Image, *, has_kernel: bool) -> str:
        """What a peripheral lacks whose interrupts are enabled and never came."""
        handler = firmware.symbol("SysTick_Handler")
        has_handler = handler is not None and handler.binding == "global"
        if not self._nvic.counts(SYSTICK)[0]:
            lacks = [one.missing(has_handler=has_handler) for one in self._timers]
            if any(lacks):
                return next(filter(None, lacks))
        kinds: type[Nordic] = Counter if has_kernel else Nordic
        found = (one.missing() for one in self._silent() if isinstance(one, kinds))
        return next((text for text in found if text), "")

    def _unlinked(self) -> str:
        """A DPPI channel that is to start a peripheral, and cannot."""
        published = {channel for one in self._nordic for channel in one.channels()}
        for device in self._silent():
            for channel in device.awaited_channels:
                what = f"{device.name} is to be started by DPPI channel {channel}"
                if not self._dppic.enabled(channel):
                    return f"{what}, which is not enabled (DPPIC.CHEN)"
                if channel not in published:
                    return f"{what}, on which nothing publishes"
        return ""

    def _not_enabled(self) -> str:
        """A timer that runs with a compare value, enabled in the NVIC, and not in INTENSET."""
        for device in self._silent():
            if not isinstance(device, Counter) or not device.running or device.regs[INTEN]:
                continue
            if device.irq is not None and self._enabled(FIRST_IRQ + device.irq):
                for channel in device.set_channels:
                    what = f"has CC[{channel}] and is enabled in the NVIC, and INTENSET is 0"
                    return f"{device.name} {what}"
        return ""

    def _late(self, *, has_kernel: bool) -> str:
        """A timer, the only one to wake the core, whose first interrupt is still to come."""
        waking = [one for one in self._wakeup.active() if one.exception is not None]
        if not self._core.sleeping or len(waking) != 1 or not isinstance(waking[0], Counter):
            return ""
        device = waking[0]
        first = device.first_interrupt()
        prescaler = device.regs[device.PRESCALER]
        # A kernel sets its RTC far ahead when it has nothing to do.
        by_kernel = isinstance(device, Rtc) and has_kernel
        if first is None or by_kernel or device not in self._silent():
            return ""
        time, channel = first
        seconds = time / self._chip.cpu_hz
        return (
            f"{device.name} interrupts first at {seconds:,.0f} s: CC[{channel}] is"
            f" {device.regs[CC + 4 * channel]:,}, PRESCALER {prescaler}"
        )

    def _silent(self) -> Sequence[Nordic]:
        """The peripherals whose interrupt has not been taken since the reset."""
        return [
            one
            for one in self._nordic
            if one.irq is not None and not self._nvic.counts(FIRST_IRQ + one.irq)[0]
        ]
