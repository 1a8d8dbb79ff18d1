"""Many cases in parallel: results of all but those that raise."""

import multiprocessing
import os
import time

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.case.case import Case
from harness.case.parallel import run_parallel
from harness.case.result import Verdict
from harness.case.run import run_case


@pytest.fixture
def skipped(tmp_path):
    """Makes a case that comes to a verdict without running anything: its Renode is not there."""
    elf = tmp_path / "image.elf"
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    elf.write_bytes(write_elf([text], [MadeSymbol("main", 1, 8, "func")]))

    def make(name: str) -> Case:
        options = {"renode": str(tmp_path / "no-renode")}
        return Case(name, elf=elf, targets=("renode",), options=options)

    return make


def by_name(*cases: Case) -> dict[str, Case]:
    return {case.name: case for case in cases}


def test_results_come_by_key_with_progress(skipped, tmp_path):
    seen = []
    cases = by_name(skipped("a"), skipped("b"))
    results = run_parallel(cases, tmp_path, lambda one, number: seen.append((one.name, number)))
    assert {name: one.verdict for name, one in results.items()} == {
        "a": Verdict.SKIPPED,
        "b": Verdict.SKIPPED,
    }
    assert sorted(name for name, _ in seen) == ["a", "b"]
    assert [number for _, number in seen] == [1, 2]


def _dies_if_told(case, output):
    if case.name == "dies":
        os._exit(9)
    return run_case(case, output)


def test_a_case_whose_process_dies_loses_no_result_that_came(skipped, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.case.parallel.run_case", _dies_if_told)
    assert run_parallel(by_name(skipped("dies")), tmp_path) == {}


def _hangs_if_told(case, output):
    if case.name == "hangs":
        time.sleep(600)
    return run_case(case, output)


def test_an_interrupt_keeps_results_and_ends_workers(skipped, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.case.parallel.run_case", _hangs_if_told)

    def interrupted(result, number):
        raise KeyboardInterrupt

    came = {}
    with pytest.raises(KeyboardInterrupt):
        run_parallel(by_name(skipped("quick"), skipped("hangs")), tmp_path, interrupted, came)
    assert list(came) == ["quick"]
    assert multiprocessing.active_children() == []


def test_a_case_that_raises_is_left_out_and_does_not_lose_the_others(skipped, tmp_path):
    bad = tmp_path / "no.elf"
    bad.write_bytes(b"no image")
    lone = Case("nothing"), Case("bad", elf=bad), Case("x", sample="no_such")
    cases = by_name(*lone, skipped("fine"))
    assert list(run_parallel(cases, tmp_path)) == ["fine"]
