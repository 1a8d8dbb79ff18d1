"""The library ``harness.keywords.layers.Layers``: operators compared with the NumPy reference."""

from __future__ import annotations

from pathlib import Path

from robot.api import SkipExecution, logger
from robot.api.deco import keyword, library

from harness import __version__, targets
from harness.base.arithmetic import Arithmetic, Multipliers, Rounding
from harness.base.errors import CheckFailed, EnvironmentMissing
from harness.case.layers import compare_with_device
from harness.case.subject import find_model
from harness.elf import combined
from harness.keywords import variables
from harness.keywords.skips import AllSkipped, skip
from harness.reference import Interpreter
from harness.reference.layers import LayerReport
from harness.targets.registry import Ability

#: Time limit for the end of the inference, in seconds on the target's clock.
_TIMEOUT = 30.0


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class Layers:
    """Compares the outputs of each operator of a running image with the reference.

    ``${TARGET}`` is the target, as for the library TflmHil. The target must be able to stop at an
    instruction (``simulator``, ``renode``); on others the test is skipped. An execution in which
    all tests are skipped fails, unless the variable ``ALLOW_SKIPS`` is true.
    """

    def __init__(self) -> None:
        self.ROBOT_LIBRARY_LISTENER = AllSkipped()

    @keyword
    def layers_should_equal_reference(
        self,
        elf: Path,
        model: str,
        inference: int = 0,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
        tolerance: float | None = None,
    ) -> LayerReport:
        """Runs ``elf`` through an inference, and fails if an operator differs from the reference.

        The message names the first operator that differs. Returns the report of all operators.
        ``rounding`` and ``multipliers`` are the device's arithmetic, see docs/reference.md.

        Examples:
        | Layers Should Equal Reference | ${elf} | digits_int8.tflite |
        | Layers Should Equal Reference | ${elf} | model.tflite | rounding=single |
        """
        arithmetic = Arithmetic(rounding, multipliers)
        report = self._compared(elf, model, inference, arithmetic, tolerance)
        logger.info(str(report))
        if not report.equal:
            raise CheckFailed(str(report))
        return report

    @keyword
    def first_diverging_operator_should_be(
        self,
        elf: Path,
        model: str,
        operator: int,
        inference: int = 0,
        rounding: Rounding = "double",
        multipliers: Multipliers = "double",
        tolerance: float | None = None,
    ) -> None:
        """Fails unless ``operator`` is the index of the first operator that differs.

        Examples:
        | First Diverging Operator Should Be | ${elf} | model.tflite | 4 |
        """
        arithmetic = Arithmetic(rounding, multipliers)
        report = self._compared(elf, model, inference, arithmetic, tolerance)
        first = report.first
        if first is None or first.operator.index != operator:
            raise CheckFailed(f"operator {operator} is not the first that differs: {report}")

    @staticmethod
    def _compared(
        elf: Path,
        model: str,
        inference: int,
        arithmetic: Arithmetic,
        tolerance: float | None,
    ) -> LayerReport:
        target = variables.target()
        if not targets.target(target).can(Ability.STEP):
            raise SkipExecution(f"target {target} cannot {Ability.STEP}")
        firmware = combined.read(elf, chip=variables.chip())
        interpreter = Interpreter.from_file(find_model(model), arithmetic)
        try:
            session = targets.open_target(target, firmware)
        except EnvironmentMissing as missing:
            skip(target, missing)
        with session:
            return compare_with_device(
                session,
                firmware,
                interpreter,
                inference=inference,
                deadline=session.deadline(_TIMEOUT),
                tolerance=tolerance,
            )
