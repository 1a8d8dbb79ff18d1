"""`run --coverage --profile` on a sample: what the simulator counted, by function and line."""

import json

import pytest

from harness.build.table import load
from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


def test_a_sample_tells_which_functions_and_lines_ran(tmp_path, capsys):
    file = tmp_path / "lines.info"
    arguments = ["run", "hello_world", "--output", str(tmp_path / "out"), "--coverage", str(file)]
    assert main([*arguments, "--json", "-"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    functions = {row["function"]: row["instructions"] for row in case["coverage"]["functions"]}
    assert sum(functions.values()) == case["coverage"]["instructions"] == case["total_instructions"]
    hottest = next(iter(functions))
    assert functions[hottest] == max(functions.values())
    assert any("Invoke(" in name for name in functions)
    trace = file.read_text()
    assert trace.startswith("TN:hello_world_exact_simulator\n")
    assert "fully_connected.cc" in trace
    assert 0 < case["coverage"]["lines_run"] < case["coverage"]["lines"]
    left = tmp_path / "out" / "simulator" / "hello_world-exact" / "coverage.info"
    assert left.read_text().startswith("TN:\n")


def test_counting_changes_nothing_that_is_measured(tmp_path, capsys):
    cases = []
    for more in ([], ["--profile", str(tmp_path / "x.json")]):
        assert main(["run", "hello_world", "--output", str(tmp_path), "--json", "-", *more]) == 0
        cases += json.loads(capsys.readouterr().out)["cases"]
    counted = {"wall_seconds": 0, "coverage": None, "profiled": []}
    plain, traced = ({**case, **counted} for case in cases)
    assert plain == traced


@pytest.mark.parametrize("sample", sorted(load().samples))
def test_all_sums_of_a_profile_are_the_images_instructions(sample, tmp_path, capsys):
    """Of boot and all inferences; each operator has its own, and none is shared."""
    files = [tmp_path / "p.json", tmp_path / "p.folded"]
    cases = []
    for file in files:
        words = ["run", sample, "--output", str(tmp_path), "--profile", str(file), "--json", "-"]
        assert main(words) == 0
        cases += json.loads(capsys.readouterr().out)["cases"]
    total, groups = cases[0]["total_instructions"], cases[0]["profiled"]
    assert cases[1]["profiled"] == groups
    assert sum(group["instructions"] for group in groups) == total
    assert not any(", " in group["group"] for group in groups)
    (profile,) = json.loads(files[0].read_text())["profiles"]
    assert sum(profile["weights"]) == profile["endValue"] == total
    folded = files[1].read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in folded) == total
