"""What is said of an image that did not come to its end."""

from __future__ import annotations

import pytest

from harness.case.observe import Observation
from harness.case.spec import Case
from harness.case.unfinished import time_hint
from harness.targets import Counters, Stop
from harness.uart import Console

CASE = Case("c")


def seen(stop: Stop, complaint: str = "") -> Observation:
    counters = Counters("simulator", 1000, None, 5.0, 9.0)
    return Observation(Console(), stop, False, complaint, "", counters, (), (), None)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (seen(Stop.GUARD), "--guard"),
        (seen(Stop.GUARD, "while it was sent input 0"), "--guard"),
        (seen(Stop.DEADLINE, "while it was sent input 0"), "more inferences need more time"),
        (seen(Stop.DEADLINE), ""),
        (seen(Stop.IDLE, "the image did not ask for input"), ""),
        (seen(Stop.LOCKUP, "the image did not ask for input"), ""),
    ],
)
def test_more_time_is_advised_where_it_would_help(observation, words):
    hint = time_hint(CASE, observation)
    assert words in hint
    assert bool(hint) is bool(words)
