"""A small part of the fuzzing; ``tox run -e fuzz -- --count 100000`` is the whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import runner

_EACH = 60
#: Kinds of which so many take less than a second of processor time.
_QUICK = ("arguments", "case files")


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[runner.Fuzzer]:
    with runner.surroundings() as folder:
        made = runner.Fuzzer(folder, seed=2026)
        runner.alone(folder)
        yield made


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind in _QUICK else pytest.mark.slow) for kind in runner.KINDS],
)
def test_whatever_comes_an_exit_code_and_the_packages_own_words_follow(
    fuzzer: runner.Fuzzer, kind: str
) -> None:
    problems = {}
    for number in range(_EACH):
        answer = fuzzer.run(kind, number)
        if answer.problem:
            problems[number] = answer.problem
    assert problems == {}


def test_the_same_number_makes_the_same_input_again(fuzzer: runner.Fuzzer) -> None:
    first, second = (fuzzer.run("consoles", 3).code for _ in range(2))
    assert first == second


def test_what_must_not_be_is_noticed() -> None:
    assert not runner.Answer(2, "tflm-hil: no sample", 0.1).problem
    assert runner.Answer(3, "tflm-hil: a bug in tflm-hil: KeyError", 0.1).problem
    assert runner.Answer(1, "Traceback (most recent call last)", 0.1).problem
    assert runner.Answer(139, "", 0.1).problem


def test_what_takes_too_long_is_broken_off() -> None:
    with pytest.raises(runner.TooSlow), runner.bounded(0.05):
        while True:
            pass
