"""Cases of this project's samples, from the resolver table."""

from __future__ import annotations

from pathlib import Path

from harness.base import paths
from harness.base.errors import UsageError
from harness.build.builders import RUNTIME
from harness.build.configurations import load
from harness.build.variants import Sample, Table
from harness.case.case import Case

#: Runtime -> timeout in seconds on the target's clock for a whole test set. tflite-micro's
#: reference kernels take four times as long as the standalone ones: 106 s for the residual
#: network's 400 images at 64 MHz.
_TEST_SET_SECONDS = {"standalone": 60.0, "tflm": 300.0}


def sample_case(
    sample: str, resolver: str, *, builder: str = "standalone", table: Table | None = None
) -> Case:
    """Return the case of a sample in a configuration, with the table's model, results and inputs.

    Raises :class:`UsageError` for an unknown sample, configuration or builder.
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
    """Return the file of inputs that detect kernel mistakes, if the table names one."""
    named = sample.vectors.partition(":")[0]
    return paths.models() / named if named else None


def _inputs(sample: Sample) -> Path:
    """Return the test set that the table names, or else the one named after the model's family."""
    named = sample.inputs.partition(":")[0]
    family = Path(sample.model).stem.removesuffix("_int8").removesuffix("_float32")
    return paths.models() / (named or f"{family}_test.npz")
