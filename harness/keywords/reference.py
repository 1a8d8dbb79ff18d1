"""The library ``harness.keywords.reference.Reference``: models run in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from robot.api import logger
from robot.api.deco import keyword, library

from harness import __version__
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.errors import CheckFailed, UsageError
from harness.case.case import share_of
from harness.case.inputs import load_batch
from harness.case.subject import find_model
from harness.reference import Interpreter, alternatives, compare, examine

#: A file or an array; Robot does not convert an array.
Tensors = Path | np.ndarray[Any, np.dtype[Any]]


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class Reference:
    """Runs models with the NumPy reference, without a target.

    ``model`` is the path of a ``.tflite``, or the name of a model of this project. Inputs are
    ``.npy`` or ``.npz`` files with one row per inference, as for ``tflm-hil reference --input``.
    ``rounding`` and ``multipliers`` are the device's arithmetic, see docs/reference.md.
    """

    @keyword
    def reference_outputs(
        self,
        model: str,
        inputs: Path,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
    ) -> list[np.ndarray[Any, np.dtype[Any]]]:
        """Returns the outputs of the model for ``inputs``, one array per output tensor.

        Each has a leading axis of inferences. Fails if the inputs do not match the model.

        Examples:
        | ${outputs} = | Reference Outputs | digits_int8.tflite | ${CURDIR}/images.npz |
        """
        interpreter, rows = _prepared(model, inputs, Arithmetic(rounding, multipliers))
        return interpreter.invoke_batch(rows)

    @keyword
    def outputs_should_equal_reference(
        self,
        model: str,
        inputs: Path,
        obtained: Tensors,
        output: int = 0,
        tolerance: float | None = None,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
    ) -> None:
        """Fails if ``obtained`` differs from the model's output for ``inputs``.

        ``obtained`` is a ``.npy`` file or an array with one row per inference, ``output`` the
        number of the model's output. Without ``tolerance`` the comparison is exact.

        Examples:
        | Outputs Should Equal Reference | model.tflite | x.npy | device.npy |
        | Outputs Should Equal Reference | model.tflite | x.npy | device.npy | tolerance=1 |
        """
        interpreter, rows = _prepared(model, inputs, Arithmetic(rounding, multipliers))
        expected = interpreter.invoke_batch(rows)
        if not 0 <= output < len(expected):
            raise UsageError(f"{model} has no output {output}; it has {len(expected)} outputs")
        interpreter.restart()
        comparison = compare(
            _array(obtained),
            expected[output],
            tolerance=tolerance,
            alternatives=alternatives(interpreter, rows, output, batch=True),
        )
        logger.info(str(comparison))
        if not comparison.equal:
            raise CheckFailed(f"{model}, output {output}: {comparison}")

    @keyword
    def adequacy_should_be_at_least(
        self,
        share: str,
        model: str,
        inputs: Path,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
    ) -> None:
        """Fails if ``inputs`` detect less than ``share`` of the likely mistakes of kernels.

        The undetected mistakes are logged. ``tflm-hil vectors`` finds inputs that detect more.

        Examples:
        | Adequacy Should Be At Least | 95 % | model.tflite | vectors.npz |
        """
        wanted = share_of(share)
        found = examine(*_prepared(model, inputs, Arithmetic(rounding, multipliers)))
        logger.info("\n".join(f"not noticed: {trial}" for trial in found.missed))
        if found.share < wanted:
            raise CheckFailed(f"{model}: {found}, less than {share}")


def _prepared(
    model: str, inputs: Path, arithmetic: Arithmetic
) -> tuple[Interpreter, list[np.ndarray[Any, np.dtype[Any]]]]:
    interpreter = Interpreter.from_file(find_model(model), arithmetic)
    return interpreter, load_batch(inputs, interpreter.model)


def _array(obtained: Tensors) -> np.ndarray[Any, np.dtype[Any]]:
    if isinstance(obtained, np.ndarray):
        return obtained
    try:
        loaded = np.load(obtained, allow_pickle=False)
    except Exception as error:  # zipfile and NumPy raise many types for an invalid file
        message = f"cannot read the outputs {obtained}: not a .npy file of numbers"
        raise UsageError(message) from error
    if not isinstance(loaded, np.ndarray):
        raise UsageError(f"{obtained} contains several arrays", hint="use a .npy file")
    return loaded
