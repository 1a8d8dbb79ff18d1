"""Each operator on each type: what the official interpreter runs or refuses, the reference does.

The models are those of :mod:`typed_models`, enumerated, not chosen. A model whose tensors have
types that contradict each other may run in TFLM, which then reads the bytes of one type as
another's: nothing defines the result, and the reference refuses it as a bad model. ``UNDEFINED``
lists the reasons that it may give for that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from oracle import Oracle, request
from type_table import signatures
from typed_models import TypedModel, typed_models

from harness.base.errors import BadModel, HilError
from harness.model import Model, Tensor
from harness.reference import Interpreter, Kernels, compare
from harness.reference.float_error import allowed_errors
from harness.reference.node import NUMPY_TYPES

#: The operators of the registry.
KERNELS = {*Kernels.default().builtin, *Kernels.default().custom}
#: One of this size is new memory, and zeros: some operators leave outputs as they were.
_ARENA = 64 << 20
_REFUSES = "TFLM refuses such a model too"
_TYPE = r"(float32|float64|u?int\d+|bool)"
#: Reasons for refusing what TFLM runs, and the undefined thing that TFLM does.
UNDEFINED: Mapping[str, str] = {
    rf"its input is {_TYPE}, its output {_TYPE}$": "writes elements of another size or form",
    rf"its inputs are {_TYPE} and {_TYPE}$": "reads one of them as the other's type",
    rf"its tensors are {_TYPE} and {_TYPE}$": "copies bytes from one type to another",
    rf"its tensors are ({_TYPE}, )+not bool$": "reads numbers as truth values",
    rf"its tensors are .* -> .*, not .*{_TYPE}$": "reads and writes other types as float32",
    rf"its types are ({_TYPE}(, | and )?)+$": "reads one as another's type",
    rf"its bias is {_TYPE}, beside {_TYPE} activations$": "reads its bytes as another type",
    rf"its slopes are {_TYPE} for {_TYPE}$": "reads them as the activations' type",
    rf"its input \d+ has the type {_TYPE}$": "reads places and sizes as int32",
    rf"its input \d+ is {_TYPE} \[[\d, ]*\]": "LSTM reads a weight or a bias as another type",
    rf"its state \d+ is {_TYPE} \[[\d, ]*\]": "LSTM reads a state as another type",
    rf"(its axis|its begin|its paddings|its permutation|the sizes of its parts) has the type"
    rf" {_TYPE}$": "reads it as int32",
    rf"its begin is {_TYPE}, its size {_TYPE}$": "reads the sizes as the starts' type",
    rf"it passes {_TYPE} \[.*\] as {_TYPE} \[.*\]$": "copies bytes into a subgraph's tensor",
    r"TFLM reads its \w+ (weights|state) as \w+": "as it says",
    r"TFLM compares int16 values with scales that it does not initialize$": "as it says",
    r"the resource variable .* has \d+ bytes, not \d+$": "copies past the end of one of both",
    r"is a computed int4 tensor$": "writes whole bytes over the packed tensor",
    r"(its codes lead beyond|bits are encoded|into a table of|values are left)": "TFLM_DECODE"
    " reads beyond its tables",
}
#: Operators that are not compared, or not in their values.
UNCHECKED: Mapping[str, str] = {"Atan": "the samples' own, no official interpreter has it"}
UNCHECKED_VALUES: Mapping[str, str] = {
    "TFLite_Detection_PostProcess": "leaves outputs behind its detections unwritten;"
    " test_detection_postprocess_equals compares the rest",
}


@cache
def _by_operator() -> Mapping[str, Sequence[TypedModel]]:
    found = defaultdict(list)
    for model in typed_models():
        found[model.name].append(model)
    return found


def _inputs(model: Model) -> list[np.ndarray]:
    return [_values(tensor) for tensor in model.inputs]


def _values(tensor: Tensor) -> np.ndarray:
    """Values that no operator refuses as a divisor, an index or under a root."""
    rng, dtype = np.random.default_rng(7), NUMPY_TYPES[tensor.dtype]
    if dtype.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(bool)
    if dtype.kind == "f":
        return rng.uniform(0.1, 3, tensor.shape).astype(dtype)
    return rng.integers(1, 100 if tensor.quantization else 4, tensor.shape).astype(dtype)


def _difference(
    name: str,
    model: Model,
    inputs: Sequence[np.ndarray],
    answer: Mapping[str, Any],
    oracle: Oracle,
) -> str:
    """In which way the reference and the official interpreter disagree; "" if they do not."""
    try:
        interpreter = Interpreter(model)
        obtained = interpreter.invoke(inputs)
    except HilError as error:
        return "" if "error" in answer else _unfounded(error)
    if "error" in answer:
        return f"runs, TFLM refuses it: {answer['error']}"
    allowed = allowed_errors(interpreter)
    for tensor, own, official in zip(
        interpreter.outputs, obtained, answer["outputs"][0], strict=True
    ):
        bound = allowed.get(tensor.index) if own.dtype.kind == "f" else None
        comparison = name in UNCHECKED_VALUES or compare(
            official.reshape(own.shape), own, tolerance=bound
        )
        if not comparison:
            return str(comparison)
    oracle.agreed.update(signatures(model))
    return ""


def _unfounded(error: HilError) -> str:
    """Why the refusal of a model that TFLM runs is wrong; "" if it is one of UNDEFINED."""
    if not isinstance(error, BadModel) and "computed int4" not in error.message:
        return f"TFLM runs it, the reference has no kernel: {error.message}"
    if error.hint == _REFUSES:
        return f"TFLM runs it, the reference says that it does not: {error.message}"
    if not any(re.search(pattern, error.message) for pattern in UNDEFINED):
        return f"TFLM runs it, and nothing says why its result is undefined: {error.message}"
    return ""


@pytest.mark.parametrize("operator", sorted(KERNELS - {*UNCHECKED}))
def test_types_run_or_are_refused_as_by_tflm(operator: str, micro: Oracle) -> None:
    typed = _by_operator()[operator]
    models = [Model.from_bytes(each.data) for each in typed]
    inputs = [_inputs(model) for model in models]
    asked = [
        request(each.data, [fed], len(model.outputs), arena=_ARENA, seconds=0.05)
        for each, model, fed in zip(typed, models, inputs, strict=True)
    ]
    found = {
        each.key: _difference(operator, model, fed, answer, micro)
        for each, model, fed, answer in zip(typed, models, inputs, micro.ask(asked), strict=True)
    }
    assert {key: difference for key, difference in found.items() if difference} == {}


def test_every_operator_of_the_registry_has_models() -> None:
    assert {*_by_operator()} == KERNELS
