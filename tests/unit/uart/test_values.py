"""What this room hands out are values: they cannot be changed behind anybody's back."""

from __future__ import annotations

import pytest
from values import public_data_classes

import harness.uart


@pytest.mark.parametrize("found", public_data_classes(harness.uart), ids=lambda one: one.__name__)
def test_what_is_handed_out_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen
