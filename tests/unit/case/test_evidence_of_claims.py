"""What an image says of its own cost is held against what the target counted."""

from __future__ import annotations

import fake_renode
import pytest
from device import lines
from evidence_runs import BUILTIN, OWN, console_of, found, messages, with_field
from run_figures import figures_of

from harness.base.findings import Kind
from harness.case.evidence import Measured, check_evidence
from harness.case.measure import with_bounds
from harness.case.observation import Observation
from harness.elf import Image
from harness.targets.base import Counters, Stop
from harness.uart import Console

HZ = 64_000_000
# BUILTIN: three inferences of 1,000 ticks each, as their records say.
TICKS = [fields["ticks"] for kind, fields in BUILTIN if kind == "inference"]


def counted(*invoked: int) -> list[str]:
    return messages(BUILTIN, OWN, Measured(invoked=invoked))


def test_the_records_that_these_tests_spoil():
    assert TICKS == [1000, 1000, 1000]


@pytest.mark.parametrize("own", [936, 996, 1000, 1064])
def test_ticks_around_the_call_are_those_of_the_call(own):
    assert counted(own, own, own) == []


@pytest.mark.parametrize("own", [500, 700, 1070, 2000, 66_536])
def test_ticks_that_are_halved_doubled_or_wrapped_name_both_figures(own):
    assert counted(1000, own, 1000) == [f"inference 1 says 1,000 ticks, its Invoke() took {own:,}"]


def test_ticks_that_are_always_the_same_are_not():
    assert len(counted(1000, 4000, 9000)) == 2


def test_a_finding_of_ticks_is_a_contradiction_with_its_line():
    (finding,) = found(BUILTIN, OWN, Measured(invoked=[1000, 4000, 1000]))
    assert (finding.kind, finding.subject) == (Kind.RECORD_CONTRADICTS, "inference")
    assert finding.line


def test_calls_to_warm_up_have_no_record():
    assert counted(5000, 1000, 1000, 4000, 1000) == []
    assert counted(5000, 5000, 1000, 1000, 4000) != []


def test_an_image_without_the_function_is_not_held_against_it():
    assert messages(BUILTIN, OWN, Measured(invoked=None)) == counted() == []


STACK = next(fields["used"] for kind, fields in BUILTIN if kind == "stack")


@pytest.mark.parametrize(("own", "right"), [(0, True), (384, True), (385, False), (-1, False)])
def test_the_stack_that_was_used_is_what_its_memory_shows(own, right):
    told = messages(BUILTIN, OWN, Measured(stack_used=STACK + own))
    assert told == (
        []
        if right
        else [f"stack main says {STACK:,} bytes are used, its memory shows {STACK + own:,}"]
    )


ARENA = next(fields for kind, fields in BUILTIN if kind == "arena")
USED, FREE = ARENA["used"], ARENA["declared"] - ARENA["used"]


def test_the_arena_that_is_used_holds_what_the_inferences_wrote():
    assert messages(BUILTIN, OWN, Measured(arena_least=USED)) == []
    words = f"arena says {USED:,} bytes are used, the inferences need {USED + 1:,}:"
    words = f"{words} they left no {FREE:,} bytes in a row alone"
    assert messages(BUILTIN, OWN, Measured(arena_least=USED + 1)) == [words]


@pytest.mark.parametrize("given", [USED - 16, USED + 16])
def test_the_arena_that_is_used_is_what_its_allocator_has_given_out(given):
    assert messages(BUILTIN, OWN, Measured(arena_given=USED)) == []
    words = f"arena says {USED:,} bytes are used, its allocator has given out {given:,}"
    assert messages(BUILTIN, OWN, Measured(arena_given=given)) == [words]


def test_inferences_write_only_what_the_allocator_has_given_out():
    words = "the inferences wrote 3 bytes of the arena that were not given out"
    assert messages(BUILTIN, OWN, Measured(arena_given=USED, arena_strayed=3)) == [words]


@pytest.fixture
def image(tmp_path) -> Image:
    return fake_renode.image(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (4000 / HZ, []),
        (2936 / HZ, []),
        (
            1500 / HZ,
            ["inference 1 says 1,000 ticks: 2,000 with those before, and 1,500 had passed"],
        ),
    ],
)
def test_no_record_says_more_ticks_than_had_passed(seconds, told):
    console = Console()
    console.feed(lines(BUILTIN), seconds)
    console.finish(seconds)
    found = check_evidence(console, OWN, Measured(ticks=10_000, hertz=HZ))
    assert [finding.message for finding in found] == told


@pytest.mark.parametrize(
    ("counters", "ticks", "hertz"),
    [(Counters("simulator", 3000, None, 0.1, 9.0), 3000, HZ),
     (Counters("simulator", 3000, None, None, 9.0), 3000, None),  # the virtual board, up to 4 times
     (Counters("dwt", None, 5000, None, 1.0), round(HZ * 1.02), None)],
)  # fmt: skip
def test_times_of_records_bound_ticks_only_on_the_simulators_own_clock(counters, ticks, hertz):
    seen = Observation(Console(), Stop.CONDITION, True, "", "", counters, (), ())
    limit = with_bounds(seen, HZ)
    assert limit.hertz == hertz
    assert limit.ticks == pytest.approx(ticks, rel=0.05)


def test_figures_are_the_targets_where_the_image_is_wrong(image):
    console = console_of(BUILTIN)
    wrong = Measured(invoked=(4000, 4100, 4200), stack_used=9000, arena_least=70_000)
    figures = figures_of(image, console, wrong)
    assert (figures.instructions, figures.stack_used, figures.arena_used) == (4100, 9000, 70_000)
    assert figures_of(image, console, Measured(arena_given=9)).arena_used == 9
    fits = figures_of(image, console, Measured(invoked=(996, 996, 996)))
    assert fits.instructions == figures_of(image, console).instructions == 1000


def test_figures_are_the_targets_where_the_image_prints_none(image):
    own = Measured(invoked=(10, 30, 20), stack_used=300, arena_declared=99, arena_given=55)
    figures = figures_of(image, console_of([]), own)
    assert (figures.instructions, figures.ticks_source) == (20, "simulator")
    assert figures.stack_used == 300
    assert (figures.arena_declared, figures.arena_used) == (99, 55)


def test_ticks_that_are_spoilt_in_one_record_only():
    lied = with_field(BUILTIN, "inference", "ticks", 1, 2)
    told = messages(lied, OWN, Measured(invoked=[1000, 1000, 1000]))
    assert "inference 2 says 1 ticks, its Invoke() took 1,000" in told
