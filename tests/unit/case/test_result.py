"""One result, made of parts, and the one document that is written of it."""

import pickle
from pathlib import Path

import pytest
from results import case_result

from harness.base.errors import (
    BadModel,
    CheckFailed,
    EnvironmentMissing,
    FirmwareFailed,
    PortBusy,
    TargetLost,
)
from harness.base.findings import Finding, Kind
from harness.case.columns import MEASURES, Measure, properties
from harness.case.result import (
    CaseResult,
    Evidence,
    ImageSize,
    Judgement,
    Measures,
    OperatorTicks,
    Profiled,
    Setup,
    Size,
    Verdict,
)
from harness.elf.coverage import Coverage
from harness.footprint.budget import BudgetVerdict
from harness.uart.coverage import ConsoleCoverage, UnreadLine
from harness.uart.scrapers import TestResult

FULL = case_result(
    name="digits-exact",
    sample="digits",
    resolver="exact",
    builder="standalone",
    target="simulator",
    elf=Path("build/digits.elf"),
    elf_sha256="ab" * 32,
    compiler="GNU C 12",
    chip="nrf9160",
    model=Path("digits.tflite"),
    verdict=Verdict.FAIL,
    reason="an output differs",
    problems=("an output differs", "an operator is missing"),
    hint="try another",
    findings=(Finding(Kind.MISSING_OPERATOR, "Didn't find op", "CONV_2D", 3, (("code", 3),)),),
    outputs_compared=20,
    mismatches=1,
    inferences=2,
    tests=(TestResult("suite.test", "fail", 4, 0.5, ("a.c:1: no",)),),
    details="row 1\nrow 2",
    console=Path("out/console.bin"),
    coverage=Coverage({"main": 3, "f": 1}, {"a.c": {1: True, 2: False}}),
    size=Size(20_000, 7_000, 1_048_576, 262_144),
    images=(ImageSize("app", "non-secure", 20_000, 7_000),),
    adequacy=0.95,
    mistakes_missed=3,
    arena_declared=4_096,
    arena_used=3_000,
    stack_used=900,
    instructions=5_344,
    cycles=None,
    ticks_source="simulator",
    operators=(OperatorTicks("CONV_2D", 5_000, "cmsis-nn int8"),),
    interpreter_ticks=344,
    total_instructions=123_456,
    virtual_seconds=0.25,
    wall_seconds=1.23456789,
    milliseconds=0.1,
    milliseconds_spread=0.01,
    microjoules=1.5,
    profiled=(Profiled("CONV_2D", 70), Profiled("the rest", 30)),
    time="0.1 ms",
    compared_with="expect.values",
    numbers_checked=24,
    read=ConsoleCoverage(30, 24, 1, 9, 8, (UnreadLine(2, "heap 4096", ("4096",)),)),
    budgets=(BudgetVerdict("flash", "region", 20_000, 30_000, None, True, "within"),),
)


def test_the_document_has_the_fields_of_all_parts_side_by_side():
    assert FULL.to_json() == {
        "name": "digits-exact",
        "sample": "digits",
        "resolver": "exact",
        "builder": "standalone",
        "target": "simulator",
        "verdict": "fail",
        "reason": "an output differs",
        "problems": ["an output differs", "an operator is missing"],
        "hint": "try another",
        "findings": [
            {
                "kind": "missing_operator",
                "subject": "CONV_2D",
                "message": "Didn't find op",
                "line": 3,
                "values": {"code": 3},
                "time": None,
            }
        ],
        "budgets": [
            {
                "name": "flash",
                "kind": "region",
                "used": 20_000,
                "limit": 30_000,
                "baseline": None,
                "passed": True,
                "message": "within",
                "unit": "B",
            }
        ],
        "outputs_compared": 20,
        "compared_with": "expect.values",
        "numbers_checked": 24,
        "read": {
            "numbers": 30,
            "checked": 24,
            "ignored": 1,
            "lines": 9,
            "lines_checked": 8,
            "unread": [{"line": 2, "text": "heap 4096", "numbers": ["4096"]}],
        },
        "mismatches": 1,
        "inferences": 2,
        "flash": 20_000,
        "ram": 7_000,
        "images": [{"name": "app", "world": "non-secure", "flash": 20_000, "ram": 7_000}],
        "adequacy": 0.95,
        "mistakes_missed": 3,
        "arena_declared": 4_096,
        "arena_used": 3_000,
        "stack_used": 900,
        "instructions": 5_344,
        "cycles": None,
        "ticks_source": "simulator",
        "total_instructions": 123_456,
        "virtual_seconds": 0.25,
        "wall_seconds": 1.234568,
        "console": "out/console.bin",
        "details": "row 1\nrow 2",
        "coverage": {
            "lines_run": 1,
            "lines": 2,
            "instructions": 4,
            "functions": [
                {"function": "main", "instructions": 3},
                {"function": "f", "instructions": 1},
            ],
        },
        "tests": [
            {
                "name": "suite.test",
                "state": "fail",
                "seconds": 0.5,
                "line": 4,
                "messages": ["a.c:1: no"],
            }
        ],
        "elf": "build/digits.elf",
        "elf_sha256": "ab" * 32,
        "compiler": "GNU C 12",
        "chip": "nrf9160",
        "model": "digits.tflite",
        "power_on": "",
        "milliseconds": 0.1,
        "milliseconds_spread": 0.01,
        "microjoules": 1.5,
        "profiled": [
            {"group": "CONV_2D", "instructions": 70},
            {"group": "the rest", "instructions": 30},
        ],
        "time": "0.1 ms",
        "operators": [{"operator": "CONV_2D", "ticks": 5_000, "kernel": "cmsis-nn int8"}],
        "interpreter_ticks": 344,
    }


def test_missing_measures_are_null():
    told = CaseResult(
        Setup("c", "", "", "prebuilt", "board"), Judgement(Verdict.PASS, "")
    ).to_json()
    assert told.keys() == FULL.to_json().keys()
    unmeasured = ("flash", "ram", "instructions", "cycles", "console", "elf", "model", "coverage")
    assert [told[name] for name in unmeasured] == [None] * len(unmeasured)


@pytest.mark.parametrize("part", ["setup", "judgement", "evidence", "measures"])
def test_each_field_of_a_part_is_an_attribute_of_the_result(part):
    fields = vars(getattr(FULL, part))
    assert fields == {name: getattr(FULL, name) for name in fields}


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'speed'"):
        FULL.speed  # noqa: B018


def test_a_result_comes_back_whole_from_another_process():
    assert pickle.loads(pickle.dumps(FULL)) == FULL


def test_a_test_has_the_figures_that_were_measured_as_properties():
    assert properties(FULL) == {
        "flash_bytes": 20_000,
        "ram_bytes": 7_000,
        "arena_used_bytes": 3_000,
        "stack_used_bytes": 900,
        "instructions_per_inference": 5_344,
        "milliseconds_per_inference": 0.1,
        "microjoules_per_inference": 1.5,
        "values_compared": 20,
        "numbers_checked": 24,
    }


def test_every_number_of_a_document_is_a_measure_and_every_measure_is_in_it():
    document = FULL.to_json() | {"cycles": 64_000}
    numbers = {name for name, value in document.items() if isinstance(value, (int, float))}
    assert {one.field for one in MEASURES} == numbers


def test_sizes_are_exact_and_times_are_noisy():
    assert {one.field for one in MEASURES if one.noisy} == {"cycles", "microjoules", "wall_seconds"}


def test_a_machines_own_time_and_energy_are_recorded_and_never_worse():
    recorded = [one for one in MEASURES if one.history]
    assert {one.field for one in recorded if not one.gated} == {"microjoules", "wall_seconds"}
    assert all(one.better for one in recorded)


@pytest.mark.parametrize(
    ("better", "noise", "worse"),
    [
        ("less", 0, {101, 120}),
        ("less", 10, {120}),
        ("more", 0, {80, 99}),
        ("more", 10, {80}),
        ("", 0, set()),
    ],
)
def test_worse_is_what_a_measure_says(better, noise, worse):
    measure = Measure("speed", "Its speed.", better=better)
    values = (80, 99, 100, 101, 120)
    assert {value for value in values if measure.is_worse(value, 100, noise)} == worse


def test_a_size_alone_does_not_know_the_chips():
    assert Size(1, 2) == Size(1, 2, 0, 0)


def test_a_size_that_is_not_known_is_none():
    assert (Measures().flash, Measures(size=Size(1, 2)).ram) == (None, 2)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (CheckFailed("over budget"), Verdict.FAIL),
        (FirmwareFailed("silence"), Verdict.FIRMWARE),
        (EnvironmentMissing("no Renode"), Verdict.SKIPPED),
        (PortBusy("in use"), Verdict.ERROR),
        (BadModel("broken"), Verdict.USAGE),
    ],
)
def test_an_error_becomes_a_verdict_by_its_class(error, verdict):
    assert Verdict.of(error) is verdict


def test_an_error_and_the_verdict_on_it_end_with_the_same_code():
    for kind in (CheckFailed, FirmwareFailed, EnvironmentMissing, TargetLost):
        assert Verdict.of(kind("x")).exit_code == kind.exit_code


def test_an_empty_result_counts_zero():
    assert Evidence() == Evidence(
        findings=(), outputs_compared=0, mismatches=0, inferences=0, tests=(), details=""
    )
    assert Measures().wall_seconds == 0.0
