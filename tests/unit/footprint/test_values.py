"""What this room hands out and keeps are values, but for the tree of files, which grows."""

from __future__ import annotations

import pytest
from data_classes import data_classes

from harness import footprint
from harness.footprint.tree import Folder

VALUES = [one for one in data_classes(footprint) if one is not Folder]


@pytest.mark.parametrize("found", VALUES, ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
