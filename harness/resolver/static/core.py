"""An image's instructions as operations on states; each is decoded once, by Capstone.

Source: Armv8-M Architecture Reference Manual (DDI 0553), section C2.4. The results of an
instruction without a rule are unknown.
"""

from __future__ import annotations

from typing import Any

import capstone
from capstone import arm

from harness.elf import Image
from harness.resolver.static import branches, data_processing, system
from harness.resolver.static.alu import ALWAYS, condition
from harness.resolver.static.load_store import LoadStore
from harness.resolver.static.operands import REGISTERS
from harness.resolver.static.operation import Event, Fork, Operation
from harness.resolver.static.state import PC, Lost, Objects, State
from harness.resolver.static.values import Cause

_LONGEST = 4  # bytes of an instruction
_IT_REACH = 5 * _LONGEST  # bytes of IT and the four instructions of its block


class Core:
    """Executes an image's instructions on states."""

    def __init__(self, image: Image, objects: Objects) -> None:
        self.image = image
        self.memory = LoadStore(objects)
        self.operations: dict[int, Operation] = {}
        self.stacks: set[int] = set()  # tops of the stacks that were selected
        self._engine = capstone.Cs(
            capstone.CS_ARCH_ARM,
            capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8,
        )
        self._engine.detail = True
        self._builders = {
            **data_processing.BUILDERS,
            **self.memory.builders(),
            **branches.builders(self.table_targets),
            **system.builders(self.stacks),
        }
        self._decoded: dict[int, Any] = {}
        self._bodies: dict[int, Operation] = {}

    def instruction(self, at: int) -> Any:
        """Capstone's instruction at ``at``, with its condition in an IT block; None without one."""
        if at not in self._decoded:
            data = self.image.read(at, _LONGEST) or self.image.read(at, 2)
            found = next(self._engine.disasm(data, at, 1), None) if data else None
            self._decoded[at] = found
            if found is not None and found.id == arm.ARM_INS_IT:
                self._decode_block(at)
        return self._decoded[at]

    def _decode_block(self, at: int) -> None:
        """Decode the IT block at ``at`` as a whole, so that Capstone knows the conditions."""
        size = next(n for n in range(_IT_REACH, 0, -2) if self.image.read(at, n))
        mask = (self.image.read(at, 1) or b"\1")[0] & 15
        conditional = 4 - ((mask & -mask).bit_length() - 1)
        for found in self._engine.disasm(self.image.read(at, size) or b"", at, 1 + conditional):
            self._decoded[found.address] = found

    def always_jumps(self, at: int) -> bool:
        """True if the instruction at ``at`` is an unconditional jump."""
        found = self.instruction(at)
        return found.cc in ALWAYS and found.id not in (arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ)

    def table_targets(self, at: int) -> tuple[int, ...]:
        """The targets of the jump table at ``at``; () if no comparison before bounds its length."""
        found = self.instruction(at)
        memory, size = found.operands[0].mem, 1 if found.id == arm.ARM_INS_TBB else 2
        if REGISTERS[memory.base] != PC:
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
        """The conditional instruction at ``at`` without its condition."""
        return self._bodies[at]

    def _compile(self, found: Any) -> Operation:
        name = self._engine.insn_name(found.id)
        build = self._builders.get(name, system.without_rule)
        at, following = found.address, found.address + found.size
        body = build(found, name, following)
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
