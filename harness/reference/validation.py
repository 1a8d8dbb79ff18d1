"""What must hold of a model as a whole before any kernel looks at it."""

from __future__ import annotations

from collections.abc import Collection

from harness.errors import BadModel, UnsupportedOperator
from harness.model import Model, Tensor
from harness.reference.node import NUMPY_TYPES
from harness.reference.quantization import limits

#: Elements of one computed tensor, and bytes of all of one inference. Models for microcontrollers
#: need a hundredth; kernels take up to ten times as much for a moment, which stays below 1 GB.
MAX_ELEMENTS = 1 << 23
MAX_BYTES = 64 << 20


def check_tensors(model: Model) -> int:
    """Bytes that one inference's computed tensors take. Raises for types and sizes out of reach."""
    total = 0
    used = {index for operator in model.operators for index in operator.inputs + operator.outputs}
    used |= set(model.subgraphs[0].inputs) | set(model.subgraphs[0].outputs)
    for tensor in model.tensors:
        if tensor.index not in used:
            continue
        if tensor.dtype not in NUMPY_TYPES:
            raise UnsupportedOperator(
                f"{model.name}: {_named(tensor)} has the type {tensor.dtype}, which the NumPy"
                " reference does not have"
            )
        _check_zero_points(model, tensor)
        if tensor.constant and not tensor.variable:
            continue
        if tensor.dtype == "int4":
            raise UnsupportedOperator(f"{model.name}: {_named(tensor)} is a computed int4 tensor")
        total += tensor.elements * NUMPY_TYPES[tensor.dtype].itemsize
        if tensor.elements > MAX_ELEMENTS or total > MAX_BYTES:
            raise BadModel(
                f"{model.name}: {_named(tensor)} has {tensor.elements} elements, all tensors up to"
                f" it take {total >> 20} MiB",
                hint="no microcontroller runs such a model; is the file damaged?",
            )
    return total


def _named(tensor: Tensor) -> str:
    return f"tensor {tensor.index} ({tensor.name[:64]!r})"


def _check_zero_points(model: Model, tensor: Tensor) -> None:
    """A zero point must be a value of its tensor's type."""
    if tensor.quantization is None or NUMPY_TYPES[tensor.dtype].kind not in "iu":
        return
    low, high = limits(NUMPY_TYPES[tensor.dtype])
    if not all(low <= zero <= high for zero in tensor.quantization.zero_points):
        raise BadModel(
            f"{model.name}: {_named(tensor)} is {tensor.dtype} with the zero point"
            f" {tensor.zero_point}"
        )


def check_order(model: Model, constants: Collection[int]) -> None:
    """Every tensor must have a value before it is read, and inputs must be free to set."""
    for tensor in model.inputs:
        if tensor.index in constants:
            raise BadModel(f"{model.name}: its input, {_named(tensor)}, is a constant")
    known = {tensor.index for tensor in model.inputs} | set(constants)
    known |= {tensor.index for tensor in model.tensors if tensor.variable}
    for operator in model.operators:
        for index in operator.inputs:
            if index >= 0 and index not in known:
                raise BadModel(
                    f"{model.name}: {operator}: reads tensor {index} before anything computed it"
                )
        known |= set(operator.outputs)
    for tensor in model.outputs:
        if tensor.index not in known:
            raise BadModel(f"{model.name}: nothing computes its output {tensor.name!r}")
