"""The path of a registration: every instruction of it, what it names, what it costs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from harness.elf import Firmware
from harness.errors import UsageError
from harness.resolver.explain import Explanation, disassemble, explain
from harness.resolver.text import explanation_lines

BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"


@pytest.fixture
def image(compile_image: Callable[..., Firmware]) -> Firmware:
    return compile_image(BOTH)


@pytest.fixture
def found(image: Firmware) -> Explanation:
    return explain(image, "conv_2d")


def test_the_operator_is_found_whatever_its_case(found: Explanation):
    assert found.operator == "CONV_2D"
    assert found.callers and all(one.role == "calls" for one in found.callers)


def test_the_kernels_functions_have_their_roles(found: Explanation):
    roles = {one.role for step in found.steps for one in step.targets}
    assert "invoke" in roles
    assert all(one.size > 0 for step in found.steps for one in step.targets if one.role == "invoke")


def test_each_instruction_stands_once_at_its_address(image: Firmware, found: Explanation):
    for step in found.steps:
        addresses = [int(line[:8], 16) for line in step.listing]
        assert addresses[0] == step.address
        assert all(2 <= b - a <= 4 for a, b in pairwise(addresses))
        assert step.address < addresses[-1] + 2 <= step.address + step.size


def test_literals_are_words_and_not_instructions(image: Firmware):
    nodes = [node for node in image.graph.nodes if node.kind == "function"]
    lines = [(node, line) for node in nodes for line in disassemble(image, node)]
    words = [(node, line.split()) for node, line in lines if ".word" in line]
    assert words
    for node, (address, _, value, *name) in words:
        at = int(address, 16)
        stored = image.read(at, min(4, node.end - at))
        assert int(value, 16) == int.from_bytes(stored, "little")
        assert not name or name[0] == ";"


def test_what_an_instruction_names_is_written_behind_it(image: Firmware):
    nodes = [node for node in image.graph.nodes if node.kind == "function"]
    calls = [line for node in nodes for line in disassemble(image, node) if "  bl " in line]
    assert calls and all("    ; " in line for line in calls)


def test_an_operator_that_is_not_there_is_refused_with_what_is(image: Firmware):
    with pytest.raises(UsageError, match="registers no operator 'ADD'") as refused:
        explain(image, "ADD")
    assert refused.value.hint == "it registers CONV_2D, SOFTMAX"


def test_the_lines_tell_callers_steps_and_cost(found: Explanation):
    lines = list(explanation_lines(found))
    assert lines[0] == "CONV_2D is asked for by"
    (step,) = found.steps
    assert f"{step.name}: {step.size} B at 0x{step.address:08x}" in lines
    cost = found.cost
    assert cost is not None
    assert f"cost: {cost.exclusive:,} B of flash for this operator alone, {cost.shared:,} B " \
        f"shared with others, {cost.ram:,} B of RAM" in lines  # fmt: skip
