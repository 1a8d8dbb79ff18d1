"""The built-in nRF9160: the public face of the simulator.

A :class:`Machine` holds one image. ``run`` executes it in virtual time; everything that can be
asked of the chip (memory, console, faults, profile, coverage, snapshots) hangs on it. Results
depend on the image and its input alone, never on the host's clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from harness.deadline import Deadline
from harness.findings import Finding, Kind
from harness.firmware.elf import Firmware
from harness.simulator import loader, memorymap
from harness.simulator.bus import Bus
from harness.simulator.counting import XPSR_THUMB, Reason
from harness.simulator.dwt import Dwt
from harness.simulator.engine import Engine
from harness.simulator.events import NEVER, EventQueue
from harness.simulator.exceptions import Exceptions
from harness.simulator.faults import FaultRecord, report, where
from harness.simulator.library import CORE_REGISTERS, ERR_EXCEPTION, Access, Reg
from harness.simulator.mpu import Mpu
from harness.simulator.nvic import BUS_FAULT, SYSTICK, USAGE_FAULT, Nvic
from harness.simulator.peripherals import MODELS, Device
from harness.simulator.peripherals.base import Nordic
from harness.simulator.peripherals.clock import Clock
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.information import ficr, uicr
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.scb import IBUSERR, INVSTATE, NOCP, STKOF, UNALIGNED, UNDEFINSTR, Scb
from harness.simulator.special import Special
from harness.simulator.systick import SysTick

#: Instructions between two looks at the host's clock: some 0.1 s.
_SLICE = 20_000_000
#: Resets without a pause that are called a loop; a first boot legitimately takes one or two.
RESETS_IN_A_LOOP = 16
#: POWER.RESETREAS bits (nRF9160 PS, "RESETREAS").
REASON_PIN, REASON_SOFT = 1 << 0, 1 << 2
#: Console bytes that a pattern is looked for in, back from the last one.
_WINDOW = 4096
_FINDINGS_KEPT = 200

# Plain numbers: looking up a member of an enumeration takes longer than many a comparison.
_EXCEPTION, _UNMASKED, _SPECIAL = int(Reason.EXCEPTION), int(Reason.UNMASKED), int(Reason.SPECIAL)
_MEMORY, _ERROR = int(Reason.MEMORY), int(Reason.ERROR)

# Unicorn's exception numbers beyond those that Special and Reason explain.
_SVC, _PREFETCH, _BKPT, _EXIT = 2, 3, 7, 8
_USAGE = {1: UNDEFINSTR, 17: NOCP, 18: INVSTATE, 19: STKOF, 22: UNALIGNED}


T = TypeVar("T", bound=Device)


class End(StrEnum):
    """Why :meth:`Machine.run` came back."""

    CONDITION = "condition"
    DEADLINE = "deadline"
    GUARD = "guard"
    IDLE = "idle"
    LOCKUP = "lockup"
    RESET_LOOP = "reset_loop"


@dataclass(frozen=True)
class Chunk:
    """Console bytes with the virtual time in seconds at which they were sent."""

    time: float
    data: bytes


class Machine:
    """One nRF9160 with one image; a resource that :meth:`close` gives back.

    ``native`` forces the C counting core (True) or the Python one (False). ``booted`` is False for
    a device fresh from the factory, whose UICR is erased. ``console`` names the UARTE that counts.
    """

    def __init__(
        self,
        firmware: Firmware,
        *,
        native: bool | None = None,
        booted: bool = True,
        console: str = "UARTE0",
        paced: bool = False,
    ) -> None:
        self.firmware = firmware
        self.memory_map = memorymap.load()
        self._ram = self.memory_map.area("ram")
        self.image = loader.load(firmware, self.memory_map)
        self.events = EventQueue()
        self.slept = 0
        self.resets = 0
        self.console: list[Chunk] = []
        self.faults: list[FaultRecord] = []
        self.findings: list[Finding] = []
        self._noted: set[str] = set()
        self._hooks: dict[int, list[Callable[[Machine], bool | None]]] = {}
        self._sleeping = ""
        self._reset_reason: int | None = None
        self._resets_without_output = 0
        self._pattern: re.Pattern[bytes] | None = None
        self._printed = bytearray()
        self._hit = False
        self._code_in_ram = False
        self._assemble(native)
        self._uart = self._device(console, Uarte)
        self._uart.sink, self._uart.paced = self._print, paced
        self._place(booted)
        self._start()

    def _assemble(self, native: bool | None) -> None:
        chip = self.memory_map
        self.engine = Engine(chip, self._access, native=native)
        self.core = self.engine.core
        self._power_on = self.engine.save_context()
        self.nvic = Nvic(self.core, chip.irqs, chip.priority_bits)
        self.mpu = Mpu(chip.mpu_regions, self.engine.guard)
        self.dwt = Dwt(lambda: self.now)
        self.scb = Scb(self, self.nvic, self.mpu, self.dwt)
        self.systick = SysTick(self)
        self.events.devices[SysTick.NAME] = self.systick
        self.exceptions = Exceptions(self.engine, self.nvic, self.scb, self.mpu, self._fault)
        system = (self.nvic, self.scb, self.systick, self.dwt, self.mpu)
        self.bus = Bus(chip, system, self.unmodelled, self._write)
        self.bus.engine, self.bus.exceptions = self.engine, self.exceptions
        self.special = Special(self.core, self.nvic, self.mpu, self.exceptions, self._sleep)
        self.devices: dict[str, Device] = {}
        for block in chip.blocks:
            device = MODELS[block.model](self, block)
            self.devices[block.name] = device
            self.events.devices[block.name] = device
            self.bus.attach(device, block.addresses)
        self._subscribers = [d for d in self.devices.values() if isinstance(d, Nordic)]
        self._dppic = self._device("DPPIC", Dppic)

    def _device(self, name: str, kind: type[T]) -> T:
        device = self.devices[name]
        assert isinstance(device, kind), f"{name} is no {kind.__name__}"
        return device

    def _place(self, booted: bool) -> None:
        stores = self.engine.stores
        stores["flash"].view[:] = b"\xff" * stores["flash"].area.size
        stores["ficr"].view[:] = ficr(stores["ficr"].area.size)
        stores["uicr"].view[:] = uicr(stores["uicr"].area.size, booted=booted)
        for address, data in self.image.parts:
            store = self.engine.store_of(address, len(data))
            assert store is not None
            store.slice(address, len(data))[:] = data
        if self.image.vectors:
            self.exceptions.nonsecure = True
            self.findings.append(
                Finding(
                    Kind.APPROXIMATION,
                    f"started at its own vector table at 0x{self.image.vectors:x}, without the"
                    " secure firmware that it expects below it",
                    "non-secure image",
                )
            )

    def _start(self) -> None:
        """The processor's reset sequence (Armv8-M ARM, B3.8)."""
        self.engine.load_context(self._power_on)
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
        """Virtual time in ticks: instructions executed plus ticks slept."""
        return self.core.executed + self.slept

    @property
    def seconds(self) -> float:
        """Virtual time in seconds since power-on."""
        return self.now / self.memory_map.cpu_hz

    @property
    def exception_number(self) -> int:
        """IPSR."""
        return self.core.read(Reg.XPSR) & 0x1FF

    def schedule(self, device: str, tag: str, time: int) -> None:
        """Let ``device`` be fired at ``time``; a run that would miss it stops in time."""
        self.events.schedule((device, tag), time)
        core = self.core
        core.stop_at = min(core.stop_at, core.executed + max(0, time - self.now))

    def cancel(self, device: str, tag: str) -> None:
        """Drop an appointment."""
        self.events.cancel((device, tag))

    def line(self, irq: int, level: bool) -> None:
        """A peripheral drives its interrupt line."""
        self.nvic.line(irq, level)

    def pend_systick(self) -> None:
        """SysTick counted to zero."""
        self.nvic.pend(SYSTICK)

    def publish(self, channel: int) -> None:
        """An event on a DPPI channel triggers every subscribed task, if the channel is on."""
        if self._dppic.enabled(channel):
            for device in self._subscribers:
                device.channel(channel)

    def dma_read(self, device: str, address: int, size: int) -> bytes:
        """EasyDMA reads data RAM; anywhere else the chip reads nothing useful."""
        if self._ram.holds(address, size):
            return self._read(address, size)
        self.unmodelled(f"{device} EasyDMA 0x{address:08x}", "read outside data RAM")
        return b""

    def dma_write(self, device: str, address: int, data: bytes) -> None:
        """EasyDMA writes data RAM."""
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
        self._reset_reason = reason
        self.core.stop_after = True
        self.core.stop_at = min(self.core.stop_at, self.core.executed)

    def set_fp_access(self, allowed: bool) -> None:
        """CPACR: whether floating-point instructions may run."""
        if self.core.fp_disabled is not (not allowed):
            self.core.fp_disabled = not allowed
            self.core.invalidate()

    def _access(self, is_write: int, address: int, size: int, value: int) -> int | None:
        return self.bus.access(is_write, address, size, value)

    def _fault(self, record: FaultRecord) -> None:
        if len(self.faults) < _FINDINGS_KEPT:
            self.faults.append(record)

    def _sleep(self, kind: str) -> None:
        self._sleeping = kind

    def _print(self, data: bytes) -> None:
        self.console.append(Chunk(self.seconds, data))
        self._resets_without_output = 0
        if self._pattern is not None and not self._hit:
            self._printed += data
            window = self._printed[-_WINDOW:] if b"\n" in data else self._printed[-256:]
            if self._pattern.search(window):
                self._hit = True
                self.core.stop_after = True
                self.core.stop_at = min(self.core.stop_at, self.core.executed)

    # running

    def run(
        self,
        *,
        until_tick: int = NEVER,
        until_executed: int = NEVER,
        pattern: bytes | None = None,
        guard: Deadline | None = None,
    ) -> End:
        """Run until the console shows ``pattern``, a count is reached, or the image cannot go on.

        ``until_tick`` is in ticks of :attr:`now` and a deadline; ``until_executed`` in executed
        instructions and a condition.
        """
        self._pattern = re.compile(pattern) if pattern is not None else None
        self._printed.clear()
        self._hit = False
        self._code_in_ram = bool(self.core.coverage(1).strip(b"\0"))
        try:
            while True:
                end = self._settled(until_tick, until_executed, guard)
                if end is not None:
                    return end
                if self._sleeping and not self._awake(until_tick):
                    if self.now >= until_tick:
                        return End.DEADLINE
                    return End.IDLE
                self._execute(until_tick, until_executed)
        finally:
            self._pattern = None

    def _settled(self, until_tick: int, until_executed: int, guard: Deadline | None) -> End | None:
        """Carry out what is due between two stretches of execution; an End stops the run."""
        if self.bus.mends:
            self.bus.mend()
        if self._reset_reason is not None:
            self._reset()
            if self._resets_without_output >= RESETS_IN_A_LOOP:
                return End.RESET_LOOP
        self.events.run_due(self.now)
        if self._reset_reason is not None:  # the watchdog
            return self._settled(until_tick, until_executed, guard)
        if self._hit:
            return End.CONDITION
        if self.exceptions.locked_up:
            return End.LOCKUP
        if self.core.executed >= until_executed:
            return End.CONDITION
        if self.now >= until_tick:
            return End.DEADLINE
        if guard is not None and guard.guard_expired:
            return End.GUARD
        return None

    def _awake(self, until_tick: int) -> bool:
        """Sleep to the event that wakes the core; False where none comes before ``until_tick``."""
        while not self._wakes():
            time = self.events.next_time
            if time >= until_tick:
                if (until_tick < NEVER and time < NEVER) or (
                    until_tick < NEVER and self._uart.incoming
                ):
                    self.slept += until_tick - self.now
                return False
            self.slept += max(0, time - self.now)
            self.events.run_due(self.now)
            if self._reset_reason is not None or self._hit:
                return True
        self._sleeping = ""
        return True

    def _wakes(self) -> bool:
        if self._sleeping == "wfe" and self.nvic.event:
            self.nvic.event = False
            return True
        number = self.nvic.best()
        if not number:
            return False
        # WFI wakes for what would be taken if PRIMASK were clear; WFE only for what is taken.
        if self._sleeping == "wfe":
            return self.core.deliverable()
        base = self.core.read(Reg.BASEPRI) & self.core.group_mask
        now = min(self.core.active_priority, base) if base else self.core.active_priority
        return self.nvic.group_priority(number) < now

    def _execute(self, until_tick: int, until_executed: int) -> None:
        core = self.core
        if self._sleeping or self._reset_reason is not None or self._hit:
            return
        if core.deliverable():
            self.exceptions.enter(self.nvic.best(), self.bus.pc())
        ahead = min(self.events.next_time, until_tick) - self.now
        core.stop_at = min(core.executed + min(max(ahead, 1), _SLICE), until_executed)
        reason = core.run()
        pc = self.bus.pc()
        if reason == _EXCEPTION:
            self._exception(core.exception, pc)
        elif reason == _UNMASKED:
            self.exceptions.enter(self.nvic.best(), pc)
        elif reason == _SPECIAL:
            self._stands_before(pc)
        elif reason == _MEMORY:
            self._refused(pc)
        elif reason == _ERROR:
            self._error(core.error, pc)
        if self.exceptions.sleep_on_exit:
            self.exceptions.sleep_on_exit = False
            if not core.deliverable():
                self._sleeping = "wfi"

    def _exception(self, number: int, pc: int) -> None:
        if number == _SVC:
            self.exceptions.supervisor_call(pc)
        elif number == _EXIT:
            self.exceptions.leave(pc | 1)
        elif number == _BKPT:
            self.exceptions.breakpoint(pc)
        elif number == _PREFETCH:
            self.exceptions.fault(BUS_FAULT, IBUSERR, pc)
        elif number in _USAGE:
            self.exceptions.fault(USAGE_FAULT, _USAGE[number], pc)
        else:
            raise RuntimeError(f"Unicorn raised exception {number} at 0x{pc:08x}")

    def _stands_before(self, pc: int) -> None:
        hooks = self._hooks.get(pc)
        if hooks is not None:
            for hook in tuple(hooks):
                if hook(self):
                    self._hit = True
            self.core.ignore_breakpoint(pc)
            if self._hit or self.bus.pc() != pc:
                return
        store = self.engine.store_of(pc, 2)
        code = bytes(store.slice(pc, 4)) if store else b""  # shorter at the end of memory
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
        self.special.carry_out(pc, first, second)

    def _refused(self, pc: int) -> None:
        core = self.core
        if Access(core.fault_type).is_fetch:
            self.exceptions.fault(BUS_FAULT, IBUSERR, core.fault_address & ~1)
            return
        refusal = self.bus.refusal
        self.exceptions.fault(refusal.cause, refusal.status, pc, core.fault_address)

    def _error(self, error: int, pc: int) -> None:
        if not self._holds(pc, 2):
            self.exceptions.fault(BUS_FAULT, IBUSERR, pc)
        elif error == ERR_EXCEPTION or not self.core.read(Reg.XPSR) & XPSR_THUMB:
            self.exceptions.fault(USAGE_FAULT, INVSTATE, pc)
        else:
            self.exceptions.fault(USAGE_FAULT, UNDEFINSTR, pc)

    # reset

    def _reset(self) -> None:
        reason, self._reset_reason = self._reset_reason, None
        self.resets += 1
        self._resets_without_output += 1
        self._sleeping = ""
        self.events.clear()
        incoming = bytes(self._uart.incoming)
        for device in self.devices.values():
            device.reset()
        self._device("CLOCK", Clock).add_reset_reason(reason or 0)
        self.nvic.reset()
        self.mpu.reset()
        self.dwt.reset()
        self.systick.reset()
        self.exceptions.locked_up = self.exceptions.sleep_on_exit = False
        self.scb.reset()
        self._uart.incoming[:] = incoming
        self.engine.flush()
        self._start()

    def reset(self) -> None:
        """A pin reset: RAM, flash and UICR stay as they are."""
        self._reset_reason = REASON_PIN
        self._reset()
        self._resets_without_output = 0

    # what tests and tools ask

    def feed(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver; it arrives at the baud rate."""
        self._uart.feed(data)

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
        """Write memory as a debugger does. Raises ValueError where there is none."""
        if not self._holds(address, len(data)):
            raise ValueError(f"no memory at 0x{address:08x} ({len(data)} bytes)")
        self._code_in_ram = bool(self.core.coverage(1).strip(b"\0"))
        self._write(address, data)

    def _write(self, address: int, data: bytes) -> None:
        store = self.engine.store_of(address, len(data))
        assert store is not None
        store.slice(address, len(data))[:] = data
        if store.area.name == "flash" or self._code_in_ram:
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

    def hook(self, where: str | int, called: Callable[[Machine], bool | None]) -> None:
        """Call ``called(machine)`` before the instruction at a symbol or address; True stops."""
        if isinstance(where, str):
            symbol = self.firmware.symbol(where)
            if symbol is None:
                raise ValueError(f"the image has no symbol {where!r}")
            address = symbol.address & ~1
        else:
            address = where & ~1
        self._hooks.setdefault(address, []).append(called)
        self.core.set_breakpoints(sorted(self._hooks))

    def unhook(self, where: int) -> None:
        """Drop the hooks at an address."""
        self._hooks.pop(where & ~1, None)
        self.core.set_breakpoints(sorted(self._hooks))

    def where(self) -> str:
        """Function, file and line of the program counter."""
        return str(self.firmware.locate(self.bus.pc()))

    def fault_report(self, record: FaultRecord) -> str:
        """The decoded report of one fault, with the last blocks for the newest one."""
        newest = bool(self.faults) and record is self.faults[-1]
        return report(
            record, self.firmware, tuple(self.core.recent_blocks()[-16:]) if newest else ()
        )

    def fault_place(self, record: FaultRecord) -> str:
        """The function to blame."""
        return where(record, self.firmware)

    def executed_addresses(self) -> list[int]:
        """Addresses of the halfwords of instructions that ran, ascending (flash, then RAM)."""
        addresses = []
        for region, store in enumerate((self.engine.stores["flash"], self.engine.stores["ram"])):
            for at, byte in enumerate(self.core.coverage(region)):
                if byte:
                    origin = store.area.origin + 16 * at
                    addresses += [origin + 2 * bit for bit in range(8) if byte >> bit & 1]
        return addresses

    def close(self) -> None:
        """Free Unicorn; safe to call twice."""
        self.engine.free_context(self._power_on) if self.engine._handle else None
        self.engine.close()
