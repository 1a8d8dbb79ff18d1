"""How tight the bounds of float results are, and whether any correct result is outside.

    python tests/benchmarks/bound_sensitivity.py FOLDER [seconds]

For every ``.tflite`` below FOLDER that has a float32 tensor and that both the reference and
tflite-micro run, on random inputs:

* tflite-micro's result, and that of eight other orders of summation of the products in float32:
  how many are outside the bound (should be 0);
* single weights of products, drawn uniformly, with another sign, and times 1.01: how often
  tflite-micro's result is still inside the bound of the unchanged model, of those in which it
  differs at all; and whether it is although the change is twice the bound in double precision;
* the largest bound of the outputs over the largest difference from tflite-micro.

200 weights a model, or as many as take about ``seconds`` (3) of the processor, but 10 at least;
the last line tells how many models had fewer. Orders of summation for models of up to 20 million
products. A model of which an output is not a number is left out. Shares of misses are given of all
drawn weights, and of those whose change shows in any bit of tflite-micro's outputs. Exits with 1 if
a correct result was outside, or a change of twice the bound inside.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hashlib
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import numpy as np
from oracle import Oracle, request
from public_models import inputs

from harness.base.errors import HilError
from harness.model import Model, Tensor
from harness.reference import Interpreter, Kernels
from harness.reference.float_error import allowed_errors
from harness.reference.node import Node, Run
from harness.reference.window import Window

WEIGHTS, FEWEST = 200, 10
MAX_BYTES = 6 << 20
MAX_PRODUCTS = 20_000_000
_BLOCK = 1 << 22
#: tflite-micro clears its arena: the smallest of these that a model takes.
_ARENAS = (1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26)
Sum = Callable[[np.ndarray], np.ndarray]


def _one_by_one(terms: np.ndarray) -> np.ndarray:
    return np.add.accumulate(terms, axis=-1, dtype=np.float32)[..., -1]


def _shuffled(seed: int, terms: np.ndarray) -> np.ndarray:
    return _one_by_one(terms[..., np.random.default_rng(seed).permutation(terms.shape[-1])])


def _padded(terms: np.ndarray, multiple: int) -> np.ndarray:
    missing = -terms.shape[-1] % multiple
    return np.pad(terms, [(0, 0)] * (terms.ndim - 1) + [(0, missing)])


def _pairwise(terms: np.ndarray) -> np.ndarray:
    terms = _padded(terms, 1 << math.ceil(math.log2(max(terms.shape[-1], 1))))
    while terms.shape[-1] > 1:
        half = terms.shape[-1] // 2
        terms = terms[..., :half] + terms[..., half:]
    return terms[..., 0]


def _in_lanes(lanes: int, terms: np.ndarray) -> np.ndarray:
    """As a vector unit sums: each lane for itself, then the lanes."""
    terms = _padded(terms, lanes)
    terms = terms.reshape(*terms.shape[:-1], -1, lanes)
    return _one_by_one(np.add.accumulate(terms, axis=-2, dtype=np.float32)[..., -1, :])


ORDERS: dict[str, Sum] = {
    "first to last": _one_by_one,
    "last to first": lambda terms: _one_by_one(terms[..., ::-1]),
    **{f"shuffled {seed}": partial(_shuffled, seed) for seed in (1, 2, 3)},
    "pairwise": _pairwise,
    "4 lanes": partial(_in_lanes, 4),
    "8 lanes": partial(_in_lanes, 8),
}
PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def _ordered(name: str, order: Sum) -> Callable[[Node], Run]:
    """The kernel of a product with float32 terms that are summed in another order."""
    plain = Kernels.default().builtin[name]

    def kernel(node: Node) -> Run:
        run = plain(node)
        weights = node.constant(1)
        depth = node.input(0).shape[-1] if node.input(0).shape else 0
        grouped = name == "CONV_2D" and weights is not None and weights.shape[3] != depth
        if node.input(0).dtype != "float32" or weights is None or grouped:
            return run
        clamp, shape = node.clamp(), node.output().shape

        def summed(x: np.ndarray, _: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
            parts = [order(terms) for terms in _terms(node, x, weights)]
            y = np.concatenate(parts).reshape(len(x), *shape)
            return clamp(y if bias is None else y + bias.ravel()[: shape[-1]])

        return summed

    return kernel


def _terms(node: Node, x: np.ndarray, weights: np.ndarray) -> Iterator[np.ndarray]:
    """Products (places, outputs, terms) in float32, some places at a time."""
    if node.operator.name == "FULLY_CONNECTED":
        rows = x.reshape(-1, 1, weights.shape[-1])
        filters = weights.reshape(-1, weights.shape[-1])[: node.output().shape[-1]]
    else:
        window = Window.of(node, weights.shape[1:3], dilated=True)
        view = window.view(window.pad(x.reshape(-1, *x.shape[2:]), 0))
        rows = view.reshape(math.prod(view.shape[:3]), -1, view.shape[-1])  # places, taps, C
        if node.operator.name == "CONV_2D":
            rows = rows.reshape(len(rows), 1, -1)
            filters = weights.reshape(len(weights), -1)
        else:
            copies = weights.shape[3] // rows.shape[-1]
            rows = np.repeat(rows.swapaxes(1, 2), copies, axis=1)
            filters = weights.reshape(-1, weights.shape[3]).T
    step = max(1, _BLOCK // filters.size)
    for start in range(0, len(rows), step):
        yield rows[start : start + step] * filters


@dataclass
class Totals:
    """Figures over all models."""

    counts: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)


def _weights(model: Model) -> list[Tensor]:
    """The float32 weights of products."""
    found = {
        op.inputs[1]: model.tensors[op.inputs[1]]
        for op in model.operators
        if op.name in (*PRODUCTS, "TRANSPOSE_CONV", "BATCH_MATMUL")
    }
    return [t for t in found.values() if t.constant and t.dtype == "float32"]


def changed(model: Model, rng: np.random.Generator, factor: float) -> Model:
    """The model with one weight, of all weights of products, times ``factor``."""
    tensors = _weights(model)
    number = int(rng.integers(sum(tensor.elements for tensor in tensors)))
    data = bytearray(model.data)
    start = np.frombuffer(model.data, np.uint8).__array_interface__["data"][0]
    for tensor in tensors:
        if number < tensor.elements:
            place = np.frombuffer(tensor.data, np.uint8).__array_interface__["data"][0] - start
            weights = np.frombuffer(data, "<f4", tensor.elements, place)
            weights[number] *= np.float32(factor)
            break
        number -= tensor.elements
    return Model.from_bytes(bytes(data), model.name)


def products(interpreter: Interpreter) -> int:
    """Products of an inference, of those operators whose order is changed."""
    return sum(
        step.node.output().elements * step.node.input(1).elements // step.node.output().shape[-1]
        for step in interpreter.steps
        if step.operator.name in PRODUCTS
    )


@dataclass(frozen=True)
class Bounds:
    """The reference's outputs of one inference, and what each element may be off by."""

    outputs: Sequence[np.ndarray]
    allowed: Sequence[np.ndarray]

    @classmethod
    def of(cls, interpreter: Interpreter, arrays: Sequence[np.ndarray]) -> Bounds:
        outputs = interpreter.invoke(arrays)
        errors = allowed_errors(interpreter)
        found = [
            np.broadcast_to(errors.get(tensor.index, 0.0), output.shape)
            for tensor, output in zip(interpreter.outputs, outputs, strict=True)
        ]
        return cls(outputs, found)

    def excess(self, others: Sequence[np.ndarray]) -> float:
        """The largest difference in bounds: above 1 it is outside; 0 / 0 is 0."""
        worst = 0.0
        for output, other, allowed in zip(self.outputs, others, self.allowed, strict=True):
            off = _difference(output, other)
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = max(worst, float(np.nanmax(np.where(off > 0, off / allowed, 0), initial=0)))
        return worst

    def ratio(self, others: Sequence[np.ndarray]) -> float | None:
        """The largest bound over the largest difference; None if there is no difference."""
        pairs = zip(self.outputs, others, strict=True)
        largest = max(float(_difference(*pair).max(initial=0)) for pair in pairs)
        top = max(float(each.max(initial=0)) for each in self.allowed)
        return top / largest if largest else None


def _difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    one, other = one.astype(np.float64), other.reshape(one.shape).astype(np.float64)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(same, 0.0, np.nan_to_num(np.abs(one - other), nan=np.inf))


def study(model: Model, oracle: Oracle, budget: float, totals: Totals) -> str:
    """One line on a model; raises HilError where the reference refuses it."""
    interpreter, rng = Interpreter(model), np.random.default_rng(0)
    arrays = inputs(model, rng)
    start = time.process_time()
    bounds = Bounds.of(interpreter, arrays)
    official, arena = _official(model, arrays, oracle)
    if official is None:
        return "tflite-micro refuses it"
    if not all(np.isfinite(each).all() for each in official):
        return "an output is not a number"
    totals.counts["models"] += 1
    outside = bounds.excess(official)
    totals.counts["official outside"] += outside > 1
    ratio = bounds.ratio(official)
    totals.ratios += [] if ratio is None else [ratio]
    line = f"official {outside:.2f}"
    if products(interpreter) <= MAX_PRODUCTS:
        worst = max(bounds.excess(_in_order(model, arrays, order)) for order in ORDERS.values())
        totals.counts["orders"] += len(ORDERS)
        totals.counts["orders outside"] += worst > 1
        line += f", orders {worst:.2f}"
    if not _weights(model):
        return f"{line}, no float weights"
    begun = time.process_time()
    bounds.excess(Interpreter(changed(model, rng, 1.01)).invoke(arrays))
    each = 4 * max(time.process_time() - begun, (begun - start) / 20)
    count = min(WEIGHTS, max(FEWEST, int(budget / each)))
    totals.counts["models with fewer weights"] += count < WEIGHTS
    for name, factor in (("sign", -1.0), ("1.01", 1.01)):
        found = _answers(model, arrays, oracle, (factor, count, arena))
        line += f", {name}: {_count(name, found, arrays, (bounds, official), totals)}"
    return line


def _official(
    model: Model, arrays: Sequence[np.ndarray], oracle: Oracle
) -> tuple[list[np.ndarray] | None, int]:
    """tflite-micro's outputs, and the arena that the model takes."""
    for arena in _ARENAS:
        (answer,) = oracle.ask([request(model.data, [arrays], len(model.outputs), arena=arena)])
        if "outputs" in answer:
            return answer["outputs"][0], arena
    return None, 0


def _in_order(model: Model, arrays: Sequence[np.ndarray], order: Sum) -> list[np.ndarray]:
    kernels = Kernels.default()
    for name in PRODUCTS:
        kernels = kernels.with_builtin(name, _ordered(name, order))
    return Interpreter(model, kernels=kernels).invoke(arrays)


def _answers(
    model: Model, arrays: Sequence[np.ndarray], oracle: Oracle, change: tuple[float, int, int]
) -> list[tuple[Model, list[np.ndarray]]]:
    """tflite-micro's outputs of ``count`` models, each with one weight times ``factor``."""
    factor, count, arena = change
    rng = np.random.default_rng(1)
    models = [changed(model, rng, factor) for _ in range(count)]
    answers = oracle.ask(
        [request(each.data, [arrays], len(each.outputs), arena=arena) for each in models]
    )
    return [(each, answer["outputs"][0]) for each, answer in zip(models, answers, strict=True)]


def _count(
    name: str,
    found: Sequence[tuple[Model, list[np.ndarray]]],
    arrays: Sequence[np.ndarray],
    right: tuple[Bounds, Sequence[np.ndarray]],
    totals: Totals,
) -> str:
    bounds, official = right
    effective = missed = 0
    for model, obtained in found:
        if all(np.array_equal(*pair) for pair in zip(obtained, official, strict=True)):
            continue
        effective += 1
        if bounds.excess(obtained) <= 1:
            missed += 1
            twice = bounds.excess(Interpreter(model).invoke(arrays)) > 2
            totals.counts["twice the bound missed"] += twice
    totals.counts[f"{name} drawn"] += len(found)
    totals.counts[f"{name} effective"] += effective
    totals.counts[f"{name} missed"] += missed
    return f"{missed} of {effective} of {len(found)} missed"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f} %"


def main() -> int:
    folder = Path(sys.argv[1])
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    oracle, totals, seen = Oracle(), Totals(), set()
    for path in sorted(folder.rglob("*.tflite"), key=lambda each: each.stat().st_size):
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest in seen or len(data) > MAX_BYTES:
            continue
        seen.add(digest)
        try:
            model = Model.from_bytes(data, path.name)
            if not any(tensor.dtype == "float32" for tensor in model.tensors):
                continue
            print(f"{path.name[-60:]}: {study(model, oracle, budget, totals)}", flush=True)
        except HilError as error:
            print(f"{path.name[-60:]}: refused: {error.message[-100:]}", flush=True)
    oracle.close()
    print(dict(totals.counts))
    for name in ("sign", "1.01"):
        kinds = ("missed", "effective", "drawn")
        missed, effective, drawn = (totals.counts[f"{name} {kind}"] for kind in kinds)
        print(f"{name}: {missed} missed, {_percent(missed, drawn)} of {drawn} changed weights,"
              f" {_percent(missed, effective)} of {effective} that change an output")  # fmt: skip
    if totals.ratios:
        ratios = np.array(totals.ratios)
        print(
            f"bound / largest difference: median {np.median(ratios):.1f}, worst {ratios.max():.1f}"
        )
    wrong = ("official outside", "orders outside", "twice the bound missed")
    return int(any(totals.counts[name] for name in wrong))


if __name__ == "__main__":
    sys.exit(main())
