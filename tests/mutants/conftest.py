"""The parts in which mutants are tried, and the table of what noticed what."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

NOTICED = "mutants-noticed"
#: Long tests run in so many parts, so that all workers are busy to the end.
_PARTS = 2


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "part" in metafunc.fixturenames:
        parts = [slice(part, None, _PARTS) for part in range(_PARTS)]
        metafunc.parametrize("part", parts, ids=[f"part {part}" for part in range(_PARTS)])


@pytest.fixture
def unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No further run looks for the cause of a failure: whether a mutant passes is known before."""
    _leave_unexplained(monkeypatch)


@pytest.fixture
def explained_tenth(monkeypatch: pytest.MonkeyPatch):
    """The same, for runs of which each tenth is explained: called with the number of each."""

    @contextmanager
    def number(at: int) -> Iterator[None]:
        with monkeypatch.context() as patch:
            if at % 10:
                _leave_unexplained(patch)
            yield

    return number


def _leave_unexplained(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("harness.case.run.with_cause", lambda prepared, result, stop, targets: result)
    patch.setattr("harness.case.observe.with_origin", lambda session, image, faults: faults)


class Tally:
    """How many mutants there were, and how many of them each kind of finding or check noticed."""

    def __init__(self) -> None:
        self.mutants: Counter[str] = Counter()
        self.noticed_by: Counter[tuple[str, str]] = Counter()

    def noticed(self, part: str, by: list[str]) -> None:
        self.mutants[part] += 1
        self.noticed_by.update((part, one) for one in by)

    def add(self, document: str) -> None:
        mutants, noticed = json.loads(document)
        self.mutants.update(mutants)
        self.noticed_by.update({(part, by): count for part, by, count in noticed})

    def to_json(self) -> str:
        rows = [[*key, count] for key, count in self.noticed_by.items()]
        return json.dumps([self.mutants, rows])


@pytest.fixture
def tally(record_property):
    """Counts what noticed the mutants of a test; the table is printed at the end of the run."""
    counts = Tally()
    yield counts
    record_property(NOTICED, counts.to_json())


def pytest_terminal_summary(terminalreporter) -> None:
    total = Tally()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "teardown":
                for name, value in report.user_properties:
                    if name == NOTICED:
                        total.add(value)
    if total.mutants:
        terminalreporter.section("mutants: what noticed them")
    for part, count in sorted(total.mutants.items()):
        terminalreporter.line(f"{part}: {count:,}, of them noticed by")
        rows = [(by, many) for (one, by), many in total.noticed_by.items() if one == part]
        for by, many in sorted(rows, key=lambda row: -row[1]):
            terminalreporter.line(f"{many:8,}  {by}")
