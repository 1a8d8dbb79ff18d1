"""State between inferences: resource variables and operators' buffers."""

from __future__ import annotations

import numpy as np
import pytest

from harness.model import Quantization, Tensor
from harness.reference.memory import BadResource, ModelMemory


def _tensor(elements: int, zero_point: int = 0) -> Tensor:
    return Tensor(0, "x", (elements,), "int8", Quantization((1.0,), (zero_point,)))


def test_resource_names_are_numbered_from_zero() -> None:
    memory = ModelMemory()
    assert [memory.handle("a", name) for name in ("x", "y", "x")] == [0, 1, 0]
    assert memory.used


def test_resources_are_distinguished_by_container() -> None:
    memory = ModelMemory()
    assert [memory.handle(container, "x") for container in ("a", "b", None)] == [0, 1, 0]
    assert memory.handle(None, "y") == 2


def test_a_handle_stands_for_a_resource_in_its_own_subgraph() -> None:
    memory = ModelMemory()
    memory.bind(0, 3, 1)
    assert (memory.bound(0, 3), memory.bound(1, 3), memory.bound(0, 2)) == (1, None, None)


@pytest.mark.parametrize(("zero_point", "byte"), [(7, 7), (-1, 255), (-128, 128)])
def test_each_byte_starts_as_the_zero_point_and_is_that_after_a_reset(
    zero_point: int, byte: int
) -> None:
    memory = ModelMemory()
    number = memory.handle("", "x")
    memory.allocate(number, _tensor(3, zero_point), 2)
    assert memory.read(number, 6).tolist() == [byte] * 6
    memory.assign(number, np.array([1, 2, 3], np.int16))
    assert memory.read(number, 6).tolist() == [1, 0, 2, 0, 3, 0]
    memory.reset(restart=False)
    assert memory.read(number, 6).tolist() == [byte] * 6


def test_the_first_that_assigns_decides_size_and_start() -> None:
    memory = ModelMemory()
    number = memory.handle("", "x")
    memory.allocate(number, _tensor(2, 5), 1)
    memory.allocate(number, _tensor(9, 6), 4)
    assert memory.read(number, 2).tolist() == [5, 5]


def test_a_read_variable_is_a_copy() -> None:
    memory = ModelMemory()
    number = memory.handle("", "x")
    memory.allocate(number, _tensor(2), 1)
    read = memory.read(number, 2)
    memory.assign(number, np.array([8, 9], np.int8))
    assert (read.tolist(), memory.read(number, 2).tolist()) == ([0, 0], [8, 9])


@pytest.mark.parametrize("number", [-1, 1])
def test_an_unknown_resource_is_named_by_its_number(number: int) -> None:
    memory = ModelMemory()
    memory.allocate(memory.handle("", "x"), _tensor(2), 1)
    for action in (
        lambda: memory.read(number, 2),
        lambda: memory.assign(number, np.zeros(2, np.int8)),
        lambda: memory.allocate(number, _tensor(2), 1),
    ):
        with pytest.raises(BadResource, match=f"there is no resource variable {number}$"):
            action()


def test_a_wrong_size_is_reported_with_the_name() -> None:
    memory = ModelMemory()
    number = memory.handle("", "n" * 70)
    with pytest.raises(BadResource, match=f"no operator assigns .* '{'n' * 64}'"):
        memory.read(number, 2)
    memory.allocate(number, _tensor(2), 1)
    with pytest.raises(BadResource, match=f"variable '{'n' * 64}' has 2 bytes, not 3"):
        memory.read(number, 3)
    with pytest.raises(BadResource, match="has 2 bytes, not 4"):
        memory.assign(number, np.zeros(2, np.int16))


def test_a_wrong_size_of_an_unnamed_resource_is_reported() -> None:
    memory = ModelMemory()
    with pytest.raises(BadResource, match="no operator assigns the resource variable ''"):
        memory.read(memory.handle(None, None), 1)


def test_an_operators_buffer_is_reset_to_its_initial_value() -> None:
    memory, first = ModelMemory(), np.array([1, 2])
    assert not memory.used
    plain, kept = memory.cell(first), memory.cell(first, survives_reset=True)
    assert memory.used
    plain += 5
    kept += 5
    assert first.tolist() == [1, 2]
    memory.reset(restart=False)
    assert (plain.tolist(), kept.tolist()) == ([1, 2], [6, 7])
    memory.reset(restart=True)
    assert kept.tolist() == [1, 2]
