"""docs/findings.md has every kind of finding, and says of each what the package does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.base.findings import Kind
from harness.base.paths import PACKAGE, platforms
from harness.case import load_cases

PAGE = Path(__file__).parents[3] / "docs" / "findings.md"
#: The rooms whose code notices a finding, and what the page calls them.
ROOMS = {
    "uart": "console",
    "simulator": "simulator",
    "targets/renode": "Renode",
    "targets/board": "board",
}


@dataclass(frozen=True)
class Row:
    """A row of the page's tables, and the heading above it."""

    topic: str
    finding: str
    meaning: str
    reported_by: str
    verdict: str
    cause: str

    @property
    def kind(self) -> str:
        return self.finding.partition(":")[0]


def read() -> list[Row]:
    _, *sections = PAGE.read_text(encoding="utf-8").split("\n## ")
    rows = []
    for topic, *lines in map(str.splitlines, sections):
        cells = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines)
        rows += [Row(topic, row[0].strip("`"), *row[1:]) for row in cells if row[0][:1] == "`"]
    return rows


ROWS = read()


def test_every_kind_has_one_row_in_the_order_of_the_vocabulary():
    assert [row.kind for row in ROWS] == [*Kind]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_row_says_what_the_vocabulary_says(row):
    kind = Kind(row.kind)
    told = (row.topic, row.meaning, row.verdict.strip("`"))
    assert told == (kind.topic, kind.meaning, kind.severity)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_who_reports_it(row):
    named = re.compile(rf"\bKind\.{row.kind.upper()}\b")
    rooms = {
        name
        for room, name in ROOMS.items()
        for path in (PACKAGE / room).rglob("*.py")
        if named.search(path.read_text(encoding="utf-8"))
    }
    models = (path.read_text() for path in (platforms() / "peripherals").glob("*.cs"))
    if any(f'"{row.kind}"' in text for text in models):
        rooms.add("Renode")
    told = set(row.reported_by.split(", "))
    assert told and rooms <= told <= {*ROOMS.values(), "harness"}


def test_a_case_expects_each_as_it_is_written(tmp_path):
    (tmp_path / "a.elf").touch()
    names = [row.finding for row in ROWS]
    file = tmp_path / "hil.toml"
    file.write_text(f'[[case]]\nname = "a"\nelf = "a.elf"\nexpect.findings = {names}\n')
    [case] = load_cases(file)
    assert [":".join(filter(None, pair)) for pair in case.expect.findings] == names
