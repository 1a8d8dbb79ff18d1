"""The functions by which a profile tells operators apart."""

from __future__ import annotations


def test_a_function_that_an_operator_registers_is_its_own(little):
    by_name = {node.name: node.address for node in little.graph.nodes}
    own = next(address for name, address in by_name.items() if "ConvEval" in name)
    found = little.operator_functions
    assert found[own] == ("CONV_2D",)
    assert by_name["Reset_Handler"] not in found
