"""Missing tools: a case on a missing target is skipped, a missing compiler is an error."""

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.case import Verdict, run_case
from harness.case.case import Case
from harness.case.samples import sample_case


def test_a_missing_compiler_is_an_error_not_a_skip(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CROSS_COMPILE", raising=False)
    result = run_case(sample_case("hello_world", "exact"), tmp_path / "out")
    assert result.verdict is Verdict.ERROR
    assert "not on PATH" in result.reason
    assert "doctor --install" in result.hint


@pytest.mark.parametrize("target", ["renode", "board"])
def test_a_target_that_is_not_here_is_skipped_with_a_hint(target, tmp_path, monkeypatch):
    monkeypatch.setenv("TFLM_HIL_LAB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("TFLM_HIL_VIRTUAL_BENCH", raising=False)
    monkeypatch.setenv("RENODE", str(tmp_path / "no-renode"))
    elf = tmp_path / "a.elf"
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    elf.write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))
    result = run_case(Case("c", elf=elf, targets=(target,)), tmp_path / "out")
    assert result.verdict is Verdict.SKIPPED
    assert result.reason and result.hint


def test_a_missing_compiler_does_not_hide_a_missing_target(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CROSS_COMPILE", raising=False)
    monkeypatch.setenv("RENODE", str(tmp_path / "no-renode"))
    result = run_case(sample_case("hello_world", "exact").on("renode"), tmp_path / "out")
    assert result.verdict is Verdict.ERROR
    assert "not on PATH" in result.reason
    assert "RENODE is not a program" in result.reason
