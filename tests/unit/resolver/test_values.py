"""What this room hands out are values."""

from __future__ import annotations

import pytest
from data_classes import data_classes

from harness import resolver


@pytest.mark.parametrize("found", data_classes(resolver), ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
