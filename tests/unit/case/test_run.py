"""One case from its image to its verdict, on a target that plays recorded consoles."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import replay
from device import builtin_run, fed_run, lines, set_up, told
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base import paths
from harness.base.errors import (
    BuildFailed,
    CheckFailed,
    EnvironmentMissing,
    FirmwareFailed,
    TargetLost,
    UsageError,
)
from harness.base.expected import Expected
from harness.case import run as running
from harness.case.case import Budgets, Case
from harness.case.result import Verdict
from harness.case.run import run_case
from harness.footprint.budget import Budget
from harness.model import Model
from harness.targets import ConsoleChunk, Counters, Fault, Stop

MODEL_FILE = paths.models() / "hello_world_int8.tflite"
MODEL = Model.from_file(MODEL_FILE)
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]
COUNTERS = Counters("simulator", 5000, None, 0.25, 0.5)
CODE = b"\0\0\4\x20\x09\0\0\0" + b"\xfe\xe7" * 28


@pytest.fixture
def elf(tmp_path):
    path = tmp_path / "own.elf"
    text = MadeSection(".text", 0, CODE, load=0, executable=True)
    path.write_bytes(write_elf([text], [MadeSymbol("main", 9, 8, "func")], entry=9))
    return path


@pytest.fixture
def case(elf):
    """A case of one's own image that says these records."""

    def make(records, counters=COUNTERS, *, stop=Stop.IDLE, faults=(), **more) -> Case:
        data = records if isinstance(records, bytes) else lines(records)
        recording = replay.record_session([ConsoleChunk(0.001, data)], counters)
        recording = replace(recording, stop=stop, faults=tuple(faults))
        return Case("own", **{
            "elf": elf, "model": MODEL_FILE, "targets": ("replay",),
            "options": {"recording": recording}, **more,
        })  # fmt: skip

    return make


@pytest.fixture
def opened(monkeypatch, case, elf):
    """The result of a case whose target cannot be opened, or is lost."""

    def give(error: Exception, tmp_path):
        def fail(*arguments, **more):
            raise error

        monkeypatch.setattr(replay, "open", fail)
        return run_case(case([]), tmp_path)

    return give


def test_a_good_run_passes_with_the_figures_of_its_records(case, elf, tmp_path):
    result = run_case(case(builtin_run(MODEL, ROWS)), tmp_path)
    assert (result.verdict, result.reason) == (Verdict.PASS, "3 values of 3 inferences equal")
    assert (result.outputs_compared, result.mismatches, result.inferences) == (3, 0, 3)
    assert (result.arena_declared, result.arena_used, result.stack_used) == (65536, 60000, 1048)
    assert (result.instructions, result.cycles, result.ticks_source) == (1000, None, "dwt")
    assert [(one.operator, one.ticks) for one in result.operators] == [("FULLY_CONNECTED", 30)]
    assert (result.total_instructions, result.virtual_seconds) == (5000, 0.25)
    assert (result.size.flash, result.size.ram) == (len(CODE), 0)
    assert (result.elf, result.model) == (elf, MODEL_FILE)
    assert len(result.elf_sha256) == 64
    assert result.wall_seconds > 0
    assert result.coverage is None


def test_console_transcript_and_result_are_left_in_the_cases_folder(case, tmp_path):
    records = builtin_run(MODEL, ROWS)
    result = run_case(case(records), tmp_path)
    assert result.console == tmp_path / "own" / "console.bin"
    assert result.console.read_bytes() == lines(records)
    assert json.loads((tmp_path / "own" / "result.json").read_text())["verdict"] == "pass"


def test_the_session_can_be_looked_at_before_it_is_closed(case, tmp_path):
    looked = []
    run_case(
        case(builtin_run(MODEL, ROWS)), tmp_path,
        look=lambda session, firmware, stop: looked.append((session.target, firmware.path, stop)),
    )  # fmt: skip
    assert [(name, stop) for name, _, stop in looked] == [("replay", Stop.CONDITION)]
    assert looked[0][1].name == "own.elf"


def test_a_traced_case_profiles_from_the_start_and_keeps_its_coverage(case, tmp_path, monkeypatch):
    calls = []

    class Traced(replay.ReplaySession):
        def profile(self):
            calls.append((self.time, "profile"))

        def coverage(self):
            calls.append((self.time, "coverage"))
            return SimpleNamespace(
                lines=(1, 2), instructions=7, functions={"main": 7}, lcov=lambda: "TN:\n",
                calls=None,
            )  # fmt: skip

    monkeypatch.setattr(replay, "open", lambda f, recording: Traced(recording))
    plain, traced = case(builtin_run(MODEL, ROWS)), case(builtin_run(MODEL, ROWS))
    assert run_case(plain, tmp_path).coverage is None
    assert calls == []
    assert run_case(traced, tmp_path, trace=True).coverage.instructions == 7
    assert [name for _, name in calls] == ["profile", "coverage"]
    assert calls[0][0] == 0.0 < calls[1][0]
    assert (tmp_path / "own" / "coverage.info").read_text() == "TN:\n"


# --- inputs


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.stack(ROWS))
    return path


def test_inputs_are_fed_and_their_answers_held_against_the_reference(case, rows, tmp_path):
    result = run_case(case(fed_run(MODEL, ROWS), inputs=rows), tmp_path)
    assert (result.verdict, result.outputs_compared) == (Verdict.PASS, 3)


def test_rows_limits_the_inputs_that_are_fed(case, rows, tmp_path):
    result = run_case(case(fed_run(MODEL, ROWS[:2]), inputs=rows, rows=2), tmp_path)
    assert (result.verdict, result.outputs_compared) == (Verdict.PASS, 2)


def test_inputs_without_a_model_have_no_shape(case, rows, tmp_path):
    with pytest.raises(UsageError, match="inputs but no model"):
        run_case(case([], inputs=rows, model=None), tmp_path)


# --- ticks against the clock


def test_an_inference_has_no_more_ticks_than_the_simulator_counted(case, tmp_path):
    enough = replace(COUNTERS, instructions=3000)
    assert run_case(case(builtin_run(MODEL, ROWS), enough), tmp_path).passed
    short = replace(COUNTERS, instructions=2999)
    assert not run_case(case(builtin_run(MODEL, ROWS), short), tmp_path).passed


@pytest.mark.parametrize(
    ("virtual", "wall", "passes"),
    [(3000 / 64e6, 9, True), (2900 / 64e6, 9, False), (None, 3000 / 64e6, True),
     (None, 2900 / 64e6, False)],
)  # fmt: skip
def test_elsewhere_the_clock_bounds_the_ticks(case, tmp_path, virtual, wall, passes):
    counters = Counters("renode", None, None, virtual, wall)
    assert run_case(case(builtin_run(MODEL, ROWS), counters), tmp_path).passed is passes


# --- what does not fit


def test_another_model_of_the_project_is_called_by_its_name(case, tmp_path):
    other = Model.from_file(paths.models() / "digits_int8.tflite")
    result = run_case(case([*set_up(other), told("end", inferences=0)]), tmp_path)
    assert result.verdict is Verdict.FAIL
    assert result.reason.startswith(
        f"the image runs digits_int8.tflite (CRC-32 {other.crc32:08x}), not hello_world_int8"
    )


def test_an_unknown_model_is_called_by_its_number(case, tmp_path):
    records = builtin_run(MODEL, ROWS)
    records[0][1]["model_crc32"] = "0000beef"
    result = run_case(case(records), tmp_path)
    assert result.reason.startswith("the image runs a model with CRC-32 0000beef, not")


@pytest.mark.parametrize(("crc", "explained"), [(MODEL.crc32, True), (0xBEEF, False)])
def test_outputs_of_another_model_are_not_explained(case, tmp_path, crc, explained):
    records = builtin_run(MODEL, ROWS)
    records[0][1]["model_crc32"] = f"{crc:08x}"
    wrong = next(fields["hex"] for kind, fields in records if kind == "output")
    flipped = f"{int(wrong, 16) ^ 0x40:02x}"
    spoilt = [
        (kind, {**fields, "hex": flipped} if fields.get("hex") == wrong else fields)
        for kind, fields in records
    ]
    result = run_case(case(spoilt), tmp_path)
    assert result.mismatches
    assert (result.mismatch is not None) is explained


def test_an_image_without_a_model_file_is_held_against_none(case, tmp_path):
    result = run_case(case(builtin_run(MODEL, ROWS), model=None), tmp_path)
    assert result.reason == "no model is given to compare the outputs with"
    assert result.hint == "--model, or `model` in a case file"


def fault(pc: int) -> Fault:
    return Fault("BusFault", "PRECISERR", pc, 0, None, f"f{pc}", f"report of {pc}")


def test_a_fault_that_comes_again_at_its_place_is_reported_once(case, tmp_path):
    result = run_case(case(builtin_run(MODEL, ROWS), faults=[fault(1)] * 2), tmp_path)
    assert result.verdict is Verdict.FIRMWARE
    assert result.details == "report of 1\n\n1 more faults"


def test_three_fault_reports_are_shown_and_the_rest_is_counted(case, tmp_path):
    faults = [fault(number) for number in range(1, 6)]
    shown = run_case(case(builtin_run(MODEL, ROWS), faults=faults), tmp_path).details
    assert shown == "report of 1\n\nreport of 2\n\nreport of 3\n\n2 more faults"
    three = run_case(case(builtin_run(MODEL, ROWS), faults=faults[:3]), tmp_path).details
    assert three.endswith("report of 3")


def test_unexpected_outputs_fail(case, tmp_path):
    silent = Expected(False, (("approximation", ""),))
    result = run_case(case(builtin_run(MODEL, ROWS), expect=silent), tmp_path)
    assert "3 inferences gave outputs, none is expected" in result.problems


def test_a_case_without_expectations_is_refused(case, tmp_path):
    with pytest.raises(UsageError, match="without outputs needs a last line") as refused:
        run_case(case(builtin_run(MODEL, ROWS), expect=Expected(False)), tmp_path)
    assert "line" in refused.value.hint


def test_a_budget_that_is_exceeded_fails_a_run_that_was_right(case, tmp_path):
    budgets = Budgets((Budget("figure", "arena", 59_999),))
    result = run_case(case(builtin_run(MODEL, ROWS), budgets=budgets), tmp_path)
    assert result.verdict is Verdict.FAIL
    assert "60,000" in result.reason


# --- what could not be run


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (EnvironmentMissing("no board", hint="plug it in"), Verdict.SKIPPED),
        (CheckFailed("a check said no"), Verdict.FAIL),
        (FirmwareFailed("it hung"), Verdict.FIRMWARE),
        (BuildFailed("it broke"), Verdict.ERROR),
    ],
)
def test_a_target_that_cannot_be_opened_gives_the_verdict_of_its_error(
    opened, tmp_path, error, verdict
):
    result = opened(error, tmp_path)
    assert (result.verdict, result.reason, result.hint) == (verdict, error.message, error.hint)
    assert json.loads((tmp_path / "own" / "result.json").read_text())["verdict"] == verdict


def test_a_lost_target_is_an_error_and_the_sizes_are_known_all_the_same(opened, tmp_path):
    result = opened(TargetLost("the board went away", hint="its cable"), tmp_path)
    assert (result.verdict, result.reason) == (Verdict.ERROR, "the board went away")
    assert (result.hint, result.size.flash) == ("its cable", len(CODE))


def test_an_invalid_case_raises_instead_of_a_verdict(opened, tmp_path):
    with pytest.raises(UsageError, match="nonsense"):
        opened(UsageError("nonsense"), tmp_path)
    with pytest.raises(UsageError, match="names neither an ELF nor a sample"):
        run_case(Case("empty"), tmp_path)


def test_a_missing_compiler_is_an_error_not_a_reason_to_skip(monkeypatch, tmp_path):
    def fail(*arguments):
        raise EnvironmentMissing("no compiler", hint="install one")

    monkeypatch.setattr("harness.case.samples.build_one", fail)
    result = run_case(Case("s", sample="hello_world", resolver="exact"), tmp_path)
    told = (result.verdict, result.reason, result.hint)
    assert told == (Verdict.ERROR, "no compiler", "install one")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("gcc refused", "gcc refused"),
        ("gcc refused:\nx.cc: In f\nx.cc:3:1: error: no such thing\nnote: z",
         "gcc refused: x.cc:3: no such thing"),
        ("ld refused:\n/ld: a.o: undefined reference to `f'\ncollect2: error: ld returned 1",
         "ld refused: a.o: undefined reference to `f'"),
        ("flatc refused:\nfirst\n\n  the last word  \n\n", "flatc refused: the last word"),
        ("link:\n/ld: region `FLASH' overflowed by 8 bytes\nend",
         "link: region `FLASH' overflowed by 8 bytes"),
    ],
)  # fmt: skip
def test_the_reason_of_a_failed_build_is_its_first_error(opened, tmp_path, words, reason):
    result = opened(BuildFailed(words), tmp_path)
    assert result.reason == reason
    assert result.details == words.partition("\n")[2]


def test_each_verdict_has_the_exit_code_of_its_kind():
    assert {one.value: one.exit_code for one in Verdict} == {
        "pass": 0, "fail": 1, "flaky": 1, "firmware": 4, "usage": 2, "error": 3, "skipped": 3,
    }  # fmt: skip


def test_a_case_has_the_wall_seconds_that_passed_from_its_beginning_to_its_end(
    case, tmp_path, monkeypatch
):
    clock = iter([10.0, 25.0])
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert run_case(case(builtin_run(MODEL, ROWS)), tmp_path).wall_seconds == 15.0


def test_a_result_is_calibrated_before_it_is_written(case, tmp_path):
    def calibrate(result):
        return replace(result, measures=replace(result.measures, milliseconds=1.5))

    result = run_case(case(builtin_run(MODEL, ROWS)), tmp_path / "out", calibrate=calibrate)
    written = json.loads((tmp_path / "out" / "own" / "result.json").read_text())
    assert result.milliseconds == written["milliseconds"] == 1.5
