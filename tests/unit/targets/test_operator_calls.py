"""Whose call it is of a function that several operators register."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from harness.targets.operator_calls import OperatorCalls

SHARED, OWN = 0x1000, 0x2000
AVERAGE, MAXIMUM, CONVOLUTION, CUSTOM = 1, 17, 3, 32
REGISTRATIONS, NODES, STACK = 0x2000_0000, 0x2000_1000, 0x2000_8000
NOWHERE = 0xDEAD_BEE1


class Memory:
    """RAM that holds what a test puts there."""

    def __init__(self) -> None:
        self.data = bytearray(0x9000)

    def put(self, address: int, *words: int) -> None:
        struct.pack_into(f"<{len(words)}I", self.data, address - REGISTRATIONS, *words)

    def read(self, address: int, size: int) -> bytes | None:
        at = address - REGISTRATIONS
        return bytes(self.data[at : at + size]) if 0 <= at <= len(self.data) - size else None


@pytest.fixture
def memory() -> Memory:
    """Three nodes: the pools, which share their init and prepare, and a convolution between."""
    memory = Memory()
    codes = (AVERAGE, CONVOLUTION, MAXIMUM)
    for number, code in enumerate(codes):
        own = OWN if code == CONVOLUTION else SHARED
        memory.put(REGISTRATIONS + 28 * number, own | 1, 0, own | 1, 0x3001, 0, code, 0)
        options, user_data = 0x2000_2000 + 16 * number, 0x2000_3000 + 16 * number
        node = (0, 0, 0, user_data, options, 0, 0, REGISTRATIONS + 28 * number)
        memory.put(NODES + 32 * number, *node)
    return memory


@pytest.fixture
def calls() -> OperatorCalls:
    owners = {SHARED: ("AVERAGE_POOL_2D", "MAX_POOL_2D"), OWN: ("CONV_2D",)}
    return OperatorCalls(SimpleNamespace(operator_functions=owners))  # type: ignore[arg-type]


def registers(argument: int, **others: int) -> list[int]:
    values = [NOWHERE] * 13 + [STACK]
    values[1] = argument
    for name, value in others.items():
        values[int(name[1:])] = value
    return values


def test_only_functions_of_several_operators_are_asked_for(calls: OperatorCalls) -> None:
    assert calls.shared == {SHARED: ("AVERAGE_POOL_2D", "MAX_POOL_2D")}


@pytest.mark.parametrize(("node", "operator"), [(0, "AVERAGE_POOL_2D"), (2, "MAX_POOL_2D")])
def test_prepare_is_called_with_its_node(
    calls: OperatorCalls, memory: Memory, node: int, operator: str
) -> None:
    assert calls.operator(SHARED, registers(NODES + 32 * node), memory.read) == operator


@pytest.mark.parametrize("argument", [0x2000_2020, 0x2000_3020], ids=["options", "data"])
@pytest.mark.parametrize("node", [0, 2], ids=["array", "node"])
def test_init_and_free_are_called_with_what_hangs_on_the_node(
    calls: OperatorCalls, memory: Memory, argument: int, node: int
) -> None:
    """The interpreter has the address of the node, or of all nodes."""
    where = registers(argument, r7=NODES + 32 * node)
    assert calls.operator(SHARED, where, memory.read) == "MAX_POOL_2D"


def test_the_nodes_address_may_be_on_the_stack(calls: OperatorCalls, memory: Memory) -> None:
    memory.put(STACK + 20, NODES)
    assert calls.operator(SHARED, registers(0x2000_2000), memory.read) == "AVERAGE_POOL_2D"


@pytest.mark.parametrize("argument", [0, NODES + 32, 0x2000_2040, NOWHERE])
def test_a_call_that_no_node_explains_is_nobodys(
    calls: OperatorCalls, memory: Memory, argument: int
) -> None:
    assert calls.operator(SHARED, registers(argument, r4=NODES), memory.read) == ""


def test_a_custom_operator_has_its_name(memory: Memory) -> None:
    image = SimpleNamespace(operator_functions={SHARED: ("Atan", "Tan")})
    memory.put(REGISTRATIONS, SHARED | 1, 0, SHARED | 1, 0x3001, 0, CUSTOM, 0x2000_4000)
    memory.put(0x2000_4000, int.from_bytes(b"Atan", "little"), 0)
    calls = OperatorCalls(image)  # type: ignore[arg-type]
    assert calls.operator(SHARED, registers(NODES), memory.read) == "Atan"
