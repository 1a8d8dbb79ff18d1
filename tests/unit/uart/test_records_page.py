"""docs/records.md lists the records that the code reads."""

import re
from pathlib import Path

import pytest

from harness.base.findings import Kind
from harness.uart.record_reader import MAY_FOLLOW
from harness.uart.records import ALLOCATIONS, FROM_DEVICE, TO_DEVICE

PAGE = (Path(__file__).parents[3] / "docs" / "records.md").read_text(encoding="utf-8")


def rows(title: str) -> dict[str, list[str]]:
    """The rows of the first table under a heading, by each name in the first column."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {name: row[1:] for row in cells for name in re.findall(r"`(\w+)`", row[0])}


@pytest.mark.parametrize(
    ("title", "kinds"),
    [("Kinds, device to host", FROM_DEVICE), ("Kinds, host to device", TO_DEVICE)],
)
def test_every_kind_is_there_with_its_fields(title, kinds):
    told = rows(title)
    assert told.keys() == kinds.keys()
    for kind, fields in kinds.items():
        words = set(re.findall(r"`(\w+)`", told[kind][0]))
        if words and words != {"same"}:
            assert set(fields) <= words


def test_every_kind_has_a_documented_comparison():
    assert rows("What each record is compared with").keys() == FROM_DEVICE.keys()


def test_every_kind_has_a_documented_order():
    assert MAY_FOLLOW.keys() == FROM_DEVICE.keys()
    assert {before for kinds in MAY_FOLLOW.values() for before in kinds} <= FROM_DEVICE.keys()


def test_every_finding_about_records_is_explained():
    told = set(rows("What a reader must find"))
    assert told <= set(Kind)
    assert {kind for kind in Kind if kind.startswith("record_")} <= told


def test_the_types_of_allocations_are_listed_in_order():
    at = [PAGE.index(f"`{name}`", PAGE.index("Types of `allocation`")) for name in ALLOCATIONS]
    assert at == sorted(at)
