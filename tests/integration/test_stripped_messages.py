"""Images without TFLM's error strings keep their verdicts: findings then come from what is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.build.options import BuildOptions
from harness.build.standalone import build_standalone
from harness.build.table import load
from harness.case import CaseResult, Verdict, run_case
from harness.case.samples import sample_case

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
OPTIONS = BuildOptions(defines=("TF_LITE_STRIP_ERROR_STRINGS",))


def stripped(sample: str, resolver: str, options: BuildOptions, output: Path) -> CaseResult:
    """The image is built without error strings, and judged as if it were right."""
    elf = build_standalone(sample, resolver, options=options).image
    case = sample_case(sample, "exact")
    return run_case(replace(case, resolver=resolver, elf=elf, built_with=options), output)


@pytest.mark.slow
@pytest.mark.parametrize("optimize", ["0", "s"])
def test_each_sample_passes(optimize, tmp_path):
    options = replace(OPTIONS, optimize=optimize)
    results = {sample: stripped(sample, "exact", options, tmp_path) for sample in load().samples}
    assert {
        name: one.reason for name, one in results.items() if one.verdict is not Verdict.PASS
    } == {}


def test_an_image_that_lacks_an_operator_does_not_pass(tmp_path):
    assert stripped("hello_world", "missing", OPTIONS, tmp_path).verdict is Verdict.FAIL
