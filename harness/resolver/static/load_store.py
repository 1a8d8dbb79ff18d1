"""Loads and stores at known and unknown addresses, and block transfers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.resolver.static.alu import add, subtract
from harness.resolver.static.operands import (
    REGISTERS,
    access_of,
    address_of,
    read_operand,
    single_numbers,
)
from harness.resolver.static.operation import Builder, Event, Operation, jump_to
from harness.resolver.static.state import LR, PC, SP, Lost, Objects, State
from harness.resolver.static.values import MASK, Cause, Unknown, Value

_SIZES = {
    "ldr": (4, False), "ldrb": (1, False), "ldrh": (2, False), "ldrsb": (1, True),
    "ldrsh": (2, True), "ldrt": (4, False), "ldrbt": (1, False), "ldrht": (2, False),
    "ldrex": (4, False), "ldrexb": (1, False), "ldrexh": (2, False), "lda": (4, False),
    "ldab": (1, False), "ldah": (2, False), "ldaex": (4, False), "str": (4, False),
    "strb": (1, False), "strh": (2, False), "strt": (4, False), "strbt": (1, False),
    "strht": (2, False), "stl": (4, False), "stlb": (1, False), "stlh": (2, False),
}  # fmt: skip
_EXCLUSIVE = {"strex": 4, "strexb": 1, "strexh": 2, "stlex": 4, "stlexb": 1, "stlexh": 2}


@dataclass(frozen=True)
class _Block:
    """The memory of a block transfer; ``slots`` are its registers from the lowest address on.

    A slot is (floating-point, number). The block is below the base register if ``down``; ``back``:
    the base register is moved past the block.
    """

    base: int
    slots: tuple[tuple[bool, int], ...]
    down: bool
    back: bool

    @classmethod
    def of(cls, found: Any, name: str) -> _Block:
        """The block of an instruction."""
        stack = name in ("push", "pop", "vpush", "vpop")
        slots: list[tuple[bool, int]] = []
        for operand in found.operands[0 if stack else 1 :]:
            if operand.reg in REGISTERS:
                slots.append((False, REGISTERS[operand.reg]))
            else:
                slots += [(True, number) for number in single_numbers(operand.reg)]
        return cls(
            SP if stack else REGISTERS[found.operands[0].reg],
            tuple(slots),
            name in ("push", "vpush") or name.endswith("db"),
            stack or found.writeback,
        )

    @property
    def size(self) -> int:
        """Bytes of the block."""
        return 4 * len(self.slots)

    def ends(self, state: State) -> tuple[Value, Value]:
        """The lowest address of the block, and the base register after a write-back."""
        start = state.r[self.base]
        if self.down:
            low = subtract(start, self.size)
            return low, low
        return start, add(start, self.size)


class LoadStore:
    """Loads and stores in the memory of states; addresses of ``watched`` words are kept."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.watched: frozenset[int] = frozenset()

    def load(self, state: State, address: Value, size: int, at: int) -> Value:
        """The value of a load."""
        if isinstance(address, int):
            return state.memory.load(address, size, at)
        return Unknown(address.cause, external=address.external and address.base is None)

    def store(self, state: State, address: Value, size: int, value: Value, at: int) -> None:
        """Store ``value``. Raises :class:`Lost` if even the object at ``address`` is unknown."""
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
        """Handle a pointer given to hardware or other code, which may change its object."""
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

    def _load_register(self, found: Any, name: str, following: int) -> Operation:
        size, keeps_sign = _SIZES[name]
        address = access_of(found, 1)
        at, target = found.address, REGISTERS[found.operands[0].reg]

        def read(state: State) -> Value:
            value = self.load(state, address(state), size, at)
            if keeps_sign and isinstance(value, int) and value >> 8 * size - 1:
                return value - (1 << 8 * size) & MASK
            return value

        if target == PC:
            return jump_to(read, at)

        def write(state: State) -> Event:
            state.r[target] = read(state)
            state.pc = following
            return None

        return write

    def _load_pair(self, found: Any, name: str, following: int) -> Operation:
        address, at = access_of(found, 2), found.address
        low, high = (REGISTERS[found.operands[n].reg] for n in (0, 1))

        def write(state: State) -> Event:
            place = address(state)
            values = [self.load(state, add(place, n), 4, at) for n in (0, 4)]
            state.r[low], state.r[high] = values
            state.pc = following
            return None

        return write

    def _store_register(self, found: Any, name: str, following: int) -> Operation:
        size = _SIZES[name][0]
        source, address, at = read_operand(found, 0), access_of(found, 1), found.address

        def write(state: State) -> Event:
            value = source(state)
            self.store(state, address(state), size, value, at)
            state.pc = following
            return None

        return write

    def _store_pair(self, found: Any, name: str, following: int) -> Operation:
        first, second = read_operand(found, 0), read_operand(found, 1)
        address, at = access_of(found, 2), found.address

        def write(state: State) -> Event:
            values = first(state), second(state)
            place = address(state)
            for n, value in enumerate(values):
                self.store(state, add(place, 4 * n), 4, value, at)
            state.pc = following
            return None

        return write

    def _store_exclusive(self, found: Any, name: str, following: int) -> Operation:
        size, source = _EXCLUSIVE[name], read_operand(found, 1)
        address, at = address_of(found, 2), found.address
        target = REGISTERS[found.operands[0].reg]

        def write(state: State) -> Event:
            self.store(state, address(state), size, source(state), at)
            state.r[target] = 0
            state.pc = following
            return None

        return write

    def _multiple(self, found: Any, name: str, following: int) -> Operation:
        """LDM, STM, PUSH, POP, and their floating-point counterparts."""
        block = _Block.of(found, name)
        make = self._load_block if "ld" in name or "pop" in name else self._store_block
        return make(block, found.address, following)

    def _load_block(self, block: _Block, at: int, following: int) -> Operation:
        back = block.back and (False, block.base) not in block.slots

        def load(state: State) -> Event:
            low, moved = block.ends(state)
            values = [self.load(state, add(low, 4 * n), 4, at) for n in range(len(block.slots))]
            if back:
                state.r[block.base] = moved
            state.pc = following
            for (floating, number), value in zip(block.slots, values, strict=True):
                if floating:
                    state.s[number] = value
                elif number != PC:
                    state.r[number] = value
                else:
                    return jump_to(lambda _: value, at)(state)  # noqa: B023 - called at once
            return None

        return load

    def _store_block(self, block: _Block, at: int, following: int) -> Operation:
        pushes = block.down and block.base == SP
        saves = pushes and (False, LR) in block.slots

        def store(state: State) -> Event:
            start = state.r[block.base]
            low, moved = block.ends(state)
            values = [state.s[n] if floating else state.r[n] for floating, n in block.slots]
            if saves and isinstance(start, int) and state.frames[-1].saved is None:
                state.frames[-1].saved = start - block.size, start
            if block.back and pushes and isinstance(low, int):
                state.r[SP] = low
                state.frames[-1].low = min(state.frames[-1].low, low)
            for n, value in enumerate(values):
                self.store(state, add(low, 4 * n), 4, value, at)
            if block.back:
                state.r[block.base] = moved
            state.pc = following
            return None

        return store

    def _float_load(self, found: Any, name: str, following: int) -> Operation:
        numbers, address = single_numbers(found.operands[0].reg), address_of(found, 1)

        def write(state: State) -> Event:
            place = address(state)
            for n, number in enumerate(numbers):
                state.s[number] = self.load(state, add(place, 4 * n), 4, found.address)
            state.pc = following
            return None

        return write

    def _float_store(self, found: Any, name: str, following: int) -> Operation:
        numbers, address = single_numbers(found.operands[0].reg), address_of(found, 1)

        def write(state: State) -> Event:
            place = address(state)
            for n, number in enumerate(numbers):
                self.store(state, add(place, 4 * n), 4, state.s[number], found.address)
            state.pc = following
            return None

        return write

    def builders(self) -> dict[str, Builder]:
        """The builders of operations, by mnemonic."""
        return {
            **dict.fromkeys((name for name in _SIZES if name.startswith("l")), self._load_register),
            **dict.fromkeys(
                (name for name in _SIZES if name.startswith("s")), self._store_register
            ),
            **dict.fromkeys(_EXCLUSIVE, self._store_exclusive),
            **dict.fromkeys(
                ("ldm", "ldmdb", "stm", "stmdb", "push", "pop", "vpush", "vpop", "vldmia",
                 "vldmdb", "vstmia", "vstmdb"), self._multiple),
            "ldrd": self._load_pair, "strd": self._store_pair,
            "vldr": self._float_load, "vstr": self._float_store,
        }  # fmt: skip
