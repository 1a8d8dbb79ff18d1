"""The operator of a call to a function that several operators register.

The second argument of a registration's function is the node, or belongs to it: its options (init),
its data (free, reset). Its caller, the interpreter, has the address of the node, or of the array of
nodes, in a register or on the stack.
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
#: Bytes of the interpreter's stack that are searched for the address of a node.
_STACK = 256
#: Nodes of a model, and bytes of a custom operator's name, that are read.
_MOST_NODES, _LONGEST_NAME = 4096, 64


class OperatorCalls:
    """Finds the operator of a call; ``shared`` has the operators of each function by address."""

    def __init__(self, image: Image) -> None:
        owned = image.operator_functions.items()
        self.shared = {address: operators for address, operators in owned if len(operators) > 1}

    def operator(self, address: int, registers: Sequence[int], read: Read) -> str:
        """Return the operator of the call that is about to begin at ``address``; "" if unknown.

        ``registers`` are r0 to r12 and sp; ``read`` returns memory, None where there is none.
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
    """Yield address, data and registration of each node of the array that starts at ``pointer``."""
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
    """Return the operator of a registration with the function ``address``; "" for another one."""
    if address | 1 not in registration[:REGISTERED_FUNCTIONS]:
        return ""
    code, name = registration[REGISTERED_FUNCTIONS:]
    if code != _CUSTOM:
        return OPERATOR_NAMES[code]
    text = read(name, _LONGEST_NAME) or b""
    return text.split(b"\0")[0].decode("ascii", "replace")


def _words(data: bytes) -> tuple[int, ...]:
    return tuple(memoryview(data)[: len(data) // WORD * WORD].cast("I"))
