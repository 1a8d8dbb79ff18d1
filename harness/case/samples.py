"""Cases of this project's samples, from the resolver table."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.base import paths
from harness.base.errors import UsageError
from harness.build import generated
from harness.build.builders import build_one, runtime_of
from harness.build.generated import Sample, Variant
from harness.build.table import Table, inputs_of, load
from harness.case.case import Case
from harness.elf import Image

_BUILD = re.compile(r'#define TFLM_HIL_BUILD "(\w+)"')

#: Runtime -> timeout in seconds on the target's clock for a whole test set. tflite-micro's
#: reference kernels take four times as long as the standalone ones: 106 s for the residual
#: network's 400 images at 64 MHz.
_TEST_SET_SECONDS = {"standalone": 60.0, "tflm": 300.0}


def sample_values(
    sample: str, resolver: str, builder: str, table: Table | None = None
) -> dict[str, Any]:
    """The keys of a sample's case: model, inputs, limits and expected result of the table.

    Raises :class:`UsageError` for an unknown sample, configuration or builder.
    """
    table = table or load()
    variant = table.variant(sample, resolver, runtime_of(builder))
    expect = table.expected(variant)
    model = paths.models() / variant.sample.model
    values = {"resolver": resolver, "builder": builder, "model": model, "expect": expect}
    if not variant.console:
        return {**values, "inferences": variant.sample.inferences, "timeout": 20.0}
    vectors, rows = _vectors(variant.sample), variant.sample.rows
    return {
        **values,
        "inputs": _inputs(variant.sample),
        **({"vectors": vectors} if vectors is not None else {}),
        **({"rows": rows} if rows else {}),
        "timeout": _TEST_SET_SECONDS[variant.runtime],
        "guard": 600.0,  # hundreds of inferences in one image
    }


def sample_case(
    sample: str, resolver: str, *, builder: str = "standalone", table: Table | None = None
) -> Case:
    """The case of a sample in a configuration; raises as :func:`sample_values`."""
    values = sample_values(sample, resolver, builder, table)
    return Case(name=f"{sample}-{resolver}", sample=sample, given=frozenset(), **values)


def elf_of(case: Case) -> Path:
    """The image of ``case``; that of a sample is built, or taken from the build cache.

    Raises :class:`UsageError` for a case with neither, and the errors of building.
    """
    if case.elf is not None:
        return case.elf
    if not case.sample:
        raise UsageError(f"case {case.name!r} names neither an ELF nor a sample")
    return build_one(case.sample, case.resolver, case.builder, case.chip)


def as_built(case: Case, image: Image) -> Case:
    """``case`` with what the table expects of ``image``, whose tflite-micro may lack something.

    A case with expectations of its own stays as it is.
    """
    variant = variant_of(case, image)
    if variant is None or not variant.refused:
        return case
    table = load()
    usual = table.variant(case.sample, case.resolver, variant.runtime)
    if case.expect != table.expected(usual):
        return case
    return replace(case, expect=table.expected(variant), inputs=None, vectors=None)


def variant_of(case: Case, image: Image | None) -> Variant | None:
    """The variant that the image is; of several, the one whose identifier the image contains.

    They differ in the revision of tflite-micro: in what it refuses, or in the smallest arena.
    """
    if not case.sample:
        return None
    table, runtime = load(), runtime_of(case.builder)
    variant = table.variant(case.sample, case.resolver, runtime)
    data = [segment.data for segment in image.segments] if image else []
    for revision in table.minima(variant.sample) if runtime == "tflm" else []:
        other = table.variant(case.sample, case.resolver, runtime, revision)
        if other != variant:
            name = build_id(case.built_with.applied_to(other), case).encode()
            if any(name in part for part in data):
                variant = other
    return case.built_with.applied_to(variant)


def build_id(variant: Variant, case: Case) -> str:
    """The identifier that the generated header gives the image."""
    models = paths.models()
    inputs = inputs_of(variant.sample)
    model = case.built_with.model or models / variant.sample.model
    header = generated.config_header(variant, model.read_bytes(), inputs)
    definition = _BUILD.search(header)
    assert definition is not None
    return definition[1]


def _vectors(sample: Sample) -> Path | None:
    """The file of inputs that detect kernel mistakes, if the table names one."""
    named = sample.vectors.partition(":")[0]
    return paths.models() / named if named else None


def _inputs(sample: Sample) -> Path:
    """The test set that the table names, or else the one named after the model's family."""
    named = sample.inputs.partition(":")[0]
    family = Path(sample.model).stem.removesuffix("_int8").removesuffix("_float32")
    return paths.models() / (named or f"{family}_test.npz")
