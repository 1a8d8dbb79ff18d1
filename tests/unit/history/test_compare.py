"""Two runs side by side, and the commits between which a case got worse."""

import pytest
import replay_nights as lab

from harness.base.errors import UsageError
from harness.history.bisect import BisectCode, last_step
from harness.history.compare import compare
from harness.history.run import Occasion, from_document


@pytest.fixture
def kept(history, run):
    """Four nights: flash of `a` grows in the third, the verdict of `b` breaks in the fourth."""
    for night in range(4):
        rows = [
            lab.case("a", flash=29_000 + (64 if night >= 2 else 0), ram=9_176 + night % 2),
            lab.case("b", verdict="fail" if night == 3 else "pass", reason=""),
            lab.case(f"only in {night}"),
        ]
        history.record(run(lab.document(*rows, night=night)))
    return history


def commit(night: int) -> str:
    return f"{night:040x}"


def test_differences_are_listed_with_verdicts_first_and_the_largest_next(kept):
    found = compare(kept, commit(1), commit(3))
    assert [one.row[2:] for one in found.differences] == [
        ("verdict", "pass", "fail", ""),
        ("flash (elf)", "29,000", "29,064 B", "+64 (+0.22 %)"),
    ]
    assert str(found) == "2 differences in 2 cases, 2 cases of one run only not compared"


def test_small_differences_are_counted(kept):
    found = compare(kept, commit(0), commit(2), threshold=0.5)
    assert (found.differences, found.smaller) == ([], 1)


def test_a_run_is_named_by_commit_branch_or_number(kept):
    numbered = compare(kept, "1", "main")
    assert (numbered.before.occasion.commit, numbered.now.occasion.commit) == (commit(0), commit(3))


def test_an_unknown_run_is_named_with_the_last_ones(kept):
    with pytest.raises(UsageError, match="no run of 'release'") as caught:
        compare(kept, "release", "main")
    assert "0000000000 (main)" in caught.value.hint


def test_runs_of_two_labs_cannot_be_compared(history, run):
    for night, machine in enumerate(("lab A", "lab B")):
        history.record(run(lab.document(night=night, machine=machine)))
    with pytest.raises(UsageError, match="can be compared"):
        compare(history, "1", "2")


def test_the_last_step_is_that_of_the_verdict_or_of_a_figure(kept):
    assert last_step(kept, "b").figure is None
    step = last_step(kept, "a", "flash")
    assert (step.good.run.occasion.commit, step.bad.run.occasion.commit) == (commit(1), commit(2))


def test_the_commands_search_the_commits_of_the_step(kept):
    lines = list(last_step(kept, "a", "flash").lines("tflm-hil history bisect a --judge"))
    assert lines[0] == "a on simulator: flash (elf) 29,000 -> 29,064"
    assert f"git bisect start {commit(2)} {commit(1)}" in lines
    assert lines[-1].startswith("git bisect run sh -c 'rm -f .bisect.json; tflm-hil run hil.toml")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"flash": 29_000}, BisectCode.GOOD),
        ({"flash": 29_001}, BisectCode.BAD),
        ({"verdict": "error"}, BisectCode.SKIP),
        ({"flash": None}, BisectCode.SKIP),
        ({"name": "another"}, BisectCode.SKIP),
        ({"chip": "nrf5340"}, BisectCode.SKIP),
    ],
)
def test_a_run_is_judged_by_the_figure_of_the_step(kept, changes, code):
    document = lab.document(lab.case(**({"name": "a"} | changes)))
    assert last_step(kept, "a", "flash").judge(from_document(document, Occasion(0.0))) is code


@pytest.mark.parametrize(
    "options",
    ["--history lab.db", "--history=lab.db", "--hil-history 'my lab.db'", "-v HISTORY:lab.db",
     "--variable 'HISTORY:pg://a:***@b'"],
)  # fmt: skip
def test_steps_of_a_bisection_are_not_recorded(history, run, options):
    command = f"tflm-hil run hil.toml {options} -k x"
    for night in range(2):
        rows = [lab.case("a", flash=29_000 + night)]
        history.record(run(lab.document(*rows, night=night, command=command)))
    assert "; tflm-hil run hil.toml -k x --json" in list(last_step(history, "a").lines("j"))[-1]


def test_a_case_that_never_got_worse_is_an_error(kept):
    with pytest.raises(UsageError, match="arena of a got worse in 4 runs"):
        last_step(kept, "a", "arena")


def test_a_figure_that_the_case_does_not_have_is_named(kept):
    with pytest.raises(UsageError, match="a has no figure 'speed'"):
        last_step(kept, "a", "speed")
