"""The official interpreters, each in a subprocess that forks: a crash ends one case, not a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from oracle_worker import read, write

from harness.base.arithmetic import Arithmetic

WORKER = Path(__file__).with_name("oracle_worker.py")


class Refused(Exception):
    """The official interpreter refused the model, or crashed."""


def request(
    model: bytes,
    inputs: Sequence[Sequence[np.ndarray]],
    outputs: int = 1,
    tensors: Sequence[int] = (),
    arena: int = 4 << 20,
    resets: Collection[int] = (),
    seconds: float = 120,
) -> dict[str, Any]:
    """Consecutive inferences of a model, as :meth:`Oracle.run` takes them.

    A request that takes ``seconds`` of the processor is ended, and refused.
    """
    return {
        "model": model,
        "inputs": [list(arrays) for arrays in inputs],
        "outputs": outputs,
        "tensors": list(tensors),
        "arena": arena,
        "resets": set(resets),
        "seconds": seconds,
    }


class Oracle:
    """``kind`` is ``tflm`` (the device's own code) or ``litert`` (TensorFlow Lite's)."""

    def __init__(self, kind: str = "tflm") -> None:
        self.kind = kind
        self.agreed: Counter[tuple[str, str]] = Counter()  # cases; see type_table.signatures
        self._process: subprocess.Popen[bytes] | None = None

    def arithmetic(self, operator: str) -> Arithmetic:
        """The reference's arithmetic that matches this interpreter.

        LiteRT multiplies scales in single precision, but for SUB, whose ``PrepareGeneralSubOp`` has
        ``const double twice_max_input_scale``, and rounds once in FULLY_CONNECTED alone.
        """
        if self.kind == "tflm":
            return Arithmetic()
        return Arithmetic(
            "single" if operator == "FULLY_CONNECTED" else "double",
            "double" if operator == "SUB" else "single",
        )

    def run(
        self,
        model: bytes,
        inputs: Sequence[Sequence[np.ndarray]],
        outputs: int = 1,
        tensors: Sequence[int] = (),
        arena: int = 4 << 20,
        resets: Collection[int] = (),
    ) -> tuple[list[list[np.ndarray]], list[dict[int, np.ndarray]]]:
        """Consecutive inferences: outputs of each, and the named tensors after each.

        ``resets`` are the numbers of the inferences before which TFLM is reset.
        """
        (answer,) = self.ask([request(model, inputs, outputs, tensors, arena, resets)])
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["outputs"], answer["tensors"]

    def ask(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answer to each :func:`request`: "outputs" and "tensors", or an "error"."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        write(process.stdin, list(requests))
        answers: list[dict[str, Any]] = read(process.stdout)
        return answers

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, str(WORKER), self.kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("ORACLE_LOG") else subprocess.DEVNULL,
            )
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


#: Those that a case is held against, one after another.
Oracles = Sequence[Oracle]
