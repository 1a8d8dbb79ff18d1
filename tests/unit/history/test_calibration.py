"""Milliseconds from instructions, learnt from a board with hidden ratios and noise."""

import json
import pickle
import random
from dataclasses import replace
from itertools import combinations

import pytest
import replay_nights as lab
from results import case_result

from harness.base.errors import CheckFailed, UsageError
from harness.base.platforms import chip_table
from harness.case.measure import time_of
from harness.case.result import CaseResult, OperatorTicks
from harness.cli import main
from harness.history.calibration import Calibration, Supply, calibrate, kernels, pairs
from harness.history.timing import calibrate_with, timed

#: Cycles an instruction that the board has, and nobody was told.
HIDDEN = {"CONV_2D": 1.31, "ADD": 2.04, "SOFTMAX": 1.12, "FULLY_CONNECTED": 1.62}
HIDDEN_REST, NOISE = 1.5, 0.01
#: Instructions outside the operators.
REST = 3_000


def on_simulator(model: str, *operators: str, seed: int = 0) -> dict:
    chance = random.Random(f"{model} {seed}")
    rows = [{"operator": name, "kernel": "cmsis-nn int8", "ticks": chance.randint(10_000, 90_000)}
            for name in operators]  # fmt: skip
    whole = sum(row["ticks"] for row in rows) + REST
    sha = f"{sum(map(ord, model)):064x}"
    return lab.case(model, model=f"/lab/{model}.tflite", elf_sha256=sha, operators=rows,
                    interpreter_ticks=REST, instructions=whole)  # fmt: skip


def on_board(case: dict, noise: float = NOISE, seed: int = 0) -> dict:
    chance = random.Random(f"{case['name']} noise {seed}")
    rows = [row | {"ticks": round(row["ticks"] * HIDDEN[row["operator"]] * chance.gauss(1, noise))}
            for row in case["operators"]]  # fmt: skip
    rest = round(case["interpreter_ticks"] * HIDDEN_REST)
    cycles = sum(row["ticks"] for row in rows) + rest
    return case | {"target": "board", "operators": rows, "interpreter_ticks": rest,
                   "instructions": None, "cycles": cycles}  # fmt: skip


@pytest.fixture
def simulated() -> list[dict]:
    trios = combinations(HIDDEN, 3)
    return [on_simulator(f"{'-'.join(trio)}-{n}", *trio) for trio in trios for n in range(3)]


@pytest.fixture
def learnt(simulated) -> Calibration:
    return calibrate(pairs([on_board(case) for case in simulated], simulated))


def test_the_hidden_ratios_are_recovered_within_the_stated_spread(learnt):
    for name, hidden in HIDDEN.items():
        ratio = learnt.ratios[f"{name} cmsis-nn int8"]
        assert ratio.models == 9
        assert abs(ratio.cycles - hidden) < ratio.spread
        assert 0.3 * NOISE < ratio.spread / hidden < 3 * NOISE
    assert learnt.ratios["(interpreter)"].cycles == pytest.approx(HIDDEN_REST, rel=1e-3)


def test_a_model_that_was_never_on_the_board_is_timed_within_three_spreads(learnt):
    for seed in range(50):
        new = on_simulator("new", "CONV_2D", "SOFTMAX", seed=seed)
        true = on_board(new, seed=seed)["cycles"] / 64_000
        found = learnt.time(kernels(new), chip_table().cpu_hz)
        assert abs(found.milliseconds - true) < 3 * found.spread


def test_each_model_is_predicted_by_the_others(learnt, simulated):
    assert set(learnt.left_out) == {f"{case['name']}.tflite" for case in simulated}
    assert 0 < learnt.error < 2 * NOISE


def test_a_board_without_noise_is_calibrated_exactly(simulated):
    exact = calibrate(pairs([on_board(case, 0.0) for case in simulated], simulated))
    for name, hidden in HIDDEN.items():
        assert exact.ratios[f"{name} cmsis-nn int8"].cycles == pytest.approx(hidden, rel=1e-4)
    assert exact.error < 1e-4


@pytest.mark.parametrize("kernel", ["reference int8", "cmsis-nn int16", "standalone int8"])
def test_an_unmeasured_kernel_is_refused(learnt, kernel):
    new = on_simulator("new", "CONV_2D")
    new["operators"][0]["kernel"] = kernel
    with pytest.raises(CheckFailed, match=f"CONV_2D {kernel} was never measured"):
        learnt.time(kernels(new), chip_table().cpu_hz)


def test_a_calibration_from_one_model_is_refused(simulated):
    with pytest.raises(UsageError, match="spread"):
        calibrate(pairs([on_board(simulated[0])], simulated))


@pytest.mark.parametrize("change", [
    {"verdict": "fail"}, {"elf_sha256": "f" * 64}, {"operators": []}, {"cycles": None},
])  # fmt: skip
def test_only_passed_runs_of_the_same_image_with_operators_count(simulated, change):
    with pytest.raises(UsageError, match="no image passed on a board"):
        pairs([on_board(case) | change for case in simulated], simulated)


def test_a_calibration_file_round_trips(learnt, tmp_path):
    file = tmp_path / "lab.toml"
    file.write_text(learnt.to_toml())
    assert Calibration.from_file(file) == learnt


@pytest.mark.parametrize("text", [
    "", "version = 9", "version = 1", "version = 1\nerror = -1\n[left_out]\n[kernels]",
    "version = 1\nerror = 0\n[left_out]\n[kernels.x]\ncycles = 0\nspread = 0\nmodels = 1",
    "version = 1\nerror = 0\n[left_out]\n[kernels.x]\ncycles = nan\nspread = 0\nmodels = 1",
])  # fmt: skip
def test_a_file_that_is_not_a_calibration_is_refused(tmp_path, text):
    file = tmp_path / "lab.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"lab\.toml"):
        Calibration.from_file(file)


LEAST = "at least 1 ms (one cycle an instruction at 64 MHz)"


def result(**changes) -> CaseResult:
    known = {"instructions": 64_000, "time": LEAST,
             "operators": (OperatorTicks("CONV_2D", 64_000, "cmsis-nn int8"),)}  # fmt: skip
    return case_result(**(known | changes))


def test_without_a_calibration_ticks_give_a_lower_bound_or_the_boards_time():
    assert time_of(64_000, None, chip_table()) == LEAST
    assert time_of(None, 128_000, chip_table()) == "2 ms (DWT cycles at 64 MHz)"
    assert time_of(None, None, chip_table()) == ""


def test_a_result_names_the_source_of_its_milliseconds(learnt):
    known = timed(result(), learnt)
    assert known.milliseconds == pytest.approx(1.31, rel=0.02)
    assert known.time.startswith("1.3") and " ms calibrated ± " in known.time
    other = timed(result(operators=(OperatorTicks("SVDF", 64_000, "reference"),)), learnt)
    assert other.milliseconds is None
    assert other.time == f"{LEAST}; not calibrated: SVDF reference was never measured on a board"
    assert "does not print its operators' ticks" in timed(result(operators=()), learnt).time
    board = result(instructions=None, cycles=128_000, time="2 ms")
    assert timed(board, learnt) == board


def test_results_are_calibrated_by_the_file_that_was_named(learnt, tmp_path):
    (tmp_path / "lab.toml").write_text(learnt.to_toml())
    calibrate = calibrate_with(str(tmp_path / "lab.toml"))
    assert calibrate is not None
    assert calibrate(result()) == timed(result(), learnt)
    assert calibrate_with(None) is None


def test_another_process_calibrates_the_same(learnt, tmp_path):
    (tmp_path / "lab.toml").write_text(learnt.to_toml())
    calibrate = pickle.loads(pickle.dumps(calibrate_with(str(tmp_path / "lab.toml"))))
    assert calibrate(result()) == timed(result(), learnt)


def test_the_command_learns_from_documents_of_both_targets(simulated, tmp_path, capsys):
    both = tmp_path / "both.json"
    boards = [on_board(case) for case in simulated]
    both.write_text(json.dumps(lab.document(*boards, *simulated)))
    assert main(["calibrate", str(both), "--output", str(tmp_path / "lab.toml")]) == 0
    assert "5 kernels" in capsys.readouterr().out
    assert len(Calibration.from_file(tmp_path / "lab.toml").ratios) == 5


def test_two_models_that_happen_to_agree_claim_no_smaller_spread_than_kernels_have():
    trios = [*combinations(HIDDEN, 3), ("SVDF", "CONV_2D")]
    cases = [on_simulator("-".join(trio), *trio) for trio in trios]
    twin = on_simulator("twin", "SVDF", "ADD")
    hidden = HIDDEN | {"SVDF": 1.7}
    off = {"SVDF": 1.0, "CONV_2D": 0.98, "ADD": 1.01, "SOFTMAX": 1.02, "FULLY_CONNECTED": 0.99}
    boards = []
    for number, case in enumerate((*cases, twin)):
        rows = [dict(row) for row in case["operators"]]
        for row in rows:
            name = row["operator"]
            row["ticks"] = round(row["ticks"] * hidden[name] * off[name] ** (number % 3))
        whole = sum(row["ticks"] for row in rows) + 4_500
        boards.append(case | {"operators": rows, "instructions": None, "cycles": whole})
    learnt = calibrate(pairs(boards, [*cases, twin]))
    svdf = learnt.ratios["SVDF cmsis-nn int8"]
    assert svdf.models == 2
    assert svdf.spread > 0.005 * svdf.cycles


SUPPLY = Supply(4.0, 3.5, "PPK2 of November")


def test_energy_is_time_times_current_times_voltage_with_their_source(learnt):
    found = timed(result(), replace(learnt, supply=SUPPLY)).measures
    assert found.milliseconds is not None
    assert found.microjoules == pytest.approx(found.milliseconds * 14.0)
    assert found.time.endswith("(4 mA at 3.5 V, PPK2 of November)")
    assert " µJ ± " in found.time


def test_energy_is_refused_without_a_calibrated_time(learnt):
    other = result(operators=(OperatorTicks("SVDF", 64_000, "reference"),))
    found = timed(other, replace(learnt, supply=SUPPLY)).measures
    assert found.microjoules is None
    assert "µJ" not in found.time
    assert timed(result(), learnt).measures.microjoules is None


def test_a_boards_own_cycles_need_no_calibration_for_their_energy(learnt):
    board = result(instructions=None, cycles=128_000, time="2 ms")
    assert timed(board, replace(learnt, supply=SUPPLY)).measures.microjoules == pytest.approx(28.0)


def test_the_supply_is_in_the_calibration_file(learnt, tmp_path):
    known = replace(learnt, supply=SUPPLY)
    file = tmp_path / "lab.toml"
    file.write_text(known.to_toml())
    assert Calibration.from_file(file) == known


@pytest.mark.parametrize("row", [
    "milliamperes = 4.0\nvolts = 3.0", 'milliamperes = 0\nvolts = 3.0\nsource = "x"',
    'milliamperes = 4\nvolts = 3\nsource = "x"\namperes = 1',
    "milliamperes = 4\nvolts = 3\nsource = 1",
])  # fmt: skip
def test_an_invalid_supply_is_refused(learnt, tmp_path, row):
    file = tmp_path / "lab.toml"
    file.write_text(learnt.to_toml() + "[supply]\n" + row)
    with pytest.raises(UsageError, match="is not a calibration"):
        Calibration.from_file(file)


def test_the_command_takes_the_supply_and_keeps_the_one_that_the_file_has(simulated, tmp_path):
    both, file = tmp_path / "both.json", tmp_path / "lab.toml"
    both.write_text(json.dumps(lab.document(*map(on_board, simulated), *simulated)))
    learn = ["calibrate", str(both), "--output", str(file)]
    assert main([*learn, "--current", "4", "--voltage", "3.5", "--supply-source", "PPK2"]) == 0
    assert Calibration.from_file(file).supply == Supply(4.0, 3.5, "PPK2")
    assert main(learn) == 0
    assert Calibration.from_file(file).supply == Supply(4.0, 3.5, "PPK2")
    assert main([*learn, "--current", "4"]) == 2
    assert main([*learn, "--current", "nan", "--voltage", "3"]) == 2
