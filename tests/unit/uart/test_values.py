"""Data classes of uart are immutable."""

from __future__ import annotations

import pytest
from data_classes import data_classes

import harness.uart
from harness.uart import ProfilerEntry, Record, TensorKey
from harness.uart.scrapers import Scraped

#: What grows while a console comes in, and is not handed out.
GROWING = {"_PartialMessage", "_Open"}


@pytest.mark.parametrize("found", data_classes(harness.uart), ids=lambda one: one.__name__)
def test_a_value_cannot_be_changed(found: type) -> None:
    assert found.__dataclass_params__.frozen is (found.__name__ not in GROWING)


@pytest.mark.parametrize("found", [ProfilerEntry, Record, Scraped, TensorKey])
def test_frequent_objects_have_slots(found: type) -> None:
    assert found.__dictoffset__ == 0
