"""How fast the NumPy reference is beside the official interpreter, both in one run.

    python tests/benchmarks/bench_reference.py [model.tflite ...]

Networks of the MLPerf Tiny class and the repository's models; files given are added. Each figure
is the median of the medians of several rounds, in which the contestants take turns. Single
inferences have one thread each, batches of large networks one for each core: run it on an idle
machine. Nothing is asserted.
"""

from __future__ import annotations

import os

# NumPy's matrix library reads it when it is loaded; the official interpreter has one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from networks import NETWORKS
from tflite_micro.python.tflite_micro import runtime

from harness import paths
from harness.errors import HilError
from harness.model import Model
from harness.reference import Interpreter

ROUNDS = 7
BATCH = 64


def seconds(function: Callable[[], object], least: float = 0.05) -> float:
    """The median of single calls over about ``least`` seconds."""
    times: list[float] = []
    while sum(times) < least or len(times) < 3:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)


def inputs(model: Model) -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def one(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if dtype == "float32":
            return rng.normal(size=shape).astype(np.float32)
        info = np.iinfo(dtype)
        return rng.integers(info.min, int(info.max) + 1, shape).astype(dtype)

    return [one(tensor.shape, tensor.dtype) for tensor in model.inputs]


def contest(model: Model) -> tuple[float, float, float]:
    """Seconds an inference: the official interpreter, the reference, the reference in a batch."""
    reference = Interpreter(model)
    official = runtime.Interpreter.from_bytes(model.data, arena_size=16 << 20)
    arrays = inputs(model)
    for index, array in enumerate(arrays):
        official.set_input(array, index)
    batch = [np.stack([array] * BATCH) for array in arrays]
    contestants: list[Callable[[], object]] = [
        official.invoke,
        lambda: reference.invoke(arrays),
        lambda: reference.invoke_batch(batch),
    ]
    rounds = [[seconds(each) for each in contestants] for _ in range(ROUNDS)]
    single, own, many = (median(column) for column in zip(*rounds, strict=True))
    return single, own, many / BATCH


def main() -> None:
    models = [Model.from_bytes(make(), name) for name, make in NETWORKS.items()]
    models += [Model.from_file(path) for path in sorted(paths.models().glob("*.tflite"))]
    models += [Model.from_file(path) for path in sys.argv[1:]]
    print(f"{os.cpu_count()} cores")
    print(f"{'milliseconds an inference':<28} official      own   batch   own x  batch x  (of own)")
    for model in models:
        try:
            single, own, many = contest(model)
        except (HilError, RuntimeError) as error:
            print(f"{model.name:<28} {error}".splitlines()[0])
            continue
        print(
            f"{model.name:<28} {1e3 * single:8.3f} {1e3 * own:8.3f} {1e3 * many:7.3f}"
            f" {single / own:7.2f} {single / many:8.1f} {own / many:8.1f}"
        )


if __name__ == "__main__":
    main()
