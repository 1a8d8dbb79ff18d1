"""Models of C library functions, which replace the instructions of these functions."""

from __future__ import annotations

from collections.abc import Mapping

from harness.elf import Image
from harness.resolver.static.core import Core
from harness.resolver.static.explorer import Hook
from harness.resolver.static.state import State
from harness.resolver.static.values import MASK, Cause, Unknown, Value

#: Most bytes that are copied or filled one by one.
_LONGEST = 1 << 20
_SIZES = ("", "4", "8")
_COPIES = ("memcpy", "memmove", *(f"__aeabi_mem{kind}{n}" for kind in ("cpy", "move")
                                  for n in _SIZES))  # fmt: skip
_FILLS = ("memset",)
_RUNTIME_FILLS = tuple(f"__aeabi_memset{n}" for n in _SIZES)
_CLEARS = tuple(f"__aeabi_memclr{n}" for n in _SIZES)


def hooks(image: Image, core: Core) -> Mapping[int, Hook]:
    """The models by the addresses of their functions."""

    def copy(state: State) -> bool | None:
        target, source, size = state.r[:3]
        if not (isinstance(source, int) and isinstance(size, int) and size <= _LONGEST):
            return _fill_unknown(core, state, target)
        if not isinstance(target, int):
            return None
        at = state.pc
        backwards = source < target < source + size
        places = [(n, 4) for n in range(0, size & ~3, 4)] + [(n, 1) for n in range(size & ~3, size)]
        for n, width in reversed(places) if backwards else places:
            value = state.memory.load(source + n & MASK, width, at)
            core.memory.store(state, target + n & MASK, width, value, at)
        return False

    def fill(state: State, value: Value, size: Value) -> bool | None:
        target = state.r[0]
        if not isinstance(size, int) or size > _LONGEST:
            return _fill_unknown(core, state, target)
        if not isinstance(target, int):
            return None
        word = (
            (value & 0xFF) * 0x0101_0101
            if isinstance(value, int)
            else Unknown(value.cause, external=True)
        )
        byte = value & 0xFF if isinstance(value, int) else word
        at = target
        while at < target + size:
            whole = at % 4 == 0 and at + 4 <= target + size
            core.memory.store(state, at, 4 if whole else 1, word if whole else byte, state.pc)
            at += 4 if whole else 1
        return False

    found: dict[int, Hook] = {}
    rules: tuple[tuple[tuple[str, ...], Hook], ...] = (
        (_COPIES, copy),
        (_FILLS, lambda state: fill(state, state.r[1], state.r[2])),
        (_RUNTIME_FILLS, lambda state: fill(state, state.r[2], state.r[1])),
        (_CLEARS, lambda state: fill(state, 0, state.r[1])),
    )
    for names, rule in rules:
        for symbol in (image.symbol(name) for name in names):
            if symbol is not None and symbol.kind == "func":
                found[symbol.address] = rule
    return found


def _fill_unknown(core: Core, state: State, target: Value) -> bool | None:
    """Write an unknown number of bytes to ``target``: all of its object is unknown."""
    pointer = target if isinstance(target, int) else target.base
    span = None if pointer is None else core.memory.objects.at(state, pointer)
    if span is None:
        return None
    state.memory.forget(*span, Unknown(Cause("a copy whose source or size is not known", state.pc)))
    state.outside = state.memory.version
    return False
