"""A runtime with one wrong operator, index or constant does not pass.

Each mutant is tried with the samples that run its kernel, then with a model of the operators that
run its file (``kernel_models.py``), on the inputs that a search for vectors draws first.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from build_mutants import MutantBuilder, kernel_mutant
from kernel_models import kernel_model
from kernel_mutants import EQUIVALENT, SAMPLES, KernelMutant, every_mutant, mutants, path
from test_transcripts import what_noticed

from harness.base.errors import HilError
from harness.case import Case, run_case
from harness.case.result import CaseResult, Verdict
from harness.case.samples import sample_case
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.vectors import Source

pytestmark = [
    pytest.mark.needs("arm-none-eabi-gcc", "flatc"),
    pytest.mark.timeout(7200),
]
#: Inputs of the models of ``kernel_models.py``.
_RUNS = 6
#: An image that could not run notices nothing.
_RAN = (Verdict.PASS, Verdict.FAIL, Verdict.FIRMWARE)


@cache
def _model(file: str) -> tuple[bytes, list[np.ndarray]]:
    """The model of a kernel's file, and its inputs."""
    data = kernel_model(file)
    source = Source.of(Interpreter(Model.from_bytes(data, file)), ())
    return data, source.draw(np.random.default_rng(0), _RUNS)


def _results(builder: MutantBuilder, file: str, folder: Path) -> Iterator[CaseResult]:
    """What comes of the samples that run a file, and of its model."""
    for sample in SAMPLES[file]:
        elf = builder.link_sample(sample, "exact", folder)
        yield run_case(replace(sample_case(sample, "exact"), elf=elf, timeout=10.0), folder)
    data, inputs = _model(file)
    model = folder / "model.tflite"
    model.write_bytes(data)
    elf = builder.link_model(data, inputs, folder)
    yield run_case(Case("operators", elf=elf, model=model, inferences=_RUNS, timeout=150.0), folder)


def noticed_by(mutant: KernelMutant, folder: Path) -> list[str]:
    """What notices a mutant: one that does not compile is noticed, too; nothing if it passes."""
    builder = kernel_mutant(mutant.file, mutant.source(), folder)
    try:
        for result in _results(builder, mutant.file, folder):
            assert result.judgement.verdict in _RAN, result.judgement.reason
            if not result.passed:
                return [result.name, *what_noticed(result)]
    except (HilError, subprocess.CalledProcessError):
        return ["the compiler"]
    return []


@pytest.mark.slow
@pytest.mark.usefixtures("unexplained")
def test_no_mutant_of_a_kernel_passes(part, tally, tmp_path) -> None:
    chosen = [mutant for mutant in mutants() if str(mutant) not in EQUIVALENT][part]
    passed = []
    for mutant in chosen:
        if by := noticed_by(mutant, tmp_path):
            tally.noticed("kernels", by)
        else:
            passed.append(str(mutant))
    assert not passed, f"{len(passed)} of {len(chosen)} wrong kernels pass:\n" + "\n".join(passed)


@pytest.mark.slow
def test_the_kernel_built_in_the_same_way_and_not_changed_passes(tmp_path) -> None:
    builder = kernel_mutant("conv.cc", path("conv.cc").read_text("utf-8"), tmp_path)
    assert all(result.passed for result in _results(builder, "conv.cc", tmp_path))


def test_there_are_more_than_a_hundred_and_no_exemption_is_stale() -> None:
    names = {str(mutant) for mutant in every_mutant()}
    assert len({str(mutant) for mutant in mutants()} - set(EQUIVALENT)) > 100
    assert set(EQUIVALENT) <= names
