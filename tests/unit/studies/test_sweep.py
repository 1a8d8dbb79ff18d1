"""Axes, filters, the Pareto front and the best within a budget."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.studies.sweep import best, best_of_each, front, load


def row(sample="digits", verdict="pass", **measures):
    figures = {"flash": 10, "ram": 10, "instructions": 10, "accuracy": None} | measures
    task = {"sample": sample, "model": "", "target": "simulator", "builder": "standalone"}
    return {"parameters": task, "verdict": verdict, "reason": "", **figures}


def written(tmp_path, text):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    return path


def test_axes_span_all_combinations_in_order(tmp_path):
    text = 'samples = ["digits", "hello_world"]\noptimize = ["s", "2"]\nfpu = [true, false]'
    points = load(written(tmp_path, text)).points
    assert len(points) == 8
    assert [(p.sample, p.optimize, p.fpu) for p in points[:3]] == [
        ("digits", "s", True), ("digits", "s", False), ("digits", "2", True),
    ]  # fmt: skip


def test_filters_leave_out_matching_points(tmp_path):
    text = (
        'samples = ["digits", "hello_world"]\noptimize = ["s", "2", "3"]\n'
        '[[skip]]\nsample = "digits"\noptimize = ["2", "3"]\n[[only]]\noptimize = ["s", "3"]\n'
    )
    points = load(written(tmp_path, text)).points
    assert [(p.sample, p.optimize) for p in points] == [
        ("digits", "s"), ("hello_world", "s"), ("hello_world", "3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "samples = []",
        'samples = ["nothing"]',
        'samples = ["digits"]\nresolvers = ["nothing"]',
        'samples = ["digits"]\noptimise = ["s"]',
        'samples = ["digits"]\noptimize = ["9"]',
        'samples = ["digits"]\narena = [-1]',
        'samples = ["digits"]\ntargets = ["moon"]',
        'samples = ["digits"]\nbuilders = ["zephyr"]\noptimize = ["2"]',
        'samples = ["digits"]\n[[skip]]\nsamples = "digits"',
        'samples = ["digits"]\n[[skip]]\nsample = "digits"',
    ],
)
def test_invalid_sweep_is_a_usage_error(tmp_path, text):
    with pytest.raises(UsageError):
        load(written(tmp_path, text))


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ('targets = ["moon"]', "no target 'moon'"),
        ('builders = ["make"]', "no builder 'make'"),
        ('models = ["nothing"]', "no model 'nothing'"),
        ("arena = [-1]", "arena[0]: "),
    ],
)
def test_a_wrong_value_of_an_axis_is_refused_as_in_a_case(tmp_path, axis, message):
    path = written(tmp_path, f'samples = ["digits"]\n{axis}')
    with pytest.raises(UsageError) as refused:
        load(path)
    assert refused.value.message.startswith(f"{path}: {message}")


def test_a_case_file_in_the_place_of_a_sweep_is_told(tmp_path):
    (tmp_path / "hil.toml").write_text('[defaults]\ntimeout = 1\n[[case]]\nname = "a"\n')
    with pytest.raises(UsageError, match="is a case file, not a sweep") as refused:
        load(tmp_path / "hil.toml")
    assert refused.value.hint == f"tflm-hil run {tmp_path / 'hil.toml'}"


def test_a_row_that_is_worse_in_all_is_not_on_the_front():
    assert front([row(flash=9), row(), row(flash=20, instructions=5)]) == [0, 2]


def test_rows_of_failures_and_other_tasks_dominate_none():
    assert front([row(flash=1, verdict="fail"), row("hello_world", flash=1), row()]) == [1, 2]


def test_equal_rows_stay_both():
    assert front([row(), row()]) == [0, 1]


def test_the_best_keeps_within_every_limit():
    rows = [row(flash=30, instructions=1), row(flash=20, instructions=5), row(instructions=9)]
    assert best(rows, {"flash": 25}) == 1
    assert best(rows, {"flash": 5}) is None


def test_missing_measure_is_not_within_a_limit():
    assert best([row()], {"accuracy": 0.5}) is None


def test_each_sample_has_a_best_of_its_own():
    rows = [row(), row("hello_world"), row(instructions=3)]
    assert list(best_of_each(rows, {}).values()) == [2, 1]
