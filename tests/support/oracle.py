"""The official interpreters, each in a subprocess: a crash ends one case, not a run."""

from __future__ import annotations

import importlib.util
import os
import select
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
MODULES = {"tflm": "tflite_micro", "litert": "ai_edge_litert"}


class Refused(Exception):
    """The official interpreter refused the model, or crashed."""


class Oracle:
    """``kind`` is ``tflm`` (the device's own code) or ``litert`` (TensorFlow Lite's)."""

    def __init__(self, kind: str = "tflm", *, seconds: float = 120) -> None:
        self.kind = kind
        self._seconds = seconds
        self.agreed: Counter[tuple[str, str]] = Counter()  # cases; see type_table.signatures
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def installed(self) -> bool:
        return importlib.util.find_spec(MODULES[self.kind]) is not None

    def arithmetic(self, operator: str) -> Arithmetic:
        """The reference's arithmetic that matches this interpreter.

        LiteRT multiplies scales in single precision, and rounds once in FULLY_CONNECTED alone.
        """
        if self.kind == "tflm":
            return Arithmetic()
        return Arithmetic("single" if operator == "FULLY_CONNECTED" else "double", "single")

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
        answer = self._ask(
            {
                "model": model,
                "inputs": [list(arrays) for arrays in inputs],
                "outputs": outputs,
                "tensors": list(tensors),
                "arena": arena,
                "resets": set(resets),
            }
        )
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["outputs"], answer["tensors"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        answer = None
        try:
            write(process.stdin, request)
            if select.select([process.stdout], [], [], self._seconds)[0]:
                answer = read(process.stdout)
        except (BrokenPipeError, EOFError):
            pass  # it died
        if answer is None:
            process.kill()
            code = process.wait()
            self._process = None
            raise Refused(f"the official interpreter ended with code {code}")
        return answer

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
