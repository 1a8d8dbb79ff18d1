"""The library ``harness.keywords.lifecycle.OperatorLifecycle``: calls of a custom operator."""

from __future__ import annotations

from pathlib import Path

from robot.api import logger
from robot.api.deco import keyword, library

from harness import __version__
from harness.base.errors import CheckFailed, UsageError
from harness.case import CaseResult
from harness.case.artifacts import console_of
from harness.case.lifecycle import METHODS, Lifecycle, lifecycle, nodes_of
from harness.case.subject import find_model


@library(scope="GLOBAL", version=__version__, doc_format="ROBOT")
class OperatorLifecycle:
    """Compares the calls counted by a custom operator with the documented rules.

    ``result`` is the return value of `Run Sample Case` of the library TflmHil.
    """

    @keyword
    def lifecycle_should_be_as_documented(
        self, result: CaseResult, operator: str, model: str
    ) -> None:
        """Fails if the runtime did not call the kernel of ``operator`` as documented.

        The documented calls are init and free once for each node of ``model``, prepare before the
        first invoke, and invoke once for each node in each inference.

        Examples:
        | ${result} = | Run Sample Case | atan | exact |
        | Lifecycle Should Be As Documented | ${result} | Atan | atan_float32.tflite |
        """
        model_file = find_model(model)
        counted = self._lifecycle(result, operator, model_file)
        violations = list(counted.violations(nodes_of(model_file, operator)))
        if violations:
            raise CheckFailed(f"{operator}: {'; '.join(violations)}")

    @keyword
    def lifecycle_should_count(
        self, result: CaseResult, operator: str, *, order: str | None = None, **calls: int
    ) -> None:
        """Fails unless each given method was called the given number of times.

        ``order`` has a letter for each call (init, prepare, in *v* oke, free, reset), without
        repetitions.

        Examples:
        | Lifecycle Should Count | ${result} | Atan | init=1 | invoke=10 | order=iprvrf |
        """
        counted = self._lifecycle(result, operator)
        if not calls and order is None:
            raise UsageError(
                "neither a method nor an order is given", hint="for example init=1 order=iprvrf"
            )
        unknown = ", ".join(name for name in calls if name not in METHODS)
        if unknown:
            raise UsageError(f"operators have no method {unknown}", hint=", ".join(METHODS))
        wrong = [
            f"{name} was called {counted.calls[name]} times, not {count}"
            for name, count in calls.items()
            if counted.calls[name] != count
        ]
        if order is not None and counted.order != order:
            wrong.append(f"the order of the calls is {counted.order or '(none)'}, not {order}")
        if wrong:
            raise CheckFailed(f"{operator}: {'; '.join(wrong)}")

    @staticmethod
    def _lifecycle(result: CaseResult, operator: str, model: Path | None = None) -> Lifecycle:
        counted = lifecycle(console_of(result, model), operator)
        logger.info(
            f"{operator}: {counted.calls}, order {counted.order}, {counted.inferences} inferences"
        )
        return counted
