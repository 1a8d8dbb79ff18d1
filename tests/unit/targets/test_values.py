"""What this room hands out and keeps are values, but for what counts a console."""

from __future__ import annotations

import pytest
from values import data_classes

from harness import targets
from harness.targets.board.counts import ConsoleCounts

AGENT = "harness.targets.renode.agent"  # runs inside Renode
VALUES = [one for one in data_classes(targets, foreign=AGENT) if one is not ConsoleCounts]


@pytest.mark.parametrize("found", VALUES, ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
