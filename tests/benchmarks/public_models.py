"""Models that are not ours to ship, frame by frame against tflite-micro: equal, refused, different.

    python tests/benchmarks/public_models.py FOLDER [inferences]

Every ``.tflite`` below FOLDER gets random inputs over its whole range, several inferences in a row,
and a reset in the middle. Integer outputs must be equal to the bit; float ones are compared with
the largest error relative to the outputs' spread. Exits with 1 where anything differs, or where one
of both refuses what the other runs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from oracle import Oracle, Refused

from harness.base.errors import HilError
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.node import NUMPY_TYPES

_RELATIVE = 1e-3


def inputs(model: Model, rng: np.random.Generator) -> list[np.ndarray]:
    arrays = []
    for tensor in model.inputs:
        dtype = NUMPY_TYPES[tensor.dtype]
        if dtype.kind == "f":
            arrays.append(rng.normal(size=tensor.shape).astype(dtype))
        elif dtype.kind == "b":
            arrays.append(rng.integers(0, 2, tensor.shape).astype(dtype))
        else:
            info = np.iinfo(dtype)
            arrays.append(rng.integers(info.min, info.max, tensor.shape, dtype, endpoint=True))
    return arrays


def same(got: np.ndarray, want: np.ndarray) -> bool:
    got, want = got.ravel(), want.ravel()
    if got.dtype.kind != "f":
        return np.array_equal(got, want)
    spread = float(np.nanmax(np.abs(want), initial=0)) or 1.0
    return bool(np.allclose(got, want, rtol=0, atol=_RELATIVE * spread, equal_nan=True))


def verdict(data: bytes, name: str, oracle: Oracle, count: int) -> str:
    middle = count // 2
    try:
        model = Model.from_bytes(data, name)
        interpreter = Interpreter(model)
        rng = np.random.default_rng(0)
        arrays = [inputs(model, rng) for _ in range(count)]
        obtained = []
        for number, each in enumerate(arrays):
            if number == middle:
                interpreter.reset()
            obtained.append(interpreter.invoke(each))
    except HilError as error:
        obtained, reason = None, error.message
    try:
        # The oracle needs the inputs' shapes, which a refused model may not even have.
        expected, _ = oracle.run(
            data, arrays if obtained else [], len(model.outputs) if obtained else 0,
            arena=64 << 20, resets={middle},
        )  # fmt: skip
    except Refused as error:
        return "refused by both" if obtained is None else f"TFLM alone refuses: {error}"
    if obtained is None:
        return f"the reference alone refuses: {reason}"
    rows = zip(obtained, expected, strict=True)
    if not all(same(*pair) for row in rows for pair in zip(*row, strict=True)):
        return "different"
    kind = {tensor.dtype for tensor in model.outputs}
    return "equal, float" if "float32" in kind else "equal to the bit"


def main() -> int:
    folder = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    oracle = Oracle()
    results: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.tflite")):
        result = verdict(path.read_bytes(), path.name, oracle, count)
        results[result.partition(":")[0]] += 1
        if not result.startswith("equal"):
            print(f"{path.relative_to(folder)}: {result}", flush=True)
    oracle.close()
    print(f"{sum(results.values())} models, {count} inferences each: {dict(results)}")
    wrong = {"different", "TFLM alone refuses", "the reference alone refuses"}
    return int(any(name in wrong for name in results))


if __name__ == "__main__":
    sys.exit(main())
