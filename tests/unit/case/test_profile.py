"""Profiles of models whose operators run others: a branch's operators are events of their own."""

from __future__ import annotations

import pytest
from device import lines, told
from model_builder import Graph, Op, T, build_graphs

from harness.base.findings import Findings
from harness.case.evidence.known import Known
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.profile import check_profile
from harness.model import Model
from harness.uart import Console

_X = T((2,), "float32")
_BRANCHES = ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2})


@pytest.fixture(scope="module")
def model() -> Model:
    """IF with a sum and a product as its branches."""
    main = Graph(
        [T((1,), "bool"), _X, _X, _X], [Op("IF", [0, 1, 2], [3], _BRANCHES)], [0, 1, 2], [3]
    )
    branches = [
        Graph([_X, _X, _X], [Op(name, [0, 1], [2], (name.capitalize(), {}))], [0, 1], [2])
        for name in ("ADD", "MUL")
    ]
    return Model.from_bytes(build_graphs([main, *branches]))


def said(model: Model, *operators: str, nodes: tuple[int, ...] = ()) -> list[str]:
    """What is wrong with an inference whose profile has these operators."""
    rows = zip(nodes or range(len(operators)), operators, strict=True)
    records = [told("op", node=node, operator=name) for node, name in rows]
    console = Console()
    console.feed(lines([told("boot"), told("inference"), *records, told("end", inferences=1)]))
    findings = Findings()
    check_profile(Ledger(console.records, 0, len(console.records), findings), Known(model))
    return [finding.message for finding in findings]


@pytest.mark.parametrize("branch", ["ADD", "MUL"])
def test_the_operators_of_a_branch_stand_beside_the_one_that_took_it(model, branch):
    assert said(model, branch, "IF") == []


def test_an_operator_of_no_branch_is_none_of_the_models(model):
    assert said(model, "CONV_2D", "IF") == ["op CONV_2D: the model has no such operator"]


def test_events_are_numbered_all_the_same(model):
    words = "the nodes of inference 0 are not 0, 1, 2, ..."
    assert said(model, "ADD", "IF", nodes=(0, 2)) == [words]
