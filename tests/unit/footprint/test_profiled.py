"""Instructions of a profile by the operators that they belong to."""

from __future__ import annotations

from harness.footprint.operators import REST, instructions


def test_a_function_of_one_operator_is_its_own_and_every_other_the_rests(little):
    graph = little.graph
    by_name = {node.name: node.address for node in graph.nodes}
    own = next(address for name, address in by_name.items() if "ConvEval" in name)
    reset = by_name["Reset_Handler"]
    assert instructions(little, {own: 700, reset: 50, 0xF000_0000: 5}) == {"CONV_2D": 700, REST: 55}
