"""Cases of the project's own samples, from the resolver table."""

from __future__ import annotations

from pathlib import Path

from harness.base import paths
from harness.base.errors import UsageError
from harness.build.builders import RUNTIME
from harness.build.configurations import load
from harness.build.variants import Sample, Table
from harness.case.case import Case

#: Seconds on the target's clock for a whole test set. tflite-micro's reference kernels take four
#: times as long as the standalone ones: 106 s for the residual network's 400 images at 64 MHz.
_TEST_SET_SECONDS = {"standalone": 60.0, "tflm": 300.0}


def sample_case(
    sample: str, resolver: str, *, builder: str = "standalone", table: Table | None = None
) -> Case:
    """The case of one sample in one configuration: model, expectations and inputs of the table.

    Raises :class:`UsageError` for a sample, a configuration or a builder that does not exist.
    """
    if builder not in RUNTIME:
        raise UsageError(f"no builder {builder!r}", hint=f"one of {', '.join(RUNTIME)}")
    variant = (table or load()).variant(sample, resolver, RUNTIME[builder])
    return Case(
        name=f"{sample}-{resolver}",
        sample=sample,
        resolver=resolver,
        builder=builder,
        model=paths.models() / variant.sample.model,
        inputs=_inputs(variant.sample) if variant.console else None,
        vectors=_vectors(variant.sample) if variant.console else None,
        rows=variant.sample.rows,
        inferences=variant.sample.inferences if not variant.console else 1,
        expected=variant.expect,
        timeout=_TEST_SET_SECONDS[variant.runtime] if variant.console else 20.0,
        guard=600.0 if variant.console else 120.0,  # hundreds of inferences in one image
    )


def _vectors(sample: Sample) -> Path | None:
    """The inputs that notice mistakes, which the table names."""
    named = sample.vectors.partition(":")[0]
    return paths.models() / named if named else None


def _inputs(sample: Sample) -> Path:
    """The test set that the table names, or the one called like the model's family."""
    named = sample.inputs.partition(":")[0]
    family = Path(sample.model).stem.removesuffix("_int8").removesuffix("_float32")
    return paths.models() / (named or f"{family}_test.npz")
