"""Runs that once passed and must not: each from its console to its verdict."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from device import Told, answers, builtin_run, closing, fed_run, lines, parts, set_up, told

from harness.base import paths
from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case
from harness.case.evidence import Known, Measured, check_evidence, known_of
from harness.case.judge import MOST_PROBLEMS, Judgement, judge
from harness.case.observe import observe
from harness.case.outputs import check_outputs
from harness.case.result import Verdict
from harness.model import Model
from harness.targets import Stop

CHIP = chip_called(DEFAULT_CHIP)
MODEL = Model.from_file(paths.models() / "hello_world_int8.tflite")
ROWS = [np.array([[value]], np.int8) for value in range(-128, 127, 13)]
INPUTS = [row.tobytes() for row in ROWS]
OUTPUTS = answers(MODEL, ROWS)
WRONG = bytes([OUTPUTS[0][0] ^ 0x55])
FED = [[data] for data in INPUTS]
OWN = known_of(Case("own"), None, MODEL, ())


@pytest.fixture
def verdict(scripted):
    """The judgement of an image that prints these records; ``fed`` were sent to it."""

    def decide(
        records: Sequence[Told] | bytes,
        case: Case = Case("own"),  # noqa: B008
        fed: Sequence[Sequence[bytes]] = (),
        end: Stop = Stop.IDLE,
        resets: int = 0,
    ) -> Judgement:
        data = records if isinstance(records, bytes) else lines(records)
        session = scripted([data], end=end)
        session.resets = resets
        seen = observe(session, case)
        known: Known = known_of(case, None, MODEL, fed)
        sent = [1] * (2 * len(fed) + 1) if fed else None
        findings = [*seen.findings(MODEL)]
        findings += check_evidence(seen.console, known, Measured(sent=sent))
        outputs = check_outputs(seen.console, case, MODEL, known.inputs or ())
        return judge(case, seen, findings, outputs, chip=CHIP)

    return decide


def run(outputs: Sequence[bytes], inputs: Sequence[bytes] = INPUTS, **inference: int) -> list[Told]:
    records = set_up(MODEL)
    for number, output in enumerate(outputs):
        for data in inputs[number : number + 1]:
            records += parts("input", number, 0, data)
        records += parts("output", number, 0, output)
        records.append(told("inference", **{"index": number, **inference}))
    return [*records, *closing(MODEL, len(outputs))]


def test_good_runs_pass(verdict):
    assert verdict(run(OUTPUTS)).verdict is Verdict.PASS
    assert verdict(builtin_run(MODEL, ROWS)).verdict is Verdict.PASS
    assert verdict(fed_run(MODEL, ROWS), fed=FED).verdict is Verdict.PASS
    assert verdict(run(OUTPUTS)).reason == "20 values of 20 inferences equal"


def test_an_image_that_overwrites_its_input_fails(verdict):
    lied = []
    for one in fed_run(MODEL, [ROWS[0]] * len(ROWS)):
        if one[0] == "output":
            lied += parts("input", one[1]["inference"], 0, INPUTS[0])
        lied.append(one)
    told = verdict(lied, fed=FED)
    assert told.verdict is Verdict.FAIL
    assert "input 0 of inference 1 is not the one that was sent" in told.problems


def test_an_image_that_answers_some_of_its_inputs_fails(verdict):
    records = fed_run(MODEL, ROWS)
    some = [
        one
        for one in records
        if one[0] not in ("output", "inference") or one[1].get("inference", one[1].get("index")) < 3
    ]
    assert verdict(some, fed=FED).verdict is Verdict.FAIL


def test_outputs_without_inputs_fail(verdict):
    assert verdict(run([OUTPUTS[0]] + [WRONG] * 19, INPUTS[:1])).verdict is Verdict.FAIL


@pytest.mark.parametrize("order", [(WRONG, OUTPUTS[0]), (OUTPUTS[0], WRONG), (OUTPUTS[0],) * 2])
def test_two_outputs_of_one_inference_fail(verdict, order):
    records = run(OUTPUTS)
    at = next(n for n, one in enumerate(records) if one[0] == "output")
    both = [*parts("output", 0, 0, order[0]), *parts("output", 0, 0, order[1])]
    assert verdict([*records[:at], *both, *records[at + 1 :]]).verdict is Verdict.FAIL


def test_a_right_boot_behind_a_wrong_one_fails_even_where_a_reboot_is_expected(verdict):
    wrong, right = lines(run([WRONG] * 20)), lines(run(OUTPUTS))
    expecting = Case("own", expect=Expected(True, (("rebooted", ""),)))
    assert verdict(wrong + right).verdict is Verdict.FAIL
    assert verdict(wrong + right, expecting).verdict is Verdict.FAIL
    assert verdict(right + right).verdict is Verdict.FAIL
    assert verdict(right + right, expecting).verdict is Verdict.PASS


def test_a_reset_that_only_the_target_saw_fails(verdict):
    told = verdict(run(OUTPUTS), resets=1)
    assert (told.verdict, told.reason) == (Verdict.FAIL, "the firmware reset itself (1 times)")


def test_every_status_counts(verdict):
    assert verdict(run(OUTPUTS, status=1)).verdict is Verdict.FAIL
    records = run(OUTPUTS)
    assert verdict([*records[:-1], told("end", inferences=20, status=1)]).verdict is Verdict.FAIL
    assert verdict([*records[:-1], told("end", inferences=3)]).verdict is Verdict.FAIL


@pytest.mark.parametrize("stage", ["schema", "register", "allocate", "input", "invoke"])
def test_every_failure_fails(verdict, stage):
    records = run(OUTPUTS)
    at = next(n for n, one in enumerate(records) if one[0] == "allocation")
    failed = [*records[:at], told("failed", stage=stage), told("stack")]
    failed.append(told("end", inferences=20, status=1))
    assert verdict(failed).verdict is Verdict.FAIL


@pytest.mark.parametrize("inference", [100, 900])
def test_wrong_outputs_of_surplus_inferences_fail(verdict, inference):
    records = run(OUTPUTS)
    at = next(n for n, one in enumerate(records) if one[0] == "inference")
    more = [*records[:at], *parts("output", inference, 0, WRONG), *records[at:]]
    assert verdict(more).verdict is Verdict.FAIL


def test_fewer_inferences_than_the_case_expects_fail(verdict):
    told = verdict(run(OUTPUTS), Case("own", inferences=21))
    assert told.verdict is Verdict.FAIL
    assert "20 inferences came, at least 21 are expected" in told.problems
    assert verdict(run(OUTPUTS), Case("own", inferences=20)).verdict is Verdict.PASS


def test_one_of_the_samples_own_inputs_twenty_times_fails(verdict):
    same = builtin_run(MODEL, [ROWS[0]] * 20)
    case = Case("s", sample="hello_world", resolver="exact", builder="standalone")
    told = verdict(same, case)
    assert "input 0 of inference 1 is not the one that the sample has" in told.problems


def test_a_hang_behind_right_outputs_is_the_firmwares_fault(verdict):
    told = verdict(run(OUTPUTS)[:-9], end=Stop.DEADLINE)
    assert told.verdict is Verdict.FIRMWARE
    assert "then it ran on to the deadline" in told.reason


def test_a_reason_is_one_line_and_problems_have_an_end(verdict):
    noise = b"".join(b"~HIL %d nothing\r\n" % n + b"E: " + b"x" * 900 + b"\r\n" for n in range(300))
    records = [*run(OUTPUTS)[:-1], told("end", inferences=3, status=7)]
    judged = verdict(noise + lines(records))
    assert judged.verdict is Verdict.FAIL
    assert len(judged.reason) < 500
    assert "\n" not in judged.reason
    assert len(judged.problems) <= MOST_PROBLEMS + 1


def test_problems_beyond_the_limit_are_counted(scripted):
    seen = observe(scripted([lines(run(OUTPUTS))]), Case("c"))
    judged = judge(Case("c"), seen, [], check_outputs(seen.console, Case("c"), MODEL),
                  [f"problem {n}" for n in range(MOST_PROBLEMS + 7)], chip=CHIP)  # fmt: skip
    assert judged.reason == f"problem 0 (and {MOST_PROBLEMS + 6} more)"
    assert judged.problems[-1] == "and 7 more"
    assert len(judged.problems) == MOST_PROBLEMS + 1


def test_a_long_problem_is_cut_to_a_readable_line(scripted):
    seen = observe(scripted([lines(run(OUTPUTS))]), Case("c"))
    judged = judge(Case("c"), seen, [], check_outputs(seen.console, Case("c"), MODEL),
                  ["a\nb " + "x" * 5000], chip=CHIP)  # fmt: skip
    assert judged.reason == "a b " + "x" * 396 + "..."


def test_no_kind_of_finding_is_expected_by_default():
    assert Expected().findings == ()
    assert {Kind.REBOOTED, Kind.RECORD_CONTRADICTS} <= set(Kind)
