"""Creeps of noisy figures: found while they are small, never seen where there is none."""

from __future__ import annotations

import random

import pytest
import replay_nights as lab

from harness.history.check import check
from harness.history.creep import Creep, creep
from harness.history.regression import CaseKey, CaseOutcome, regressions
from harness.history.store import History

#: A board's cycles.
LEVEL = 100_000.0


def _nights(count: int, noise: float, rise: float, before: int, seed: int) -> list[float]:
    """``before`` nights at one level, then ``count`` that rise by ``rise`` in all."""
    chance = random.Random(seed)
    rises = [0.0] * before + [rise * (number + 1) / count for number in range(count)]
    return [LEVEL * (1 + extra) * chance.gauss(1, noise) for extra in rises]


def _found(values: list[float]) -> int | None:
    """The first night at which the values up to it show a creep."""
    nights = range(len(values))
    return next((night for night in nights if creep(values[: night + 1]) is not None), None)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.002, 0.02])
@pytest.mark.parametrize("before", [0, 30])
def test_a_creep_over_60_nights_is_found_before_it_is_four_times_the_noise(
    noise: float, before: int
) -> None:
    for seed in range(50):
        night = _found(_nights(60, noise, 4 * noise, before, seed))
        assert night is not None and night < before + 60, (noise, before, seed)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_two_hundred_clean_nights_of_a_hundred_and_thirty_cases_raise_no_alarm(
    noise: float,
) -> None:
    for seed in range(130):
        values = _nights(1, noise, 0.0, 199, seed)
        for night in range(10, 200):
            first = max(0, (night // 30 - 2) * 30)
            assert creep(values[first : night + 1]) is None, (seed, night)


def test_an_alarm_stands_for_three_runs_and_then_the_new_level_is_the_usual_one() -> None:
    chance = random.Random(3)
    values = [LEVEL * chance.gauss(1, 0.002) for _ in range(30)]
    values += [LEVEL * chance.gauss(1.006, 0.002) for _ in range(30)]
    alarms = [night for night in range(len(values)) if creep(values[: night + 1]) is not None]
    assert alarms == list(range(alarms[0], alarms[0] + 3))
    assert 30 < alarms[0] < 38


def test_the_means_before_and_since_are_told() -> None:
    values = [1002.0, 1000.0] * 10 + [1010.0, 1012.0] * 2
    assert creep(values) == Creep(1001.0, 1011.0, 4)


def test_an_outlier_alone_is_not_a_creep() -> None:
    values = [1000.0, 1002.0] * 10 + [5000.0] + [1000.0, 1002.0] * 3
    assert all(creep(values[:end]) is None for end in range(len(values) + 1))


def test_a_figure_that_falls_does_not_creep() -> None:
    assert creep([1000.0 - night + 3 * (-1) ** night for night in range(60)]) is None


def test_changes_below_a_fifth_of_a_percent_are_ignored() -> None:
    assert creep([1_000_000.0] * 20 + [1_000_001.0] * 20) is None


def test_a_creep_may_have_begun_in_runs_before_those_that_are_compared() -> None:
    values = [1002.0, 1000.0] * 10 + [1006.0] * 5
    key = CaseKey("c", "board", "standalone")
    *earlier, now = (CaseOutcome("pass", "", {("cycles", "dwt"): value}) for value in values)
    arguments = {key: now}, {key: earlier[-4:]}
    assert regressions(*arguments) == ()
    (one,) = regressions(*arguments, {key: earlier[:-4]})
    assert one.text.startswith("cycles creeps up: 1,001 -> 1,006 cycles (+0.5 %)")


@pytest.mark.slow
def test_the_check_of_a_recorded_night_finds_a_creep_over_weeks(run, tmp_path) -> None:
    base = [row | {"cycles": 100_000.0} for row in lab.cases(3)]
    chance = random.Random(5)
    with History.open(f"sqlite:///{tmp_path / 'h.db'}") as history:
        told = []
        for night, document in enumerate(lab.nights(base, 75)):
            for case in document["cases"]:
                rise = 1 + 0.0004 * max(0, night - 30)  # of every case; 0.3 % of noise
                case["cycles"] = round(100_000 * rise * chance.gauss(1, 0.003))
            history.record(run(document))
            found = check(history, "main", 10).regressions if night else ()
            told += [night for one in found if one.measure == "cycles"]
    assert told and 30 < told[0] < 60
