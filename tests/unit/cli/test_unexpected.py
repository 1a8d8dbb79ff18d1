"""What nobody meant: one line, an exit code that CI does not take for a failed check."""

import json

import pytest
from results import case_result

import harness.cli
from harness.cli import main


def explode(*_args, **_kwargs):
    raise KeyError("no such thing")


@pytest.fixture
def broken_samples(monkeypatch):
    monkeypatch.setattr("harness.cli.list_.samples.load", explode)


def test_a_bug_is_one_line_with_a_hint_and_exit_code_3(broken_samples, monkeypatch, capsys):
    monkeypatch.delenv("TFLM_HIL_DEBUG", raising=False)
    assert main(["list", "samples"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    bug, hint = said.err.splitlines()
    assert bug.startswith("tflm-hil: a bug in tflm-hil: KeyError: 'no such thing' (test_unexpected")
    assert "TFLM_HIL_DEBUG=1" in hint


def test_the_traceback_is_shown_with_the_debug_variable(broken_samples, monkeypatch, capsys):
    monkeypatch.setenv("TFLM_HIL_DEBUG", "1")
    assert main(["list", "samples"]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_named_as_that(monkeypatch, capsys):
    def lacking(name):
        raise ModuleNotFoundError("No module named 'west'", name="west")

    monkeypatch.setattr(harness.cli, "import_module", lacking)
    assert main(["list", "samples"]) == 3
    assert "the Python package 'west' is not installed" in capsys.readouterr().err


def test_a_bug_in_one_case_of_a_file_does_not_lose_the_others(monkeypatch, tmp_path, capsys):
    (tmp_path / "a.elf").write_bytes(b"")
    file = tmp_path / "hil.toml"
    file.write_text(
        '[[case]]\nname = "one"\nelf = "a.elf"\n[[case]]\nname = "two"\nelf = "a.elf"\n'
    )

    def run_case(case, output, how, calibrate):
        if case.name == "one":
            explode()
        return case_result(name=case.name)

    monkeypatch.setattr("harness.case.run._run_case", run_case)
    assert main(["run", str(file), "--json", "-", "--output", str(tmp_path)]) == 3
    one, two = json.loads(capsys.readouterr().out)["cases"]
    assert (one["verdict"], two["verdict"]) == ("error", "pass")
    assert "KeyError" in one["reason"]
