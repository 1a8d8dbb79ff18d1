"""The dataclasses of this room are frozen."""

from __future__ import annotations

import pytest
from data_classes import data_classes

import harness.case


@pytest.mark.parametrize("found", data_classes(harness.case), ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
