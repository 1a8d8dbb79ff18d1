"""`Run All Sample Cases` runs ahead; a keyword takes a result from it only if all is the same."""

from __future__ import annotations

import pytest
from results import case_result

from harness.base.errors import CheckFailed
from harness.keywords import TflmHil

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
#: A case that a user calls as the project's own is called, and that asks for something else.
OWN = """
[[case]]
name = "hello_world-exact"
sample = "hello_world"
{more}
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The library after a suite's set-up; what it runs itself afterwards fails."""
    monkeypatch.chdir(tmp_path)

    def together(cases, output, progress, results, calibrate):
        results |= {key: case_result(name=case.name) for key, case in cases.items()}

    def again(case, *more):
        raise CheckFailed(f"{case.name} ran again")

    monkeypatch.setattr("harness.keywords.library.run_parallel", together)
    monkeypatch.setattr("harness.case.run._run_case", again)
    library = TflmHil()
    library.rows = {("hello_world", "exact")}
    library.run_all_sample_cases()
    return library


def test_the_same_case_is_not_run_again(library):
    assert library.run_sample_case("hello_world", "exact").passed


@pytest.mark.parametrize(
    "more",
    [
        'resolver = "missing"\nbudgets = { flash = 10 }',
        'resolver = "exact"\nbudgets = { flash = 10 }',
        "inferences = 3",
        "timeout = 7",
        'options = { timing = "branches" }',
        'builder = "standalone-ns"',
        'expect = { findings = ["fault"] }',
        'model = "digits_int8.tflite"',
        'targets = ["virtual-board"]',
        "tolerance = 1",
    ],
)
def test_a_case_of_the_same_name_that_differs_in_one_thing_is_run(library, tmp_path, more):
    (tmp_path / "hil.toml").write_text(OWN.format(more=more))
    with pytest.raises(CheckFailed, match="hello_world-exact ran again"):
        library.run_case(tmp_path / "hil.toml")


def test_a_sample_whose_source_changed_in_between_is_run(library, tmp_path, monkeypatch):
    other = tmp_path / "other.elf"
    other.write_bytes(b"another image")
    monkeypatch.setattr("harness.case.samples.build_one", lambda *names: other)
    with pytest.raises(CheckFailed, match="ran again"):
        library.run_sample_case("hello_world", "exact")


def test_another_option_of_the_target_is_another_case(library, monkeypatch):
    monkeypatch.setattr(
        "harness.keywords.variables.value",
        lambda name, default="": "branches" if name == "TIMING" else default,
    )
    with pytest.raises(CheckFailed, match="ran again"):
        library.run_sample_case("hello_world", "exact")
