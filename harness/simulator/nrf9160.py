"""The nRF9160 without the loop that runs it: processor, peripherals and memory, put together.

:class:`~harness.simulator.machine.Machine` runs it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from harness.elf import Firmware
from harness.findings import Finding, Kind
from harness.simulator import loader, memorymap
from harness.simulator.bus import Bus
from harness.simulator.dwt import Dwt
from harness.simulator.engine import Engine
from harness.simulator.events import EventQueue
from harness.simulator.exceptions import Exceptions
from harness.simulator.faults import FaultRecord
from harness.simulator.library import CORE_REGISTERS, WRITES, Reg
from harness.simulator.mpu import Mpu
from harness.simulator.nvic import NONSECURE, SYSTICK, NvicRegisters
from harness.simulator.peripherals import MODELS, Device, split
from harness.simulator.peripherals.base import Nordic
from harness.simulator.peripherals.clock import Clock
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.information import ficr, uicr
from harness.simulator.peripherals.split import NonSecureView
from harness.simulator.peripherals.spu import Spu
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.recorded import Recorded
from harness.simulator.scb import Scb, Shared
from harness.simulator.security.attribution import Attribution
from harness.simulator.security.blame import target_of
from harness.simulator.security.gateway import Gateway
from harness.simulator.security.worlds import World, Worlds
from harness.simulator.special import Special
from harness.simulator.systick import SysTick

if TYPE_CHECKING:
    from harness.simulator._native import Registers

#: POWER.RESETREAS bits (nRF9160 PS, "RESETREAS").
REASON_PIN, REASON_SOFT = 1 << 0, 1 << 2
_FINDINGS_KEPT = 200
#: Values of ``timing``.
INSTRUCTIONS, BRANCHES = "instructions", "branches"

T = TypeVar("T", bound=Device)


class Nrf9160:
    """One chip with one image; a resource that :meth:`close` frees.

    ``booted`` is False for a device fresh from the factory, whose UICR is erased. ``console`` names
    the UARTE whose bytes are kept; with ``paced`` its transfers take the time of the baud rate.
    ``timing``: an instruction takes one tick; with "branches" a taken branch takes one more, so
    that busy loops that were calibrated on the chip take about the right time.
    """

    def __init__(
        self,
        firmware: Firmware,
        *,
        booted: bool = True,
        console: str = "UARTE0",
        paced: bool = False,
        timing: str = INSTRUCTIONS,
    ) -> None:
        self.firmware = firmware
        self.memory_map = memorymap.load()
        self._ram = self.memory_map.area("ram")
        self.image = loader.load(firmware, self.memory_map)
        self.events = EventQueue()
        self.resets = 0
        self.console = Recorded()
        self.faults: list[FaultRecord] = []
        self.findings: list[Finding] = []
        self._noted: set[str] = set()
        #: "wfi" or "wfe" while the core sleeps, else "".
        self.sleeping = ""
        #: RESETREAS bit of a reset that was requested and is not done yet.
        self.reset_reason: int | None = None
        self.silent_resets = 0
        self._assemble()
        self.core.branch_ticks = timing == BRANCHES
        self.uart = self._device(console, Uarte)
        #: What each UARTE except the console has sent, by name.
        self.sent: dict[str, bytearray] = {}
        for name, device in self.devices.items():
            if isinstance(device, Uarte) and device is not self.uart:
                device.sink = self.sent.setdefault(name, bytearray()).extend
        self.uart.attend(self.printed, paced=paced)
        self._place(booted)
        self._start()

    def _assemble(self) -> None:
        chip = self.memory_map
        self.engine = Engine(chip, self._access)
        self.core = self.engine.core
        self._power_on = self.core.save_state()
        self.nvic = self.engine.nvic
        self.dwt = Dwt(lambda: self.core.executed + self.core.slept)
        self.shared = Shared()
        worlds = self._world(nonsecure=False), self._world(nonsecure=True)
        self.scb = worlds[0].scb
        self.attribution = Attribution(self.engine)
        self.worlds = Worlds(self.engine, self.nvic, worlds, self.attribution)
        self.exceptions = Exceptions(self.engine, self.nvic, self.worlds, self._fault)
        self.bus = Bus(chip, self.worlds, self.dwt, self.unmodelled)
        self.bus.engine, self.bus.exceptions = self.engine, self.exceptions
        self.gateway = Gateway(self.engine, self.worlds, self.exceptions)
        self.special = Special(
            self.core, self.nvic, self.worlds, self.gateway, self.exceptions, self._sleep
        )
        self.devices: dict[str, Device] = {}
        #: The devices with tasks that are subscribed to a DPPI channel, for channels used so far.
        self._listeners: dict[int, tuple[Nordic, ...]] = {}
        for block in chip.blocks:
            device = MODELS[block.model](self, block)
            self.devices[block.name] = device
            self.events.devices[block.name] = device
            self.bus.attach(device, block.addresses)
            for base in block.addresses:
                self.core.serve(base, device.serve())
        for device in self.devices.values():
            device.connect(self.devices)
        self._dppic = self._device("DPPIC", Dppic)
        self.core.set_channels(self._dppic.regs)
        self._spu = self.attribution.spu = self._device("SPU", Spu)
        self.bus.views = {
            "P0": NonSecureView(self.devices["P0"], split.GPIO, lambda: self._spu.nonsecure_pins),
            "DPPIC": NonSecureView(self._dppic, split.DPPI, lambda: self._spu.nonsecure_channels),
            "NVMC": NonSecureView(self.devices["NVMC"], split.NVMC, lambda: 0),
        }

    def _world(self, *, nonsecure: bool) -> World:
        """The processor's own blocks of one security state."""
        mpu = Mpu(self.engine.mpus[nonsecure], self.core)
        scb = Scb(self, self.nvic, mpu.registers, self.dwt, self.shared, nonsecure=nonsecure)
        systick = SysTick(self, nonsecure=nonsecure)
        self.events.devices[systick.name] = systick
        return World(scb, mpu, systick, NvicRegisters(self.nvic, nonsecure=nonsecure))

    def _device(self, name: str, kind: type[T]) -> T:
        device = self.devices[name]
        assert isinstance(device, kind), name
        return device

    def _place(self, booted: bool) -> None:
        stores = self.engine.stores
        stores["flash"].view[:] = b"\xff" * stores["flash"].area.size
        stores["ficr"].view[:] = ficr(stores["ficr"].area.size, self.memory_map.ficr)
        stores["uicr"].view[:] = uicr(stores["uicr"].area.size, booted=booted)
        for address, data in self.image.parts:
            store = self.engine.store_of(address, len(data))
            assert store is not None
            store.slice(address, len(data))[:] = data
        self.core.nonsecure_frames = self.image.non_secure
        self.findings += self.image.start.notes(non_secure=self.image.non_secure)

    def _start(self) -> None:
        """The processor's reset sequence (Armv8-M ARM, B3.8)."""
        self.core.load_state(self._power_on)
        self.scb.vtor = self.image.vectors
        # Read again: the firmware may have programmed other vectors before this reset.
        table = self._read(self.image.vectors, 8)
        stack, entry = int.from_bytes(table[:4], "little"), int.from_bytes(table[4:], "little")
        self.core.write_many(
            (int(Reg.SP), int(Reg.LR), int(Reg.PC)), (stack & ~3, 0xFFFF_FFFF, entry | 1)
        )

    # the chip, as peripherals and the processor's own blocks see it

    @property
    def now(self) -> int:
        """Virtual time in ticks: instructions, sleep, and the additional ticks of branches."""
        core = self.core
        return core.executed + core.slept + core.branches

    @property
    def seconds(self) -> float:
        """Virtual time in seconds since power-on."""
        return self.now / self.memory_map.cpu_hz

    @property
    def exception_number(self) -> int:
        """IPSR."""
        return self.core.read(Reg.XPSR) & 0x1FF

    def register_file(self, size: int) -> Registers:
        """Storage for a block of registers."""
        return self.engine.register_file(size)

    def schedule(self, device: str, tag: str, time: int) -> None:
        """Call fire(tag) of ``device`` at tick ``time``; a run stops there to do so."""
        self.events.schedule((device, tag), time)
        core = self.core
        core.stop_at = min(core.stop_at, core.executed + max(0, time - self.now))

    def cancel(self, device: str, tag: str) -> None:
        """Drop an appointment."""
        self.events.cancel((device, tag))

    def line(self, irq: int, level: bool) -> None:
        """A peripheral drives its interrupt line."""
        self.nvic.line(irq, level)

    def pend_systick(self, *, nonsecure: bool) -> None:
        """A SysTick counted to zero."""
        self.nvic.pend(SYSTICK | NONSECURE if nonsecure else SYSTICK)

    def rewired(self) -> None:
        """Subscriptions of tasks to DPPI channels have changed."""
        self._listeners.clear()
        for device in self.devices.values():
            device.regs.stops_itself = 0

    def publish(self, channel: int, publisher: Nordic) -> None:
        """An event on a DPPI channel triggers every subscribed task, if the channel is on."""
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
                device.channel(channel)

    def _may_use(self, channel: int, device: Nordic) -> bool:
        return not self.worlds.divided or self._spu.allows_channel(device.block.number, channel)

    def _dma_refused(self, device: str, address: int, size: int) -> bool:
        number = self.devices[device].block.number
        return self.worlds.divided and self.attribution.refuses_transfer(number, address, size)

    def dma_read(self, device: str, address: int, size: int) -> bytes:
        """EasyDMA reads data RAM; anywhere else the chip reads nothing useful."""
        if self._dma_refused(device, address, size):
            return bytes(size)
        if self._ram.holds(address, size):
            return bytes(self.engine.stores["ram"].slice(address, size))
        self.unmodelled(f"{device} EasyDMA 0x{address:08x}", "read outside data RAM")
        return b""

    def dma_write(self, device: str, address: int, data: bytes) -> None:
        """EasyDMA writes data RAM."""
        if self._dma_refused(device, address, len(data)):
            return
        if self._ram.holds(address, len(data)):
            self._write(address, data)
        else:
            self.unmodelled(f"{device} EasyDMA 0x{address:08x}", "written outside data RAM")

    def unmodelled(self, subject: str, what: str) -> None:
        """The first access of its kind to something without a model is a finding."""
        if subject in self._noted or len(self._noted) >= _FINDINGS_KEPT:
            return
        self._noted.add(subject)
        place = self.firmware.locate(self.bus.pc())
        message = f"{subject} has no model and was {what} by {place}"
        self.findings.append(Finding(Kind.UNMODELLED_ACCESS, message, subject))

    def request_reset(self) -> None:
        """AIRCR.SYSRESETREQ."""
        self.system_reset(REASON_SOFT)

    def system_reset(self, reason: int) -> None:
        """Reset after the instruction that is running."""
        self.reset_reason = reason
        self.core.stop_after = True
        self.core.stop_at = min(self.core.stop_at, self.core.executed)

    def fp_access_changed(self) -> None:
        """CPACR or NSACR were written."""
        self.worlds.update_fp_access()

    def security_changed(self) -> None:
        """SPU, SAU or AIRCR have changed what belongs to which security state."""
        self.attribution.update(self.shared.sau_ctrl, nonsecure=self.worlds.nonsecure)
        self.worlds.update()

    def _access(self, is_write: int, address: int, size: int, value: int) -> int | None:
        return self.bus.access(is_write, address, size, value)

    def _fault(self, record: FaultRecord) -> None:
        if record.world:
            is_write = self.core.fault_type in WRITES
            target = target_of(record, self.memory_map, self.attribution, is_write=is_write)
            record = replace(record, target=target)
        if len(self.faults) < _FINDINGS_KEPT:
            self.faults.append(record)

    def _sleep(self, kind: str) -> None:
        self.sleeping = kind

    def printed(self, data: bytes) -> None:
        """The console sent bytes."""
        self.console.append(self.seconds, data)
        self.silent_resets = 0

    # memory and registers, as a debugger sees them
    def feed(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver; it arrives at the baud rate."""
        self.uart.feed(data)

    def _holds(self, address: int, size: int) -> bool:
        return self.engine.store_of(address, size) is not None

    def _read(self, address: int, size: int) -> bytes:
        store = self.engine.store_of(address, size)
        assert store is not None
        return bytes(store.slice(address, size))

    def read_memory(self, address: int, size: int) -> bytes:
        """Memory as a debugger sees it. Raises ValueError outside flash, RAM, FICR and UICR."""
        if not self._holds(address, size):
            raise ValueError(f"no memory at 0x{address:08x} ({size} bytes)")
        return self._read(address, size)

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory as a debugger does. Raises ValueError if there is none."""
        if not self._holds(address, len(data)):
            raise ValueError(f"no memory at 0x{address:08x} ({len(data)} bytes)")
        self._write(address, data)

    def _write(self, address: int, data: bytes) -> None:
        store = self.engine.store_of(address, len(data))
        assert store is not None
        store.slice(address, len(data))[:] = data
        if store.area.name == "flash" or self.core.has_run(1):
            self.engine.code_changed(address, address + len(data))

    @property
    def registers(self) -> dict[str, int]:
        """r0 to r12, sp, lr, pc, xpsr, by name."""
        names = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc", "xpsr"]
        return dict(zip(names, self.core.read_many(CORE_REGISTERS), strict=True))

    def write_register(self, name: str, value: int) -> None:
        """Set r0 to r12, sp, lr or pc."""
        names = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc"]
        number = CORE_REGISTERS[names.index(name)]
        self.core.write(number, value | 1 if name == "pc" else value)

    # reset

    def _reset(self, reason: int) -> None:
        self.reset_reason = None
        self.resets += 1
        self.silent_resets += 1
        self.sleeping = ""
        self.events.clear()
        incoming = bytes(self.uart.incoming)
        for device in self.devices.values():
            device.reset()
        self._device("CLOCK", Clock).add_reset_reason(reason)
        self.nvic.reset()
        self.dwt.reset()
        self.shared.reset()
        self.exceptions.locked_up = self.exceptions.sleep_on_exit = False
        self.core.load_state(self._power_on)
        for nonsecure in (False, True):
            world = self.worlds[nonsecure]
            world.mpu.registers.reset()
            world.systick.reset()
            world.scb.reset()
        self.worlds.reset()
        self.uart.incoming[:] = incoming
        self.engine.flush()
        self._start()

    def reset(self) -> None:
        """A pin reset: RAM, flash and UICR stay as they are."""
        self._reset(REASON_PIN)
        self.silent_resets = 0

    def clear_evidence(self) -> None:
        """Forget faults and findings, for a run that is judged on its own."""
        self.faults.clear()
        self.findings.clear()
        self._noted.clear()

    def close(self) -> None:
        """Free Unicorn; safe to call twice."""
        self.engine.close()
