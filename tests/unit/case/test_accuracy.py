"""The share of right answers, counted from a console."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from device import lines, parts, told
from model_builder import Graph, T, build_graphs

from harness.base import paths
from harness.base.errors import CheckFailed, UsageError
from harness.case.accuracy import Accuracy, accuracy

LABELS = np.array([3, 1, 4, 1])
CARD = '[test]\nfile = "set.npz"\naccuracy = 0.75\n'


@pytest.fixture
def model(tmp_path):
    """A network of ten classes with a card and a test set of four rows."""
    path = tmp_path / "own.tflite"
    shutil.copy(paths.models() / "digits_int8.tflite", path)
    path.with_suffix(".toml").write_text(CARD)
    np.savez(tmp_path / "set.npz", labels=LABELS)
    return path


@pytest.fixture
def console(tmp_path):
    """A console whose outputs are these classes, one an inference."""

    def write(*classes: int):
        path, records = tmp_path / "console.bin", [told("boot")]
        for number, one in enumerate(classes):
            scores = np.full(10, -128, np.int8)
            scores[one] = 127
            records += parts("output", number, 0, scores.tobytes())
        path.write_bytes(lines(records))
        return path

    return write


def test_right_answers_are_counted_and_held_against_the_card(console, model):
    found = accuracy(console(3, 1, 4, 7), model)
    assert found == Accuracy(right=3, total=4, card=0.75)
    assert (found.measured, found.equal) == (0.75, True)


@pytest.mark.parametrize("classes", [(3, 1, 4, 1), (3, 1, 7, 7), (0, 0, 0, 0)])
def test_one_answer_more_or_less_is_another_accuracy(console, model, classes):
    assert not accuracy(console(*classes), model).equal


@pytest.mark.parametrize("right", [0, 1])
def test_an_accuracy_of_nothing_equals_none(right):
    assert Accuracy(0, 0, 0.0).measured == 0.0
    assert not Accuracy(0, 0, 0.0).equal
    assert Accuracy(right, 1, float(right)).equal


def test_a_card_half_an_answer_away_is_another_accuracy():
    assert not Accuracy(3, 4, 0.625).equal
    assert not Accuracy(3, 4, 0.875).equal
    assert Accuracy(3, 4, 0.8).equal


def test_a_part_of_the_test_set_is_refused(console, model):
    with pytest.raises(UsageError, match="3 of 4 test inputs were answered"):
        accuracy(console(3, 1, 4), model)


def test_an_answer_that_is_missing_hides_none_behind_it(console, model):
    file = console(3, 1, 4, 1)
    rows = [
        row for row in file.read_bytes().splitlines(keepends=True) if b"inference=1 " not in row
    ]
    file.write_bytes(b"".join(rows))
    with pytest.raises(UsageError, match="3 of 4 test inputs were answered"):
        accuracy(file, model)


def test_the_first_output_of_several_is_the_answer(console, model):
    scores, more = T((1, 10), "int8", 1.0), T((1, 10), "float32")
    graph = Graph([scores, more], [], [0], [0, 1])
    model.write_bytes(build_graphs([graph]))
    assert accuracy(console(3, 1, 4, 7), model).right == 3


def test_more_outputs_than_the_test_set_has_rows_are_refused(console, model):
    with pytest.raises(CheckFailed, match="5 outputs came for 4 test inputs"):
        accuracy(console(3, 1, 4, 1, 1), model)


@pytest.mark.parametrize("card", [None, "[test", "title = 'x'\n"])
def test_a_model_without_a_card_of_a_test_set_has_none(console, model, card):
    path = model.with_suffix(".toml")
    path.unlink() if card is None else path.write_text(card)
    with pytest.raises(UsageError, match=r"own\.tflite has no card with a test set"):
        accuracy(console(3), model)


def test_a_card_without_an_accuracy_is_refused(console, model):
    model.with_suffix(".toml").write_text('[test]\nfile = "set.npz"\n')
    with pytest.raises(UsageError, match="states no accuracy"):
        accuracy(console(3), model)
