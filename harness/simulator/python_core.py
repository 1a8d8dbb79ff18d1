"""The counting core in plain Python, for machines without a C compiler."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.elf.thumb import instruction_length
from harness.simulator import library as uc
from harness.simulator.counting import NO_PRIORITY, AccessHandler, CodeRegion, Reason
from harness.simulator.library import Access, Reg
from harness.simulator.thumb import (
    XPSR_IT,
    XPSR_THUMB,
    extra_state,
    is_special,
)

#: Address at which nothing stops; no code can stand there.
NOWHERE = 0xFFFF_FFF0
TRACE_BLOCKS = 256


@dataclass
class _Block:
    address: int = 0
    size: int = 0
    count: int = 0
    special: int | None = None


class PythonCore:
    """The contract in plain Python, for machines without a C compiler: 10 to 40 times slower."""

    def __init__(
        self,
        library: ctypes.CDLL,
        engine: int,
        context: int,
        access: AccessHandler,
        code: list[CodeRegion],
        windows: list[tuple[int, int, int]],
    ) -> None:
        self.executed = self.stop_at = 0
        self.best_pending = self.active_priority = NO_PRIORITY
        self.group_mask = 0xFF
        self.exception = self.error = 0
        self.fault_type = self.fault_size = self.fault_address = 0
        self.stop_after = self.fp_disabled = False
        self.extras = 0
        self._library, self._uc, self._context = library, engine, context
        self._access, self._code, self._windows = access, code, windows
        self._value = ctypes.c_uint32()
        self._value_pointer = ctypes.byref(self._value)
        self._reason = Reason.NONE
        self._block = _Block()
        self._cut: int | None = None
        self._replay = self._partial = self._single = self._aborting = False
        self._failure: BaseException | None = None
        self._shadow: list[bytes] = []
        self._access_here, self._access_count, self._skip = -1, 0, 0
        self._breakpoints: frozenset[int] = frozenset()
        self._ignored: int | None = None
        self._decoded: dict[tuple[int, int], tuple[int, int | None]] = {}
        self._profile: dict[int, int] = {}
        self._covered = [bytearray(region.size // 16) for region in code]
        self._trace: deque[int] = deque(maxlen=TRACE_BLOCKS)
        self._hooks: list[Any] = []
        self._hook(uc.HOOK_BLOCK, uc.BLOCK_HOOK(self._on_block))
        self._hook(uc.HOOK_INTR, uc.INTR_HOOK(self._on_exception))
        self._hook(uc.HOOK_MEM_INVALID, uc.MEMORY_HOOK(self._on_memory))

    def _hook(self, kind: int, callback: Any) -> None:
        handle = ctypes.c_size_t()
        add = self._library.uc_hook_add
        error = add(
            ctypes.c_void_p(self._uc),
            ctypes.byref(handle),
            ctypes.c_int(kind),
            callback,
            None,
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        uc.check(self._library, error, "adding a hook")
        self._hooks.append(callback)

    # registers

    def read(self, register: int) -> int:
        """Value of a 32-bit register."""
        self._library.uc_reg_read(self._uc, register, self._value_pointer)
        return self._value.value

    def write(self, register: int, value: int) -> None:
        """Set a 32-bit register."""
        self._value.value = value
        self._library.uc_reg_write(self._uc, register, self._value_pointer)

    def read_many(self, registers: Sequence[int]) -> tuple[int, ...]:
        """Values of several registers."""
        return tuple(self.read(register) for register in registers)

    def write_many(self, registers: tuple[int, ...], values: tuple[int, ...]) -> None:
        """Set several registers, in order."""
        for register, value in zip(registers, values, strict=True):
            self.write(register, value & 0xFFFF_FFFF)

    # decoding

    def _region(self, address: int) -> int | None:
        for index, region in enumerate(self._code):
            if region.base <= address < region.base + region.size:
                return index
        return None

    def _halfword(self, address: int) -> int:
        index = self._region(address)
        if index is None:
            return 0
        region = self._code[index]
        offset = address - region.base
        return int.from_bytes(region.view[offset : offset + 2], "little")

    def _decode(self, address: int, size: int) -> tuple[int, int | None]:
        index = self._region(address)
        assert index is not None
        region = self._code[index]
        key = (address, size)
        if region.stable and key in self._decoded:
            return self._decoded[key]
        count, special, at = 0, None, address
        while at < address + size:
            first = self._halfword(at)
            step = instruction_length(first)
            second = self._halfword(at + 2) if step == 4 else 0
            if step == 4:
                self.extras |= extra_state(first, second)
            if special is None and (
                is_special(first, second, self.fp_disabled) or at in self._breakpoints
            ):
                special = count
            at += step
            count += 1
        covered = self._covered[index]
        for at in range(address - region.base, address - region.base + size, 2):
            covered[at >> 4] |= 1 << (at >> 1 & 7)
        self._decoded[key] = (count, special)
        return count, special

    def _count_before(self, pc: int) -> int:
        at, count = self._block.address, 0
        while at < pc and at < self._block.address + self._block.size:
            at += instruction_length(self._halfword(at))
            count += 1
        return count

    def _address_of(self, index: int) -> int:
        at = self._block.address
        for _ in range(index):
            at += instruction_length(self._halfword(at))
        return at

    # counting

    def _charge(self, instructions: int) -> None:
        self.executed += instructions
        start = self._block.address
        self._profile[start] = self._profile.get(start, 0) + instructions

    def _settle(self, pc: int) -> None:
        block = self._block
        if not block.address <= pc < block.address + block.size:
            return
        before = self._count_before(pc)
        self._charge(before - block.count)
        block.count, block.size = before, pc - block.address

    def deliverable(self) -> bool:
        """True when the best pending exception can be taken now."""
        now = self.active_priority
        if self.best_pending >= now:
            return False
        if self.read(Reg.FAULTMASK) & 1:
            now = min(now, -1)
        if self.read(Reg.PRIMASK) & 1:
            now = min(now, 0)
        base = self.read(Reg.BASEPRI) & 0xFF & self.group_mask
        if base:
            now = min(now, base)
        return self.best_pending < now

    # callbacks

    def _on_block(self, _engine: int, address: int, size: int, _user: int) -> None:
        if self._region(address) is None:
            self._block = _Block(address, size)
            return
        count, special = self._decode(address, size)
        self._block = _Block(address, size, count, special)
        self._charge(count)
        if not self._trace or self._trace[-1] != address:
            self._trace.append(address)
        if self._partial:
            return
        if special == 0 and address == self._ignored:
            first, second = self._halfword(address), self._halfword(address + 2)
            special = 0 if is_special(first, second, self.fp_disabled) else 1
        self._ignored = None
        if self.best_pending < NO_PRIORITY and self.deliverable():
            self._reason = Reason.UNMASKED
        elif (special is not None and special < count) or self.executed > self.stop_at:
            room = max(0, self.stop_at - (self.executed - count))
            cut = min(room, count if special is None else special)
            self._cut = cut or None
            self._reason = Reason.SPECIAL if room else Reason.BUDGET
        else:
            return
        self._charge(-count)
        self._block.count = 0
        self._library.uc_emu_stop(self._uc)

    def _on_exception(self, _engine: int, number: int, _user: int) -> None:
        if self._reason is Reason.NONE:
            self._reason, self.exception = Reason.EXCEPTION, number
        self._library.uc_emu_stop(self._uc)

    def _abort(self, reason: Reason) -> bool:
        self._library.uc_context_save(self._uc, self._context)
        self._shadow = [bytes(region.view) for region in self._code if not region.stable]
        self._aborting, self._reason = True, reason
        self._library.uc_emu_stop(self._uc)
        return False

    def _on_memory(
        self, _engine: int, kind: int, address: int, size: int, value: int, _user: int
    ) -> bool:
        if self._aborting or self._failure is not None:
            return False
        access = Access(kind)
        self.fault_type, self.fault_address, self.fault_size = kind, address, size
        if access.is_fetch:
            self._reason = Reason.MEMORY
            return False
        end = self.executed
        here = end - (self._block.count - self._count_before(self.read(Reg.PC)))
        if here != self._access_here:
            self._access_here, self._access_count = here, 0
        self._access_count += access.is_write
        if not (access.is_write and self._access_count <= self._skip):
            self.executed = here
            try:
                answer = self._answer(access, address, size, value)
            except BaseException as error:  # carried through Unicorn, raised again by run()
                self._failure = error
                return self._abort(Reason.ERROR) if access.is_write else False
            finally:
                self.executed = end
            if not answer:
                self._reason = Reason.MEMORY
                return self._abort(Reason.MEMORY) if access.is_write else False
        if access.is_write and not self._single:
            pending = self.best_pending < NO_PRIORITY and self.deliverable()
            if self.stop_after or self.stop_at < end or pending:
                self._replay = True
                return self._abort(Reason.NONE)
        if self.read(Reg.XPSR) & XPSR_IT:
            # Unicorn restored the IT state for this callback; the running block expects none.
            self.write(Reg.EPSR, XPSR_THUMB)
        return True

    def _answer(self, access: Access, address: int, size: int, value: int) -> bool:
        answer = self._access(int(access.is_write), address, size, value & (1 << 8 * size) - 1)
        if answer is None:
            return False
        if access.is_write:
            return True
        for base, length, host in self._windows:
            if base <= address and address + size <= base + length:
                data = (answer & 0xFFFF_FFFF).to_bytes(4, "little")
                ctypes.memmove(host + address - base, data, min(size, 4))
                return True
        return False

    # running

    def _emulate(self, until: int) -> None:
        thumb = (self.read(Reg.XPSR) & XPSR_THUMB) != 0
        self._reason, self._cut, self._replay, self._aborting = Reason.NONE, None, False, False
        self._block = _Block()
        error = self._library.uc_emu_start(self._uc, self.read(Reg.PC) | thumb, until, 0, 0)
        if self._aborting:
            self._library.uc_context_restore(self._uc, self._context)
            writable = (region for region in self._code if not region.stable)
            for region, data in zip(writable, self._shadow, strict=True):
                region.view[:] = data
            self._aborting = False
            self._settle(self.read(Reg.PC))
        elif (self._reason is Reason.MEMORY and not Access(self.fault_type).is_fetch) or (
            self._reason is Reason.EXCEPTION and self.exception not in (2, 8)
        ):
            self._settle(self.read(Reg.PC))
        elif self._reason is Reason.NONE and error:
            self._reason, self.error = Reason.ERROR, error
            self._settle(self.read(Reg.PC))
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _emulate_cut(self, begin: int, until: int) -> None:
        self.forget(begin, until)
        self._partial = True
        try:
            self._emulate(until)
        finally:
            self._partial = False

    def _finish_instruction(self) -> None:
        pc = self.read(Reg.PC)
        self._skip, self._access_here, self._single = self._access_count, -1, True
        try:
            self._emulate_cut(pc, pc + instruction_length(self._halfword(pc)))
        finally:
            self._skip, self._single = 0, False

    def run(self) -> int:
        """Run until ``stop_at`` or another :class:`Reason`."""
        self.stop_after = False
        while True:
            if self.executed >= self.stop_at:
                return Reason.BUDGET
            if self.best_pending < NO_PRIORITY and self.deliverable():
                return Reason.UNMASKED
            self._emulate(NOWHERE)
            if self._cut:
                self._emulate_cut(self._block.address, self._address_of(self._cut))
            if self._replay:
                self._finish_instruction()
            if self.stop_after and self._reason is Reason.NONE:
                return Reason.DEVICE
            if self._reason is not Reason.NONE:
                return self._reason

    def step(self) -> int:
        """Run the one instruction at pc."""
        pc = self.read(Reg.PC)
        self._emulate_cut(pc, pc + instruction_length(self._halfword(pc)))
        return self._reason

    def call(self, address: int) -> int:
        """Run uncounted code (a stub outside the firmware) until it raises an exception."""
        self.write(Reg.PC, address | 1)
        self._partial = True
        try:
            self._emulate(NOWHERE)
        finally:
            self._partial = False
        return self._reason

    def retire(self, address: int) -> None:
        """Count one instruction that the machine carried out itself."""
        self.executed += 1
        self._profile[address] = self._profile.get(address, 0) + 1
        index = self._region(address)
        if index is not None:
            offset = address - self._code[index].base
            self._covered[index][offset >> 4] |= 1 << (offset >> 1 & 7)

    # the rest of the contract

    def invalidate(self) -> None:
        """Code changed: decode it again."""
        self._decoded.clear()

    def forget(self, begin: int, end: int) -> None:
        """Drop Unicorn's translations of [begin, end)."""
        self._library.uc_ctl(
            ctypes.c_void_p(self._uc),
            ctypes.c_int(uc.CTL_REMOVE_CACHE),
            ctypes.c_uint64(begin),
            ctypes.c_uint64(end),
        )

    def set_breakpoints(self, addresses: Sequence[int]) -> None:
        """Stop (SPECIAL) before the instructions at these addresses."""
        self._breakpoints = frozenset(addresses)
        self.invalidate()

    def ignore_breakpoint(self, address: int) -> None:
        """Do not stop at this address if the next run() starts there."""
        self._ignored = address

    def recent_blocks(self) -> list[int]:
        """Addresses of the last blocks executed, oldest first."""
        return list(self._trace)

    def profile(self) -> dict[int, int]:
        """Instructions executed, by the address at which their block starts."""
        return {address: count for address, count in self._profile.items() if count}

    def coverage(self, region: int) -> bytes:
        """One bit a halfword of the code region: executed or not."""
        return bytes(self._covered[region])

    def clear_profile(self) -> None:
        """Forget profile and coverage."""
        self._profile.clear()
        self._decoded.clear()
        for covered in self._covered:
            covered[:] = bytes(len(covered))
