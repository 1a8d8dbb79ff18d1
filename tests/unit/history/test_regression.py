"""The rules of a regression."""

import pytest
import replay_nights as lab

from harness.history.check import check
from harness.history.measures import measure
from harness.history.regression import CaseKey, CaseOutcome, allowed_noise, regressions
from harness.history.run import Run

KEY = CaseKey("c", "simulator", "standalone")


def seen(verdict: str = "pass", /, **figures: float) -> CaseOutcome:
    sources = {"flash": "elf", "instructions": "simulator", "cycles": "dwt", "wall_seconds": "host"}
    return CaseOutcome(verdict, "why", {(name, sources[name]): v for name, v in figures.items()})


def worse(now: CaseOutcome, *before: CaseOutcome) -> list[str]:
    return [one.text for one in regressions({KEY: now}, {KEY: before})]


def test_without_noise_one_byte_above_the_median_is_worse():
    nights = [seen(flash=100), seen(flash=100), seen(flash=90)]
    assert worse(seen(flash=101), *nights) == ["flash 100 -> 101 B (+1.0 %)"]
    assert worse(seen(flash=100), *nights) == []


def test_a_noisy_figure_is_worse_beyond_what_chance_explains():
    nights = [seen(cycles=value) for value in (1_000, 1_010, 990, 1_005, 995) * 4]
    assert worse(seen(cycles=1_060), *nights) == []
    assert worse(seen(cycles=1_200), *nights) == ["cycles 1,000 -> 1,200 cycles (+20.0 %)"]
    assert worse(seen(cycles=9_999), *nights[:3]) == []  # three tell no spread


def test_older_runs_tell_more_of_the_noise():
    nights = [seen(cycles=value) for value in (1_000, 1_010, 990, 1_005, 995) * 12]
    arguments = {KEY: seen(cycles=1_100)}, {KEY: nights[-10:]}
    assert regressions(*arguments) == ()
    (one,) = regressions(*arguments, {KEY: nights[:-10]})
    assert one.text == "cycles 1,000 -> 1,100 cycles (+10.0 %)"


@pytest.mark.parametrize(("runs", "found"), [(10, 0), (60, 1)])
def test_check_estimates_noise_from_more_runs_than_it_compares_with(history, run, runs, found):
    cycles = [1_000, 1_010, 990, 1_005, 995] * (runs // 5) + [1_100]
    for night, value in enumerate(cycles):
        history.record(run(lab.document(lab.case("a", cycles=value), night=night)))
    assert len(check(history, "main", 10).regressions) == found


def test_a_spread_of_zero_allows_one_percent():
    nights = [seen(cycles=1_000)] * 5
    assert worse(seen(cycles=1_010), *nights) == []
    assert worse(seen(cycles=1_011), *nights) != []


def test_wall_time_is_the_machines_and_never_worse():
    assert worse(seen(wall_seconds=100), *[seen(wall_seconds=1)] * 8) == []


def test_a_failure_after_a_pass_is_a_regression_without_its_figures():
    assert worse(seen("fail", flash=200), seen(flash=100)) == ["fail: why"]
    assert worse(seen("error"), seen()) == ["error: why"]


def test_a_case_that_failed_before_is_not_worse_for_failing():
    assert worse(seen("fail"), seen("fail")) == []


@pytest.mark.parametrize("verdict", ["skipped", "error"])
def test_a_run_without_an_answer_is_not_a_baseline(verdict):
    assert worse(seen("fail"), seen(), seen(verdict)) == ["fail: why"]
    assert worse(seen(flash=9), seen(verdict)) == []


@pytest.mark.parametrize("verdict", ["fail", "firmware", "error", "skipped"])
def test_every_verdict_after_a_pass_is_worse(verdict):
    assert worse(seen(verdict), seen()) == [f"{verdict}: why"]


def test_a_case_that_failed_before_may_be_skipped():
    assert worse(seen("skipped"), seen("fail", flash=100)) == []


def test_a_case_that_was_not_run_is_worse():
    assert [one.text for one in regressions({}, {KEY: [seen()]})] == [
        "it ran before and does not any more"
    ]


def test_a_figure_that_vanished_is_worse():
    assert worse(seen(flash=1), seen(flash=1, instructions=5_950)) == [
        "instructions was 5,950 instructions (simulator) and is not measured now"
    ]


def test_a_figure_that_the_last_run_lacked_is_worse_as_long_as_most_runs_had_it():
    full, less = seen(flash=1, instructions=5), seen(flash=1)
    assert len(worse(less, full, full, less)) == 1
    assert worse(less, full, less, less) == []


def test_figures_that_are_not_gated_may_vanish():
    assert worse(seen(), seen(wall_seconds=1)) == []


def test_a_figure_of_another_source_has_not_vanished():
    counted = CaseOutcome("pass", "", {("instructions", "renode"): 9})
    assert worse(counted, seen(instructions=5)) == []


def test_figures_of_other_targets_or_sources_are_not_compared():
    other = CaseKey("c", "renode", "standalone")
    before = {
        KEY: [seen(instructions=5)],
        other: [CaseOutcome("pass", "", {("instructions", "renode"): 5})],
    }
    now = {KEY: CaseOutcome("pass", "", {("instructions", "dwt"): 9}), other: seen(instructions=9)}
    assert regressions(now, before) == ()


def seen_in(run: Run) -> dict[CaseKey, CaseOutcome]:
    return {
        CaseKey(c.name, c.target, c.builder): CaseOutcome(
            c.verdict, c.reason, {(f.name, f.source): f.value for f in c.figures}
        )
        for c in run.cases
    }


def alarms(run, documents, last: int = 10) -> dict[int, list[tuple[str, str]]]:
    """Night -> (case, measure) that the gate calls worse than the last nights."""
    found: dict[int, list[tuple[str, str]]] = {}
    earlier: list[dict[CaseKey, CaseOutcome]] = []
    for night, document in enumerate(documents):
        now = seen_in(run(document))
        before = {key: [one[key] for one in earlier[-last:]] for key in now} if earlier else {}
        for one in regressions(now, before):
            found.setdefault(night, []).append((one.key.case, one.measure))
        earlier.append(now)
    return found


def test_seeded_regressions_are_found_in_the_night_they_came_and_no_others(run):
    base = lab.cases(30)
    changes = lab.seeded_changes(base, 12, 60)
    found = alarms(run, lab.nights(base, 60, changes))
    names = {"arena_used": "arena", "stack_used": "stack"}
    expected = {one.night: (one.case, names.get(one.field, one.field)) for one in changes}
    assert all(pair in found[night] for night, pair in expected.items())
    told = {pair for rows in found.values() for pair in rows}
    assert told == set(expected.values())


@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_clean_nights_of_a_noisy_board_raise_no_alarm(run, noise):
    base = [row | {"cycles": 100_000 + 13 * number} for number, row in enumerate(lab.cases(10))]
    assert alarms(run, lab.nights(base, 60, noise=noise)) == {}


def test_the_noise_does_not_grow_with_the_trend():
    level = [1_000.0, 1_003, 998, 1_001, 1_002, 997]
    risen = [value + 40 * number for number, value in enumerate(level)]
    kind = measure("cycles")
    assert kind is not None
    assert allowed_noise(kind, risen, 6) == pytest.approx(allowed_noise(kind, level, 6), rel=0.01)
