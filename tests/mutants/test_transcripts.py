"""A console that is spoilt in any one place does not pass."""

from __future__ import annotations

import random
from functools import cache

import pytest
from exemptions import EXEMPTIONS, Exemption
from kinds import KINDS, judge, mutants, prepared
from spoil import Mutant

from harness.case import CaseResult, Verdict
from harness.elf import combined

#: Recordings with so many mutants are spoilt in each way; longer ones three times in each way.
_FEW, _SEED = 1000, 2026


@pytest.fixture(autouse=True, scope="module")
def _images_are_read_once():
    """Consoles are spoilt here, thousands of them, and never their image."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(combined, "read", cache(combined.read))
        yield


def _exemption(kind: str, mutant: Mutant) -> Exemption | None:
    return next((one for one in EXEMPTIONS if one.covers(kind, mutant)), None)


def what_noticed(result: CaseResult) -> list[str]:
    """The kinds of the findings or, without one, which check it was."""
    if result.findings:
        return sorted({finding.kind.value for finding in result.findings})
    if result.mismatches:
        return ["outputs are not what the reference computes"]
    if result.verdict is Verdict.FIRMWARE:
        return ["it did not come to its end"]
    return ["a check of the model, of counts, or the scraper's own"]


def _chosen(kind: str) -> list[Mutant]:
    """The first, the last and another one of each change of each field, the same each time."""
    found = mutants(kind)
    if len(found) <= _FEW:
        return found
    draw = random.Random(f"{_SEED} {kind}")
    ways: dict[tuple[str, str, str], list[Mutant]] = {}
    for mutant in found:
        ways.setdefault((mutant.change, mutant.record, mutant.field), []).append(mutant)
    return [
        mutant
        for same in ways.values()
        for mutant in (same if len(same) <= 3 else (same[0], draw.choice(same[1:-1]), same[-1]))
    ]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_spoilt_console_passes(part, tally, tmp_path):
    passed = []
    for kind in (kind.name for kind in KINDS[part]):
        for mutant in _chosen(kind):
            result = judge(kind, mutant.recording, tmp_path)
            exemption = _exemption(kind, mutant)
            if not result.passed:
                tally.noticed("consoles", what_noticed(result))
            elif exemption is None:
                passed.append(f"{kind}: {mutant}")
            else:
                tally.noticed("consoles", [f"nothing, as {exemption.reason}"])
    assert not passed, f"{len(passed)} spoilt consoles pass:\n" + "\n".join(passed)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_the_recording_itself_passes(kind, tmp_path):
    _, good = prepared(kind)
    result = judge(kind, good, tmp_path)
    assert result.passed, result.reason


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_exemption_is_needed(tmp_path):
    """A row whose mutants are all noticed by now does not belong there any more."""
    unused = [one for one in EXEMPTIONS if not _lets_something_pass(one, tmp_path)]
    assert not unused, f"{len(unused)} exemptions are not needed: {unused}"


def _lets_something_pass(exemption: Exemption, folder) -> bool:
    for kind in KINDS:
        covered = [one for one in mutants(kind.name) if exemption.covers(kind.name, one)]
        for mutant in random.Random(1).sample(covered, min(len(covered), 20)):
            if judge(kind.name, mutant.recording, folder).passed:
                return True
    return False


def test_there_are_thousands_of_mutants_and_each_spoils_something():
    _, good = prepared("hello_world, exact")
    found = mutants("hello_world, exact")
    assert len(found) > 5000
    assert all(mutant.recording != good for mutant in found)
