"""A chip: its processor, memory and peripherals.

:class:`~harness.simulator.machine.Machine` runs an image on it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from harness.base.exceptions import IPSR, SYSTICK
from harness.base.findings import Kind
from harness.base.platforms import ChipTable, Peripheral
from harness.simulator import loader
from harness.simulator.bus import Bus, WordRegisters
from harness.simulator.engine import Engine
from harness.simulator.event_queue import NEVER, EventListener, EventQueue
from harness.simulator.faults import FaultRecord, target_of
from harness.simulator.loader import LoadedImage
from harness.simulator.nvic import NONSECURE
from harness.simulator.peripherals import MODELS, Device, split
from harness.simulator.peripherals.base import Nordic
from harness.simulator.peripherals.clock import Clock
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.gpio import Gpio
from harness.simulator.peripherals.rtc import Rtc
from harness.simulator.peripherals.split import NonSecureView
from harness.simulator.peripherals.spu import Spu
from harness.simulator.peripherals.texts import dma_refused
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.peripherals.user_models import Maker
from harness.simulator.processor import Processor
from harness.simulator.unicorn import WRITES, Reg
from harness.simulator.wait_cause import WaitCause
from harness.simulator.wakeup import WakeUp

if TYPE_CHECKING:
    from harness.simulator._native import Registers

T = TypeVar("T", bound=Device)


class SimulatedChip:
    """One chip, as its peripherals and its processor see it; :meth:`close` frees it.

    ``memory_map`` is its table; ``image`` is placed in memory. ``booted`` is False for a device
    fresh from the factory, whose UICR is erased; ``power_on`` is the seed of undefined contents;
    ``models`` are a user's. ``taken`` is called with each fault, ``unmodelled`` with a subject
    without a model and its use, ``report`` with kind, subject, message and pc of another finding.
    """

    def __init__(
        self,
        memory_map: ChipTable,
        image: LoadedImage,
        *,
        booted: bool,
        power_on: int,
        models: Mapping[str, Maker],
        taken: Callable[[FaultRecord], None],
        unmodelled: Callable[[str, str], None],
        report: Callable[[Kind, str, str, int], None],
    ) -> None:
        self.memory_map = memory_map
        self.unmodelled, self._report = unmodelled, report
        self._image, self._taken = image, taken
        self._ram = self.memory_map.area("ram")
        self._timed: dict[str, EventListener] = {}
        self.events = EventQueue(self._timed)
        #: RESETREAS bit of a pending reset; None if none is requested.
        self.reset_reason: int | None = None
        #: System OFF: nothing runs until a pin or the debugger resets the chip.
        self.off = False
        self.nested = 0
        self.engine = Engine(self.memory_map)
        self.core, self.nvic = self.engine.core, self.engine.nvic
        self.processor = Processor(self.engine, self, power_on)
        self._timed |= self.processor.timers
        self.devices: dict[str, Device] = {}
        #: DPPI channel -> devices with subscribed tasks, for channels used so far.
        self._listeners: dict[int, tuple[Nordic, ...]] = {}
        for block in self.memory_map.blocks:
            device = models.get(block.name, MODELS[block.model])(self, block)
            self.devices[device.name] = self._timed[device.name] = device
            registers = device.serve()
            for base in block.addresses:
                if (
                    image.non_secure
                    or len(block.bases) == 1
                    or base >= self.memory_map.secure_window
                ):
                    self.core.serve(base, registers)
        for device in self.devices.values():
            device.connect(self.devices)
        self._rtcs = [one for one in self.devices.values() if isinstance(one, Rtc)]
        self._uartes = [one for one in self.devices.values() if isinstance(one, Uarte)]
        self._dppic, self._spu = self.device("DPPIC", Dppic), self.device("SPU", Spu)
        self.wakeup = WakeUp(self.core, self.events, self._timed, self._rtcs, self._dppic)
        self.wait_cause = WaitCause(
            self.core, self.nvic, self.wakeup, self._timed, self._dppic, memory_map
        )
        self.core.set_channels(self._dppic.regs)
        views = self._views()
        for name in views:
            self.devices[name].regs.split = True
        self.bus = Bus(
            self.memory_map, self.engine, self.processor, self.devices, views, self,
            alone=image.non_secure,
        )  # fmt: skip
        self.core.connect(self.bus.access, self._fault, self._spu.violation)
        loader.place(image, self.engine.stores, self.memory_map, booted=booted, power_on=power_on)
        self.core.nonsecure_frames = image.non_secure
        self.core.reset()
        self._start()

    def _start(self) -> None:
        self.processor.start(self._image.vectors)
        if self._image.stacks:
            self.core.watch_stacks(b"".join(struct.pack("<2I", *one) for one in self._image.stacks))

    def _views(self) -> dict[str, WordRegisters]:
        """Split peripherals as non-secure code sees them, by name."""
        spu, devices = self._spu, self.devices
        return {
            "P0": NonSecureView(devices["P0"], split.GPIO, lambda: spu.nonsecure_pins),
            "DPPIC": NonSecureView(devices["DPPIC"], split.DPPI, lambda: spu.nonsecure_channels),
            "NVMC": NonSecureView(devices["NVMC"], split.NVMC, lambda: 0),
        }

    def device(self, name: str, kind: type[T]) -> T:
        """The peripheral ``name``, whose class is known to be ``kind``."""
        device = self.devices[name]
        assert isinstance(device, kind), name
        return device

    # time

    @property
    def now(self) -> int:
        """Virtual time in ticks: instructions, sleep, and extra ticks of taken branches."""
        core = self.core
        return core.executed + core.slept + core.branches

    def schedule(self, device: str, tag: str, time: int) -> None:
        """Schedule a call of ``device.fire(tag)`` at tick ``time``, at which a run stops."""
        self.events.schedule((device, tag), time)
        self.stop_by(time)

    def stop_by(self, time: int) -> None:
        """Let the run stop at tick ``time`` at the latest."""
        core = self.core
        core.stop_at = min(core.stop_at, core.executed + max(0, time - self.now))

    def cancel(self, device: str, tag: str) -> None:
        """Cancel a scheduled call."""
        self.events.cancel((device, tag))

    def flash_word(self, address: int) -> int:
        """The word at an address of flash."""
        return int.from_bytes(self.engine.stores["flash"].slice(address, 4), "little")

    def report(self, kind: Kind, subject: str, message: str, pc: int | None = None) -> None:
        """Report a finding, once for its kind and subject; ``pc`` None: by the current code."""
        self._report(kind, subject, message, self.pc if pc is None else pc)

    @property
    def pc(self) -> int:
        """The address of the current instruction."""
        return self.core.read(Reg.PC) & ~1

    # the processor, as peripherals and its own registers see it

    @property
    def exception_number(self) -> int:
        """IPSR."""
        return self.core.read(Reg.XPSR) & IPSR

    def register_file(self, size: int) -> Registers:
        """Storage for a block of registers."""
        return self.engine.register_file(size)

    @property
    def next_time(self) -> int:
        """The tick of the next event in the chip; NEVER if there is none."""
        return min(self.events.next_time, self.core.next_byte, self.core.next_rtc, NEVER)

    def run_due(self) -> None:
        """Process all events that are due by now."""
        self.core.advance()
        for uarte in self._uartes:
            if uarte.regs.waits:
                uarte.settle()
        now = self.now
        if self.core.next_rtc <= now:
            for rtc in self._rtcs:
                rtc.settle()
        self.events.run_due(now)

    def line(self, irq: int, level: bool) -> None:
        """Set a peripheral's interrupt line."""
        self.nvic.line(irq, level)

    def pend_systick(self, *, nonsecure: bool) -> None:
        """Make the exception of a SysTick that has counted to zero pending."""
        self.nvic.pend(SYSTICK | NONSECURE if nonsecure else SYSTICK)

    def request_reset(self) -> None:
        """Request a reset by AIRCR.SYSRESETREQ."""
        self.system_reset(self.memory_map.resetreas.soft)

    def system_reset(self, reason: int) -> None:
        """Reset after the current instruction; ``reason`` is a bit of RESETREAS."""
        self.reset_reason = reason
        self.stop()

    def system_off(self) -> None:
        """Enter System OFF: only the pins' SENSE stays active (nRF9160 PS, "System OFF mode")."""
        self.off = True
        self.stop()
        self.pins_sensed()

    def pins_sensed(self) -> None:
        """End System OFF by a reset if DETECT is active: a pin is at its SENSE level."""
        if self.off and self.device("P0", Gpio).detect:
            self.system_reset(self.memory_map.resetreas.off)

    def stop(self) -> None:
        """End the run after the current instruction."""
        self.core.stop_after = True
        self.core.stop_at = min(self.core.stop_at, self.core.executed)

    def security_changed(self) -> None:
        """Apply a change of SPU, SAU or AIRCR to the security of addresses and exceptions."""
        sau_ctrl = self.engine.shared.sau_ctrl
        self.core.divided |= self._spu.has_nonsecure_peripherals and not self._image.non_secure
        self.core.attribute(sau_ctrl, self._spu.permissions, self._spu.gateways)
        self.core.update_masks()

    def _fault(
        self, cause: int, number: int, status: int, pc: int, address: int | None, stacking: bool
    ) -> None:
        record = self.processor.fault_record(cause, number, status, pc, address, stacking)
        if record.world:
            is_write = self.core.fault_type in WRITES
            target = target_of(record, self.memory_map, self.is_secure, is_write=is_write)
            record = replace(record, target=target)
        self._taken(record)

    def is_secure(self, address: int, block: Peripheral | None) -> bool:
        """Whether an address, perhaps in the peripheral ``block``, is secure."""
        if block and len(block.bases) > 1:  # the SPU decides, not the address
            return self._spu.is_secure(block.number)
        return self.core.is_secure(address)

    # DPPI

    def rewired(self) -> None:
        """Drop cached subscriptions of tasks to DPPI channels, which have changed."""
        self._listeners.clear()
        for device in self.devices.values():
            device.regs.stops_itself = 0

    def publish(self, channel: int, publisher: Nordic) -> None:
        """Trigger every task subscribed to a DPPI channel, if the channel is enabled."""
        if not self._dppic.enabled(channel) or not self._may_use(channel, publisher):
            return
        devices = self._listeners.get(channel)
        if devices is None:
            nordic = (one for one in self.devices.values() if isinstance(one, Nordic))
            devices = tuple(one for one in nordic if one.subscriptions.get(channel))
            self._listeners[channel] = devices
            if devices == (publisher,) and isinstance(publisher, Uarte):
                publisher.note_channel(channel)
        for device in devices:
            if self._may_use(channel, device):
                device.trigger_subscribers(channel)

    def _may_use(self, channel: int, device: Nordic) -> bool:
        return not self.core.divided or self._spu.allows_channel(device.block.number, channel)

    # EasyDMA

    def _dma_refused(self, device: str, address: int, size: int) -> bool:
        """Whether non-secure EasyDMA accesses secure memory, which also raises the SPU's event."""
        if not self.core.divided or self._spu.has_secure_dma(self.devices[device].block.number):
            return False
        if not any(map(self.core.is_secure, (address, address + max(size - 1, 0)))):
            return False
        self._spu.event("RAMACCERR")
        return True

    def can_reach(self, device: str, access: str, address: int, size: int) -> bool:
        """Whether EasyDMA may "read" or "write" there: in data RAM only; report it if not."""
        secure = self._dma_refused(device, address, size)
        if not secure and self._ram.holds(address, size):
            return True
        message = dma_refused(device, access, address, size, secure=secure)
        self.report(Kind.DMA_REFUSED, device, message)
        return False

    def dma_write(self, device: str, address: int, data: bytes) -> None:
        """Write data RAM by EasyDMA, if it may."""
        if self.can_reach(device, "write", address, len(data)):
            self.write_memory(address, data)

    def send(self, registers: Registers) -> None:
        """Begin the transfer of a UARTE."""
        self.core.send(registers)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory, not through the processor; raise ValueError if there is none."""
        store = self.engine.store_of(address, len(data))
        if store is None:
            raise ValueError(f"no memory at 0x{address:08x} ({len(data)} bytes)")
        store.slice(address, len(data))[:] = data
        if store.area.name == "flash" or self.core.has_run(1):
            self.engine.code_changed(address, address + len(data))

    # reset

    def reset(self, reason: int) -> None:
        """Reset the chip, but not memory; ``reason`` is a bit of RESETREAS."""
        self.reset_reason, self.off = None, False
        self.events.clear()
        for device in self.devices.values():
            device.reset()
        self.device("CLOCK", Clock).add_reset_reason(reason)
        self.processor.reset()
        self.engine.flush()
        self._start()

    def close(self) -> None:
        """Free Unicorn and the memory; safe to call twice."""
        self.engine.close()
