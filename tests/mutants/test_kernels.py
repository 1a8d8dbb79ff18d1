"""A runtime with one wrong operator, index or constant does not pass the samples."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace

import pytest
from build_mutants import COMPILER, kernel_mutant
from kernel_mutants import EQUIVALENT, SAMPLES, KernelMutant, every_mutant, mutants, path
from test_transcripts import what_noticed

from harness.base.errors import HilError
from harness.case import run_case
from harness.case.result import CaseResult
from harness.case.samples import sample_case

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no arm-none-eabi-gcc"),
    pytest.mark.timeout(7200),
]
_SAMPLE = 5


def _noticed(mutant: KernelMutant, folder, tally) -> bool:
    """Whether any of the kernel's samples fails; a mutant that does not compile is noticed."""
    for sample in SAMPLES[mutant.file]:
        try:
            elf = kernel_mutant(mutant.file, mutant.source(), sample, folder)
        except (HilError, subprocess.CalledProcessError):
            return True
        result = _run(sample, elf, folder)
        if not result.passed:
            tally.noticed("kernels", what_noticed(result))
            return True
    return False


def _run(sample: str, elf, folder) -> CaseResult:
    return run_case(replace(sample_case(sample, "exact"), elf=elf, timeout=10.0), folder)


@pytest.mark.slow
def test_no_mutant_of_a_kernel_passes(part, parts, whole, seed, tally, tmp_path) -> None:
    possible = [mutant for mutant in mutants() if str(mutant) not in EQUIVALENT]
    chosen = possible[part::parts] if whole else random.Random(seed).sample(possible, _SAMPLE)
    passed = [str(mutant) for mutant in chosen if not _noticed(mutant, tmp_path, tally)]
    assert not passed, f"{len(passed)} of {len(chosen)} wrong kernels pass:\n" + "\n".join(passed)


@pytest.mark.slow
def test_the_kernel_built_in_the_same_way_and_not_changed_passes(tmp_path) -> None:
    elf = kernel_mutant("conv.cc", path("conv.cc").read_text("utf-8"), "digits", tmp_path)
    assert _run("digits", elf, tmp_path).passed


def test_there_are_more_than_a_hundred_and_no_exemption_is_stale() -> None:
    names = {str(mutant) for mutant in every_mutant()}
    assert len({str(mutant) for mutant in mutants()} - set(EQUIVALENT)) > 100
    assert set(EQUIVALENT) <= names
