"""Whose call it is of a function that several operators register.

tflite-micro gives the functions of a registration the node as their second argument, or what hangs
on it: its options (init), its data (free, reset). The interpreter that calls them has the address
of the node, or of the array that it is an element of, in a register or on its stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.elf import Image
from harness.model.schema import OPERATOR_NAMES
from harness.model.structures import (
    INVOKE,
    NODE,
    NODE_DATA,
    REGISTERED_FUNCTIONS,
    REGISTRATION,
    WORD,
)

Read = Callable[[int, int], bytes | None]

_CUSTOM = OPERATOR_NAMES.index("CUSTOM")
#: Bytes of the interpreter's stack that are looked through; nodes of a model.
_STACK, _MOST_NODES = 256, 4096
_LONGEST_NAME = 64


class OperatorCalls:
    """The functions of an image that several operators register: ``shared``, by address."""

    def __init__(self, image: Image) -> None:
        owned = image.operator_functions.items()
        self.shared = {address: operators for address, operators in owned if len(operators) > 1}

    def operator(self, address: int, registers: Sequence[int], read: Read) -> str:
        """Whose call it is that is about to begin at ``address``; "" if that cannot be told.

        ``registers`` are r0 to r12 and sp; ``read`` gives memory, None where there is none.
        """
        argument = registers[1]
        stack = read(registers[13], _STACK) or b""
        found = set()
        for pointer in {*registers[:13], *_words(stack)}:
            for node, data, registration in _nodes(pointer, read):
                if argument == node or (argument and argument in data):
                    found.add(_name(address, registration, read))
        found &= set(self.shared[address])
        return found.pop() if len(found) == 1 else ""


def _nodes(pointer: int, read: Read) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...]]]:
    """Address, data and registration of the nodes from ``pointer`` on, as long as there are any."""
    for number in range(_MOST_NODES):
        node = pointer + number * (NODE + WORD)
        words = _words(read(node, NODE + WORD) or b"") if node % WORD == 0 else ()
        registration = _words(read(words[-1], REGISTRATION) or b"") if words else ()
        if not registration or not _is_registration(registration):
            return
        yield node, tuple(words[index] for index in NODE_DATA), registration


def _is_registration(words: Sequence[int]) -> bool:
    functions = words[:REGISTERED_FUNCTIONS]
    pointers = all(one == 0 or one & 1 for one in functions) and functions[INVOKE] & 1
    return bool(pointers) and words[REGISTERED_FUNCTIONS] < len(OPERATOR_NAMES)


def _name(address: int, registration: Sequence[int], read: Read) -> str:
    """The operator of a registration that holds ``address``."""
    if address | 1 not in registration[:REGISTERED_FUNCTIONS]:
        return ""
    code, name = registration[REGISTERED_FUNCTIONS:]
    if code != _CUSTOM:
        return OPERATOR_NAMES[code]
    text = read(name, _LONGEST_NAME) or b""
    return text.split(b"\0")[0].decode("ascii", "replace")


def _words(data: bytes) -> tuple[int, ...]:
    return tuple(memoryview(data)[: len(data) // WORD * WORD].cast("I"))
