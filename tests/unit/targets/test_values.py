"""Data classes of targets are immutable."""

from __future__ import annotations

import pytest
from data_classes import data_classes

from harness import targets

AGENT = "harness.targets.renode.agent"  # runs inside Renode
VALUES = list(data_classes(targets, foreign=AGENT))


@pytest.mark.parametrize("found", VALUES, ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
