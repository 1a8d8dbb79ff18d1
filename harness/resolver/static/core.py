"""Thumb-2 instructions on words that may be unknown.

Source: Armv8-M Architecture Reference Manual (DDI 0553), section C2.4. What an instruction without
a rule here writes is unknown from then on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import capstone
from capstone import arm

from harness.elf import Image
from harness.resolver.static.alu import (
    ALWAYS,
    BITS,
    add,
    condition,
    shift,
    signed_quotient,
    subtract,
    unsigned_quotient,
)
from harness.resolver.static.state import LR, PC, SP, Lost, Objects, State
from harness.resolver.static.values import MASK, Cause, Unknown, Value, derived, offset, signed

_LONGEST = 4  # bytes of an instruction
_IT_REACH = 5 * _LONGEST


@dataclass(frozen=True)
class Fork:
    """A branch whose condition, or target, is not known."""

    targets: tuple[int, ...]
    cause: Cause


CALLED = "called"  # the program counter is at the start of a function
JUMPED = "jumped"  # backwards, or to another function
ENDED = "ended"  # nothing more happens on this path
Event = Fork | str | None
Operation = Callable[[State], Event]
Reader = Callable[[State], Value]

_REGISTERS = {getattr(arm, f"ARM_REG_R{n}"): n for n in range(13)} | {
    arm.ARM_REG_SP: SP, arm.ARM_REG_LR: LR, arm.ARM_REG_PC: PC,
}  # fmt: skip
_SINGLES = {getattr(arm, f"ARM_REG_S{n}"): n for n in range(32)}
_DOUBLES = {getattr(arm, f"ARM_REG_D{n}"): n for n in range(16)}
_SHIFTS = {
    arm.ARM_SFT_ASR: "asr", arm.ARM_SFT_LSL: "lsl", arm.ARM_SFT_LSR: "lsr", arm.ARM_SFT_ROR: "ror",
    arm.ARM_SFT_RRX: "rrx",
}  # fmt: skip
_NOTHING = frozenset(
    ("nop", "dmb", "dsb", "isb", "sev", "wfe", "wfi", "yield", "pld", "pli", "cpsie", "cpsid",
     "cps", "clrex", "dbg", "csdb", "hint", "pldw", "vlstm", "vlldm", "sg")
)  # fmt: skip
_FAULTS = frozenset(("udf", "bkpt"))
_SIZES = {
    "ldr": (4, False), "ldrb": (1, False), "ldrh": (2, False), "ldrsb": (1, True),
    "ldrsh": (2, True), "ldrt": (4, False), "ldrbt": (1, False), "ldrht": (2, False),
    "ldrex": (4, False), "ldrexb": (1, False), "ldrexh": (2, False), "lda": (4, False),
    "ldab": (1, False), "ldah": (2, False), "ldaex": (4, False), "str": (4, False),
    "strb": (1, False), "strh": (2, False), "strt": (4, False), "strbt": (1, False),
    "strht": (2, False), "stl": (4, False), "stlb": (1, False), "stlh": (2, False),
}  # fmt: skip
_EXCLUSIVE = {"strex": 4, "strexb": 1, "strexh": 2, "stlex": 4, "stlexb": 1, "stlexh": 2}
_EXTENDS = {
    "uxtb": (8, False), "uxth": (16, False), "sxtb": (8, True), "sxth": (16, True),
    "uxtab": (8, False), "uxtah": (16, False), "sxtab": (8, True), "sxtah": (16, True),
}  # fmt: skip
_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": operator.and_, "orr": operator.or_, "eor": operator.xor,
    "bic": lambda a, b: a & ~b, "orn": lambda a, b: a | ~b & MASK,
}  # fmt: skip
_TESTS = {"tst": "and", "teq": "eor"}
_SUMS = frozenset(("add", "addw", "adc", "sub", "subw", "sbc", "rsb"))
_COMPARISONS = {"cmp": "sub", "cmn": "add"}


class Core:
    """Executes an image's instructions on states; each instruction is decoded once."""

    def __init__(self, image: Image, objects: Objects) -> None:
        self.image = image
        self.objects = objects
        self.operations: dict[int, Operation] = {}
        self.watched: frozenset[int] = frozenset()  # stored words that a state remembers
        self._engine = capstone.Cs(
            capstone.CS_ARCH_ARM,
            capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8,
        )
        self._engine.detail = True
        self.stacks: set[int] = set()  # tops of stacks that were switched to
        self._decoded: dict[int, Any] = {}
        self._bodies: dict[int, Operation] = {}

    # ------------------------------------------------------------------ decoding

    def instruction(self, at: int) -> Any:
        """Capstone's view of the instruction at ``at``, its condition included; None if none."""
        if at not in self._decoded:
            data = self.image.read(at, _LONGEST) or self.image.read(at, 2)
            found = next(self._engine.disasm(data, at, 1), None) if data else None
            self._decoded[at] = found
            if found is not None and found.id == arm.ARM_INS_IT:
                self._decode_block(at)
        return self._decoded[at]

    def _decode_block(self, at: int) -> None:
        size = next(n for n in range(_IT_REACH, 0, -2) if self.image.read(at, n))
        mask = (self.image.read(at, 1) or b"\1")[0] & 15
        conditional = 4 - ((mask & -mask).bit_length() - 1)
        for found in self._engine.disasm(self.image.read(at, size) or b"", at, 1 + conditional):
            self._decoded[found.address] = found

    def operation(self, at: int) -> Operation:
        """The instruction at ``at`` as a function of the state. Raises :class:`Lost`."""
        known = self.operations.get(at)
        if known is None:
            found = self.instruction(at)
            if found is None:
                raise Lost(Cause("there is no instruction that could be followed", at))
            known = self.operations[at] = self._compile(found)
        return known

    def carried_out(self, at: int) -> Operation:
        """The conditional instruction at ``at`` as if its condition held."""
        return self._bodies[at]

    def _compile(self, found: Any) -> Operation:
        name = self._engine.insn_name(found.id)
        builder = getattr(self, f"_{_builder(name)}", self._other)
        at, following = found.address, found.address + found.size
        body: Operation = builder(found, name, following)
        if name in ("b", "it") or found.cc in ALWAYS:
            return body
        holds = condition(found.cc)
        self._bodies[at] = body

        def conditional(state: State) -> Event:
            taken = holds(state)
            if taken:
                return body(state)
            if taken is None:
                return Fork((at, following), state.flags_cause)
            state.pc = following
            return None

        return conditional

    # ------------------------------------------------------------------ operands

    def _read(self, found: Any, number: int) -> Reader:
        """The value of an operand, shifted as the instruction says."""
        operand = found.operands[number]
        if operand.type == arm.ARM_OP_IMM:
            value = operand.imm & MASK
            return lambda state: value
        register = _REGISTERS.get(operand.reg)
        if register is None:
            cause = Cause("an operand that is not followed", found.address)
            return lambda state: Unknown(cause)
        if register == PC:
            value = found.address + 4
            return lambda state: value
        kind = _SHIFTS.get(operand.shift.type)
        if kind is None or (kind != "rrx" and not operand.shift.value):
            return lambda state: state.r[register]
        amount = operand.shift.value

        def shifted(state: State) -> Value:
            value = state.r[register]
            if not isinstance(value, int) or (kind == "rrx" and state.c is None):
                return derived(value) if not isinstance(value, int) else Unknown(state.flags_cause)
            return shift(kind, value, amount, state.c or 0)[0]

        return shifted

    def _carry_of(self, found: Any, number: int) -> Callable[[State], int | None]:
        """The carry that the shift of an operand leaves."""
        operand = found.operands[number]
        kind = _SHIFTS.get(operand.shift.type) if operand.type == arm.ARM_OP_REG else None
        if operand.type == arm.ARM_OP_IMM:
            value = operand.imm & MASK
            if found.size == 2 or value <= 0xFF or not _is_rotated(value):
                return lambda state: state.c
            return lambda state: value >> 31
        if kind is None:
            return lambda state: state.c
        register, amount = _REGISTERS[operand.reg], operand.shift.value

        def carry(state: State) -> int | None:
            value = state.r[register]
            if not isinstance(value, int):
                return None
            return shift(kind, value, amount, state.c or 0)[1]

        return carry

    def _address(self, found: Any, number: int) -> Reader:
        operand = found.operands[number]
        memory = operand.mem
        base = _REGISTERS[memory.base]
        if base == PC:
            constant = (found.address + 4 & ~3) + memory.disp & MASK
            return lambda state: constant
        index = _REGISTERS.get(memory.index)
        if index is None:
            disp = memory.disp
            if not disp:
                return lambda state: state.r[base]
            return lambda state: add(state.r[base], disp & MASK)
        by = operand.shift.value if operand.shift.type == arm.ARM_SFT_LSL else memory.lshift

        def indexed(state: State) -> Value:
            value = state.r[index]
            scaled = value << by & MASK if isinstance(value, int) else value
            return add(state.r[base], scaled)

        return indexed

    def _access(self, found: Any, number: int) -> Reader:
        """The address of a memory operand; the base register is updated as the instruction says."""
        address = self._address(found, number)
        if not found.writeback:
            return address
        base = _REGISTERS[found.operands[number].mem.base]
        if len(found.operands) > number + 1:
            step = found.operands[number + 1].imm
            if found.operands[number + 1].subtracted:
                step = -step

            def post(state: State) -> Value:
                value = state.r[base]
                state.r[base] = add(value, step & MASK)
                return value

            return post

        def pre(state: State) -> Value:
            value = state.r[base] = address(state)
            return value

        return pre

    # ------------------------------------------------------------------ memory

    def load(self, state: State, address: Value, size: int, at: int) -> Value:
        """What a load gives."""
        if isinstance(address, int):
            return state.memory.load(address, size, at)
        return Unknown(address.cause, external=address.external and address.base is None)

    def store(self, state: State, address: Value, size: int, value: Value, at: int) -> None:
        """Store ``value``. Raises :class:`Lost` if nobody knows where."""
        if isinstance(address, int):
            before = state.memory.version
            if not state.memory.store(address, size, value):
                self.share(state, value, at)
            elif state.memory.version != before:
                if value in self.watched and size == 4:
                    state.objects |= {address}
                stack = state.r[SP]
                if not isinstance(stack, int) or not stack <= address < state.frames[-1].top:
                    state.outside = state.memory.version
            return
        span = None if address.base is None else self.objects.at(state, address.base)
        if span is not None:
            state.memory.forget(*span, Unknown(Cause("a store at an index that is not known", at)))
            state.outside = state.memory.version
        elif address.external and address.base is None:
            self.share(state, value, at)
        else:
            raise Lost(Cause("stores through a pointer that is not known", at))

    def share(self, state: State, value: Value, at: int) -> None:
        """``value`` left the path's own memory: what it points to may change at any time."""
        pointer = value if isinstance(value, int) else value.base
        span = None if pointer is None else self.objects.at(state, pointer)
        if span is None:
            if not isinstance(value, int) and not value.external and value.base is None:
                raise Lost(Cause("gives a pointer that is not known to hardware or other code", at))
            return
        in_frame = state.frame_of(span[0]) is not None
        cause = Cause("its address is given to hardware or to other code", at)
        state.memory.forget(*span, Unknown(cause, shared=not in_frame))
        state.outside = state.memory.version

    # ------------------------------------------------------------------ instructions

    def _writer(self, found: Any, following: int, value: Reader, number: int = 0) -> Operation:
        target = _REGISTERS[found.operands[number].reg]
        if target == PC:
            return self._to(value, found.address)
        if target == SP:
            return self._move_stack(value, following)

        def write(state: State) -> Event:
            state.r[target] = value(state)
            state.pc = following
            return None

        return write

    def _move_stack(self, value: Reader, following: int) -> Operation:
        def move(state: State) -> Event:
            stack = state.r[SP] = value(state)
            if isinstance(stack, int):
                frame = state.frames[-1]
                frame.low = min(frame.low, stack)
            state.pc = following
            return None

        return move

    def _to(self, value: Reader, at: int) -> Operation:
        """A jump to a computed address: a return, or a call in tail position."""

        def jump(state: State) -> Event:
            target = value(state)
            frame = state.frames[-1]
            if not isinstance(target, int):
                if target.base is None and frame.returns_to and state.r[SP] == frame.top:
                    state.leave()
                    return JUMPED
                raise Lost(Cause("jumps to an address that is not known", at))
            return goto(state, target & ~1)

        return jump

    def _nothing(self, found: Any, name: str, following: int) -> Operation:
        def skip(state: State) -> Event:
            state.pc = following
            return None

        return skip

    def _fault(self, found: Any, name: str, following: int) -> Operation:
        return lambda state: ENDED

    def _other(self, found: Any, name: str, following: int) -> Operation:
        """An instruction without a rule: what it writes is unknown."""
        written = [_REGISTERS[r] for r in found.regs_access()[1] if r in _REGISTERS]
        singles = [n for r in found.regs_access()[1] for n in _single_numbers(r)]
        flags = found.update_flags
        cause = Cause(f"{name}, an instruction that is not followed", found.address)
        touches = any(o.type == arm.ARM_OP_MEM and o.access & capstone.CS_AC_WRITE
                      for o in found.operands)  # fmt: skip
        if PC in written or SP in written or touches:
            return self._raise(cause)
        unknown = Unknown(cause, external=True)

        def forget(state: State) -> Event:
            for number in written:
                state.r[number] = unknown
            for number in singles:
                state.s[number] = unknown
            if flags or name in ("vmrs", "vcmp"):
                state.flags_unknown(cause)
            state.pc = following
            return None

        return forget

    def _raise(self, cause: Cause) -> Operation:
        def lost(state: State) -> Event:
            raise Lost(cause)

        return lost

    def _branch(self, found: Any, name: str, following: int) -> Operation:
        target, at = found.operands[0].imm & ~1 & MASK, found.address
        if found.cc in ALWAYS:
            if target == at:
                return lambda state: ENDED
            return lambda state: goto(state, target)
        holds = condition(found.cc)
        open_sides = (following,) if target == at else (target, following)

        def branch(state: State) -> Event:
            taken = holds(state)
            if taken is None:
                return Fork(open_sides, state.flags_cause)
            if not taken:
                state.pc = following
                return None
            state.pc = target
            return JUMPED if target <= at else None

        return branch

    def _call(self, found: Any, name: str, following: int) -> Operation:
        operand = found.operands[0]
        if operand.type == arm.ARM_OP_IMM:
            target = operand.imm & ~1 & MASK

            def call(state: State) -> Event:
                state.enter(target, following)
                return CALLED

            return call
        register = _REGISTERS[operand.reg]

        def through(state: State) -> Event:
            value = state.r[register]
            if not isinstance(value, int):
                raise Lost(
                    Cause("calls a function through a pointer that is not known", found.address)
                )
            if not value & ~1:
                return ENDED
            state.enter(value & ~1, following)
            return CALLED

        return through

    def _exchange(self, found: Any, name: str, following: int) -> Operation:
        return self._to(self._read(found, 0), found.address)

    def _zero(self, found: Any, name: str, following: int) -> Operation:
        register, wanted = _REGISTERS[found.operands[0].reg], name == "cbz"
        target = found.operands[1].imm & MASK

        def compare(state: State) -> Event:
            value = state.r[register]
            if not isinstance(value, int):
                return Fork((target, following), value.cause)
            state.pc = target if (value == 0) is wanted else following
            return None

        return compare

    def _table(self, found: Any, name: str, following: int) -> Operation:
        memory = found.operands[0].mem
        base, index = _REGISTERS[memory.base], _REGISTERS[memory.index]
        size = 1 if name == "tbb" else 2

        def branch(state: State) -> Event:
            start = found.address + 4 if base == PC else state.r[base]
            value = state.r[index]
            if not isinstance(start, int):
                raise Lost(start.cause)
            if not isinstance(value, int):
                targets = self.table_targets(found.address)
                if not targets:
                    raise Lost(Cause("a jump table of unknown length", found.address))
                return Fork(targets, value.cause)
            entry = state.memory.load(start + value * size, size, found.address)
            if not isinstance(entry, int):
                raise Lost(entry.cause)
            state.pc = found.address + 4 + 2 * entry
            return None

        return branch

    def always_jumps(self, at: int) -> bool:
        """True if the instruction at ``at`` is an unconditional jump."""
        found = self.instruction(at)
        return found.cc in ALWAYS and found.id not in (arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ)

    def table_targets(self, at: int) -> tuple[int, ...]:
        """The targets of the jump table at ``at``, as the comparison before it bounds it."""
        found = self.instruction(at)
        memory, size = found.operands[0].mem, 1 if found.id == arm.ARM_INS_TBB else 2
        if _REGISTERS[memory.base] != PC:
            return ()
        for back in range(2, 14, 2):
            before = self._decoded.get(at - back)
            if (
                before is not None
                and before.id == arm.ARM_INS_CMP
                and before.operands[0].reg == memory.index
                and before.operands[1].type == arm.ARM_OP_IMM
            ):
                entries = range(before.operands[1].imm + 1)
                raw = [self.image.read(at + 4 + i * size, size) or b"" for i in entries]
                return tuple(dict.fromkeys(at + 4 + 2 * int.from_bytes(r, "little") for r in raw))
        return ()

    def _move(self, found: Any, name: str, following: int) -> Operation:
        read = self._read(found, 1)
        if name == "mvn":
            source = read

            def read(state: State) -> Value:
                value = source(state)
                return value ^ MASK if isinstance(value, int) else derived(value)

        return self._with_logic_flags(found, following, read, 1)

    def _with_logic_flags(
        self, found: Any, following: int, value: Reader, last: int, *, keep: bool = True
    ) -> Operation:
        if not _sets_flags(found):
            return self._writer(found, following, value)
        carry = self._carry_of(found, last)
        target = _REGISTERS[found.operands[0].reg] if keep else -1

        def write(state: State) -> Event:
            result, c = value(state), carry(state)
            if isinstance(result, int):
                state.n, state.z, state.c = result >> 31, int(result == 0), c
            else:
                v = state.v
                state.flags_unknown(result.cause)
                state.c, state.v = c, v
            if keep:
                state.r[target] = result
            state.pc = following
            return None

        return write

    def _wide_move(self, found: Any, name: str, following: int) -> Operation:
        register, high = _REGISTERS[found.operands[0].reg], (found.operands[1].imm & 0xFFFF) << 16

        def move(state: State) -> Event:
            value = state.r[register]
            state.r[register] = value & 0xFFFF | high if isinstance(value, int) else derived(value)
            state.pc = following
            return None

        return move

    def _adr(self, found: Any, name: str, following: int) -> Operation:
        value = (found.address + 4 & ~3) + found.operands[1].imm & MASK
        return self._writer(found, following, lambda state: value)

    def _logic(self, found: Any, name: str, following: int) -> Operation:
        compute = _LOGIC[_TESTS.get(name, name)]
        test = name in _TESTS
        count = len(found.operands)
        first = self._read(found, 0 if count == 2 else 1)
        second = self._read(found, count - 1)

        def value(state: State) -> Value:
            a, b = first(state), second(state)
            if isinstance(a, int) and isinstance(b, int):
                return compute(a, b)
            if name in ("and", "tst") and (a == 0 or b == 0):
                return 0
            return derived(a, b)

        return self._with_logic_flags(found, following, value, count - 1, keep=not test)

    def _sum(self, found: Any, name: str, following: int) -> Operation:
        count, compared = len(found.operands), name in _COMPARISONS
        kind = _COMPARISONS.get(name, name).removesuffix("w")
        first = self._read(found, 0 if count == 2 else 1)
        second = self._read(found, count - 1)
        if kind == "rsb":
            kind, first, second = "sub", second, first
        if not compared and not _sets_flags(found) and kind in ("add", "sub"):
            pc_relative = count == 3 and _REGISTERS.get(found.operands[1].reg) == PC
            if pc_relative:
                first = lambda state: found.address + 4 & ~3  # noqa: E731
            compute = add if kind == "add" else subtract
            return self._writer(found, following, lambda s: compute(first(s), second(s)))
        target = -1 if compared else _REGISTERS[found.operands[0].reg]
        flags = compared or _sets_flags(found)

        def write(state: State) -> Event:
            a, b = first(state), second(state)
            c = {"add": 0, "sub": 1}.get(kind, state.c)
            if isinstance(a, int) and isinstance(b, int) and c is not None:
                if kind in ("sub", "sbc"):
                    b ^= MASK
                total = a + b + c
                result = total & MASK
                if flags:
                    state.n, state.z = result >> 31, int(result == 0)
                    state.c = total >> 32
                    state.v = ((a ^ result) & (b ^ result)) >> 31
                if not compared:
                    state.r[target] = result
            else:
                unknown = (
                    derived(a, b)
                    if not isinstance(a, int) or not isinstance(b, int)
                    else Unknown(state.flags_cause, external=True)
                )
                if flags:
                    state.flags_unknown(unknown.cause)
                if not compared:
                    state.r[target] = offset(a, b) if kind in ("add", "sub") else unknown
            state.pc = following
            return None

        return write

    def _shift(self, found: Any, name: str, following: int) -> Operation:
        if len(found.operands) == 2 and found.operands[1].shift.type != arm.ARM_SFT_INVALID:
            return self._with_logic_flags(found, following, self._read(found, 1), 1)
        count = len(found.operands)
        first = self._read(found, 0 if count == 2 and name != "rrx" else 1)
        second = self._read(found, count - 1) if name != "rrx" else lambda state: 1
        target, flags = _REGISTERS[found.operands[0].reg], _sets_flags(found)

        def write(state: State) -> Event:
            value, amount = first(state), second(state)
            if (
                isinstance(value, int)
                and isinstance(amount, int)
                and (name != "rrx" or state.c is not None)
            ):
                result, carry = shift(name, value, amount & 0xFF, state.c)
                state.r[target] = result
                if flags:
                    state.n, state.z, state.c = result >> 31, int(result == 0), carry
            else:
                unknown = Unknown(state.flags_cause) if name == "rrx" else derived(value, amount)
                state.r[target] = unknown
                if flags:
                    v = state.v
                    state.flags_unknown(unknown.cause)
                    state.v = v
            state.pc = following
            return None

        return write

    def _pure(
        self, found: Any, following: int, compute: Callable[..., int], sources: Sequence[int]
    ) -> Operation:
        """A result that depends on registers alone; N and Z as MULS sets them."""
        readers = [self._read(found, number) for number in sources]
        target = _REGISTERS[found.operands[0].reg]
        flags = found.size == 2 and found.update_flags  # MULS

        def write(state: State) -> Event:
            values = [read(state) for read in readers]
            numbers = [value for value in values if isinstance(value, int)]
            if len(numbers) == len(values):
                result = compute(*numbers) & MASK
                state.r[target] = result
                if flags:
                    state.n, state.z = result >> 31, int(result == 0)
            else:
                unknown = state.r[target] = derived(*values)
                if flags:
                    c, v = state.c, state.v
                    state.flags_unknown(unknown.cause)
                    state.c, state.v = c, v
            state.pc = following
            return None

        return write

    def _multiply(self, found: Any, name: str, following: int) -> Operation:
        if name == "mul":
            sources = (1, 2) if len(found.operands) == 3 else (0, 1)
            return self._pure(found, following, operator.mul, sources)
        if name == "mla":
            return self._pure(found, following, lambda a, b, c: a * b + c, (1, 2, 3))
        return self._pure(found, following, lambda a, b, c: c - a * b, (1, 2, 3))

    def _divide(self, found: Any, name: str, following: int) -> Operation:
        sources = (1, 2) if len(found.operands) == 3 else (0, 1)
        quotient = unsigned_quotient if name == "udiv" else signed_quotient
        return self._pure(found, following, quotient, sources)

    def _long(self, found: Any, name: str, following: int) -> Operation:
        low, high = (_REGISTERS[found.operands[n].reg] for n in (0, 1))
        first, second = self._read(found, 2), self._read(found, 3)
        convert: Callable[[int], int] = signed if name.startswith("s") else int
        adds = name.endswith("mlal")

        def write(state: State) -> Event:
            values = [first(state), second(state)]
            if adds:
                values += [state.r[low], state.r[high]]
            numbers = [value for value in values if isinstance(value, int)]
            if len(numbers) == len(values):
                total = convert(numbers[0]) * convert(numbers[1])
                if adds:
                    total += numbers[2] | numbers[3] << 32
                state.r[low], state.r[high] = total & MASK, total >> 32 & MASK
            else:
                state.r[low] = state.r[high] = derived(*values)
            state.pc = following
            return None

        return write

    def _extend(self, found: Any, name: str, following: int) -> Operation:
        bits, keeps_sign = _EXTENDS[name]
        count = len(found.operands)
        operand = found.operands[count - 1]
        rotated = operand.shift.value if operand.shift.type == arm.ARM_SFT_ROR else 0
        register = _REGISTERS[operand.reg]

        def extended(value: int) -> int:
            if rotated:
                value = value >> rotated | value << 32 - rotated
            value &= (1 << bits) - 1
            return value - (1 << bits) if keeps_sign and value >> bits - 1 else value

        accumulate = self._read(found, 1) if name[3] == "a" else lambda state: 0

        def value(state: State) -> Value:
            number, to = state.r[register], accumulate(state)
            if isinstance(number, int) and isinstance(to, int):
                return to + extended(number) & MASK
            return derived(number, to)

        return self._writer(found, following, value)

    def _field(self, found: Any, name: str, following: int) -> Operation:
        low, width = int(found.operands[-2].imm), int(found.operands[-1].imm)
        mask = (1 << width) - 1
        if name in ("bfi", "bfc"):
            source = self._read(found, 1) if name == "bfi" else lambda state: 0
            target = self._read(found, 0)

            def inserted(state: State) -> Value:
                a, b = target(state), source(state)
                if isinstance(a, int) and isinstance(b, int):
                    return a & ~(mask << low) & MASK | (b & mask) << low
                return derived(a, b)

            return self._writer(found, following, inserted)

        def extract(value: int) -> int:
            part = value >> low & mask
            return part - (1 << width) if name == "sbfx" and part >> width - 1 else part

        return self._pure(found, following, extract, (1,))

    def _bits(self, found: Any, name: str, following: int) -> Operation:
        return self._pure(found, following, BITS[name], (len(found.operands) - 1,))

    def _load(self, found: Any, name: str, following: int) -> Operation:
        size, keeps_sign = _SIZES[name]
        address = self._access(found, 1)
        at, target = found.address, _REGISTERS[found.operands[0].reg]

        def read(state: State) -> Value:
            value = self.load(state, address(state), size, at)
            if keeps_sign and isinstance(value, int) and value >> 8 * size - 1:
                return value - (1 << 8 * size) & MASK
            return value

        if target == PC:
            return self._to(read, at)

        def write(state: State) -> Event:
            state.r[target] = read(state)
            state.pc = following
            return None

        return write

    def _load_pair(self, found: Any, name: str, following: int) -> Operation:
        address, at = self._access(found, 2), found.address
        low, high = (_REGISTERS[found.operands[n].reg] for n in (0, 1))

        def write(state: State) -> Event:
            place = address(state)
            values = [self.load(state, add(place, n), 4, at) for n in (0, 4)]
            state.r[low], state.r[high] = values
            state.pc = following
            return None

        return write

    def _store(self, found: Any, name: str, following: int) -> Operation:
        size = _SIZES[name][0]
        source, address, at = self._read(found, 0), self._access(found, 1), found.address

        def write(state: State) -> Event:
            value = source(state)
            self.store(state, address(state), size, value, at)
            state.pc = following
            return None

        return write

    def _store_pair(self, found: Any, name: str, following: int) -> Operation:
        first, second = self._read(found, 0), self._read(found, 1)
        address, at = self._access(found, 2), found.address

        def write(state: State) -> Event:
            values = first(state), second(state)
            place = address(state)
            for n, value in enumerate(values):
                self.store(state, add(place, 4 * n), 4, value, at)
            state.pc = following
            return None

        return write

    def _store_exclusive(self, found: Any, name: str, following: int) -> Operation:
        size, source = _EXCLUSIVE[name], self._read(found, 1)
        address, at = self._address(found, 2), found.address
        target = _REGISTERS[found.operands[0].reg]

        def write(state: State) -> Event:
            self.store(state, address(state), size, source(state), at)
            state.r[target] = 0
            state.pc = following
            return None

        return write

    def _multiple(self, found: Any, name: str, following: int) -> Operation:
        """LDM, STM, PUSH, POP, and the same for floating-point registers."""
        stack = name in ("push", "pop", "vpush", "vpop")
        base = SP if stack else _REGISTERS[found.operands[0].reg]
        listed = [operand.reg for operand in found.operands[0 if stack else 1 :]]
        down = name in ("push", "vpush") or name.endswith("db")
        back = stack or found.writeback
        loads = "ld" in name or "pop" in name
        slots: list[tuple[bool, int]] = []
        for register in listed:
            if register in _REGISTERS:
                slots.append((False, _REGISTERS[register]))
            else:
                slots += [(True, number) for number in _single_numbers(register)]
        size, at = 4 * len(slots), found.address
        saves = not loads and down and base == SP and (False, LR) in slots

        def transfer(state: State) -> Event:
            start = state.r[base]
            low = subtract(start, size) if down else start
            if loads:
                values = [self.load(state, add(low, 4 * n), 4, at) for n in range(len(slots))]
                if back and (False, base) not in slots:
                    state.r[base] = low if down else add(start, size)
                state.pc = following
                for (floating, number), value in zip(slots, values, strict=True):
                    if floating:
                        state.s[number] = value
                    elif number != PC:
                        state.r[number] = value
                    else:
                        return jump(state, value)
                return None
            values = [state.s[n] if floating else state.r[n] for floating, n in slots]
            if saves and isinstance(start, int) and state.frames[-1].saved is None:
                state.frames[-1].saved = start - size, start
            if back and base == SP and isinstance(low, int) and down:
                state.r[base] = low
                state.frames[-1].low = min(state.frames[-1].low, low)
            for n, value in enumerate(values):
                self.store(state, add(low, 4 * n), 4, value, at)
            if back:
                state.r[base] = low if down else add(start, size)
            state.pc = following
            return None

        def jump(state: State, target: Value) -> Event:
            return self._to(lambda _: target, at)(state)

        return transfer

    def _special_read(self, found: Any, name: str, following: int) -> Operation:
        system = found.op_str.partition(",")[2].strip().lower()
        target, cause = _REGISTERS[found.operands[0].reg], Cause(f"reads {system}", found.address)

        def read(state: State) -> Event:
            value: Value = Unknown(cause, external=True)
            if system == "psp":
                value = state.r[SP] if state.control & 2 else state.psp
            elif system == "msp":
                value = state.psp if state.control & 2 else state.r[SP]
            elif system == "control":
                value = state.control
            state.r[target] = value
            state.pc = following
            return None

        return read

    def _special_write(self, found: Any, name: str, following: int) -> Operation:
        system = found.op_str.partition(",")[0].strip().lower()
        source, at = self._read(found, 1), found.address

        def switch(state: State, stack: Value) -> None:
            if not isinstance(stack, int):
                raise Lost(Cause("sets a stack pointer that is not known", at))
            state.r[SP] = stack
            self.stacks.add(stack)
            for frame in state.frames:  # nothing of the old stack is used again
                frame.top = frame.low = stack

        def write(state: State) -> Event:
            value = source(state)
            if system in ("psp", "msp"):
                if (system == "psp") == bool(state.control & 2):
                    switch(state, value)
                else:
                    state.psp = value
            elif system == "control" and isinstance(value, int):
                if (value ^ state.control) & 2:
                    other, state.psp = state.psp, state.r[SP]
                    switch(state, other)
                state.control = value
            elif system.startswith("apsr"):
                state.flags_unknown(Cause("sets the flags", at))
            state.pc = following
            return None

        return write

    # ------------------------------------------------------------------ floating point

    def _float_load(self, found: Any, name: str, following: int) -> Operation:
        numbers, address = _single_numbers(found.operands[0].reg), self._address(found, 1)

        def write(state: State) -> Event:
            place = address(state)
            for n, number in enumerate(numbers):
                state.s[number] = self.load(state, add(place, 4 * n), 4, found.address)
            state.pc = following
            return None

        return write

    def _float_store(self, found: Any, name: str, following: int) -> Operation:
        numbers, address = _single_numbers(found.operands[0].reg), self._address(found, 1)

        def write(state: State) -> Event:
            place = address(state)
            for n, number in enumerate(numbers):
                self.store(state, add(place, 4 * n), 4, state.s[number], found.address)
            state.pc = following
            return None

        return write

    def _float_move(self, found: Any, name: str, following: int) -> Operation:
        places: list[tuple[bool, int]] = []
        for operand in found.operands:
            if operand.type != arm.ARM_OP_REG:
                return self._other(found, name, following)
            if operand.reg in _REGISTERS:
                places.append((False, _REGISTERS[operand.reg]))
            else:
                places += [(True, number) for number in _single_numbers(operand.reg)]
        half = len(places) // 2

        def write(state: State) -> Event:
            values = [state.s[n] if single else state.r[n] for single, n in places[half:]]
            for (single, number), value in zip(places[:half], values, strict=True):
                (state.s if single else state.r)[number] = value
            state.pc = following
            return None

        return write if 2 * half == len(places) else self._other(found, name, following)


def goto(state: State, target: int) -> Event:
    """Jump to ``target``: within the function, back to the caller, or a call in tail position."""
    frame = state.frames[-1]
    if target == frame.returns_to and frame.returns_to and state.r[SP] == frame.top:
        state.leave()
    elif target >= 0xF000_0000:
        raise Lost(Cause("returns from an exception", state.pc))
    else:
        state.pc = target
    return JUMPED


def _sets_flags(found: Any) -> bool:
    """True if a data-processing instruction sets flags: its S bit (capstone errs on ADC.W)."""
    return bool(found.update_flags if found.size == 2 else found.bytes[0] & 0x10)


def _is_rotated(value: int) -> bool:
    """True for an immediate made by rotation, which sets the carry; not for repeated bytes."""
    low, high = value & 0xFF, value >> 8 & 0xFF
    return value not in (low | low << 16, high << 8 | high << 24, low * 0x0101_0101)


def _single_numbers(register: int) -> list[int]:
    if register in _SINGLES:
        return [_SINGLES[register]]
    double = _DOUBLES.get(register)
    return [] if double is None else [2 * double, 2 * double + 1]


_BUILDERS = {
    **dict.fromkeys(_NOTHING, "nothing"), **dict.fromkeys(_FAULTS, "fault"),
    **dict.fromkeys(_LOGIC, "logic"), **dict.fromkeys(_TESTS, "logic"),
    **dict.fromkeys(_SUMS, "sum"), **dict.fromkeys(_COMPARISONS, "sum"),
    **dict.fromkeys(_EXTENDS, "extend"), **dict.fromkeys(BITS, "bits"),
    **dict.fromkeys((name for name in _SIZES if name.startswith("l")), "load"),
    **dict.fromkeys((name for name in _SIZES if name.startswith("s")), "store"),
    **dict.fromkeys(_EXCLUSIVE, "store_exclusive"),
    **dict.fromkeys(("lsl", "lsr", "asr", "ror", "rrx"), "shift"),
    **dict.fromkeys(("mul", "mla", "mls"), "multiply"),
    **dict.fromkeys(("udiv", "sdiv"), "divide"),
    **dict.fromkeys(("umull", "smull", "umlal", "smlal"), "long"),
    **dict.fromkeys(("ubfx", "sbfx", "bfi", "bfc"), "field"),
    **dict.fromkeys(("ldm", "ldmdb", "stm", "stmdb", "push", "pop", "vpush", "vpop", "vldmia",
                     "vldmdb", "vstmia", "vstmdb"), "multiple"),
    "b": "branch", "bl": "call", "blx": "call", "bx": "exchange", "cbz": "zero", "cbnz": "zero",
    "tbb": "table", "tbh": "table", "mov": "move", "movs": "move", "mvn": "move", "movw": "move",
    "movt": "wide_move", "adr": "adr", "ldrd": "load_pair", "strd": "store_pair",
    "mrs": "special_read", "msr": "special_write", "vldr": "float_load", "vstr": "float_store",
    "vmov": "float_move", "it": "nothing",
}  # fmt: skip


def _builder(name: str) -> str:
    return _BUILDERS.get(name, "other")
