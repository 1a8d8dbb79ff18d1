"""How fast the NumPy reference is beside tflite-micro and LiteRT's reference kernels, in one run.

    python tests/benchmarks/bench_reference.py [model.tflite ...]

Networks of the MLPerf Tiny class and the repository's models; files given are added. Each figure
is the processor time of one inference, of all threads, the best of several rounds in which the
contestants take turns. Nothing is asserted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from ai_edge_litert import interpreter as litert
from networks import NETWORKS
from tflite_micro.python.tflite_micro import runtime

from harness.base import paths
from harness.model import Model
from harness.reference import Interpreter

ROUNDS = 5
BATCH = 64


def seconds(function: Callable[[], object], least: float = 0.05) -> float:
    """Processor time of a call, from as many in a row as take ``least`` seconds."""
    count, taken = 1, 0.0
    while taken < least:
        count = max(2 * count, int(1.2 * count * least / taken)) if taken else count
        start = time.process_time()
        for _ in range(count):
            function()
        taken = max(time.process_time() - start, 1e-9)
    return taken / count


def inputs(model: Model) -> list[np.ndarray]:
    rng = np.random.default_rng(0)

    def one(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if dtype == "float32":
            return rng.normal(size=shape).astype(np.float32)
        info = np.iinfo(dtype)
        return rng.integers(info.min, int(info.max) + 1, shape).astype(dtype)

    return [one(tensor.shape, tensor.dtype) for tensor in model.inputs]


def official(model: Model, arrays: list[np.ndarray]) -> Callable[[], object]:
    """tflite-micro: the inputs in, an inference, the outputs out."""
    interpreter = runtime.Interpreter.from_bytes(model.data, arena_size=64 << 20)

    def run() -> None:
        for index, array in enumerate(arrays):
            interpreter.set_input(array, index)
        interpreter.invoke()
        for index in range(len(model.outputs)):
            interpreter.get_output(index)

    return run


def litert_reference(model: Model, arrays: list[np.ndarray]) -> Callable[[], object] | None:
    """The same of LiteRT's reference kernels, one thread; None where it refuses the model."""
    try:
        interpreter = litert.Interpreter(
            model_content=model.data,
            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF,
            num_threads=1,
        )
        interpreter.allocate_tensors()
        places = [detail["index"] for detail in interpreter.get_input_details()]
        results = [detail["index"] for detail in interpreter.get_output_details()]
        interpreter.invoke()  # it wants variables to be set, where tflite-micro starts them
    except (RuntimeError, ValueError):
        return None

    def run() -> None:
        for place, array in zip(places, arrays, strict=True):
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        for index in results:
            interpreter.get_tensor(index)

    return run


def contest(model: Model, *, second_too: bool) -> list[float]:
    """Seconds an inference: tflite-micro, LiteRT (NaN: refused), the reference, and in a batch."""
    reference, arrays = Interpreter(model), inputs(model)
    batch = [np.stack([array] * BATCH) for array in arrays]
    second = litert_reference(model, arrays) if second_too else None
    contestants: list[Callable[[], object]] = [
        official(model, arrays),
        second or (lambda: None),
        lambda: reference.invoke(arrays),
        lambda: reference.invoke_batch(batch, BATCH),
    ]
    rounds = [[seconds(each) for each in contestants] for _ in range(ROUNDS)]
    micro, lite, own, many = (min(column) for column in zip(*rounds, strict=True))
    return [micro, lite if second else float("nan"), own, many / BATCH]


def main() -> None:
    """Each model in a process of its own: the other interpreters may crash, or keep memory."""
    if sys.argv[1:2] in (["--both"], ["--micro"]):
        print(json.dumps(contest(chosen(sys.argv[2]), second_too=sys.argv[1] == "--both")))
        return
    names = [*NETWORKS, *map(str, sorted(paths.models().glob("*.tflite"))), *sys.argv[1:]]
    print("milliseconds of processor time an inference; x: times as fast as tflite-micro")
    print(f"{'model':<40}     TFLM   LiteRT      own    batch   own x  batch x")
    for name in names:
        done = in_a_process("--both", name)
        if done.returncode < 0:  # LiteRT's reference kernels crash on some models
            done = in_a_process("--micro", name)
        print(f"{Path(name).stem[-40:]:<40} {row(done)}", flush=True)


def in_a_process(contestants: str, name: str) -> subprocess.CompletedProcess[str]:
    """The contest of one model."""
    command = [sys.executable, __file__, contestants, name]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def chosen(name: str) -> Model:
    """A network of the table, or a file."""
    make = NETWORKS.get(name)
    return Model.from_bytes(make(), name) if make else Model.from_file(name)


def row(done: subprocess.CompletedProcess[str]) -> str:
    """The figures that a process printed, or what it died of."""
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        return f"ended with {done.returncode}: {last[0][:100]}"
    micro, lite, own, many = json.loads(done.stdout.splitlines()[-1])
    figures = " ".join(f"{1e3 * each:8.4f}" for each in (micro, lite, own, many))
    return f"{figures} {micro / own:7.2f} {micro / many:8.1f}"


if __name__ == "__main__":
    main()
