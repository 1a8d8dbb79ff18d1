"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: resource variables.

Source: tflite-micro, ``var_handle.cc``, ``read_variable.cc``, ``assign_variable.cc``. A handle is
the number of a resource (int32) of :class:`~harness.reference.memory.ModelMemory`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.memory import BadResource
from harness.reference.node import NUMPY_TYPES, Node, Run

T = TypeVar("T")


def var_handle(node: Node) -> Run:
    """The number of the resource variable with the operator's container and name."""
    output = node.output()
    if output.dtype not in ("resource", "int32") or output.elements != 1:
        raise node.bad(f"its handle is {output.dtype} {list(output.shape)}")
    number = node.memory.handle(node.option("container"), node.option("shared_name"))
    node.memory.bind(node.graph, output.index, number)
    return lambda: np.full((1, *output.shape), number, np.int32)


def _handle(node: Node) -> Tensor:
    tensor = node.input(0)
    if tensor.dtype not in ("resource", "int32") or tensor.elements != 1:
        raise node.bad(f"its handle is {tensor.dtype} {list(tensor.shape)}")
    return tensor


def _from_memory(node: Node, action: Callable[..., T], *arguments: Any) -> T:
    try:
        return action(*arguments)
    except BadResource as error:
        raise node.bad(str(error)) from None


def read_variable(node: Node) -> Run:
    """A copy of the variable's bytes, in the type of the output."""
    _handle(node)
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        raise node.bad("it needs one input and one output")
    output = node.output()
    dtype = NUMPY_TYPES[output.dtype]

    def run(handle: Array) -> Array:
        size = output.elements * dtype.itemsize
        data = _from_memory(node, node.memory.read, int(handle.item()), size)
        return data.view(dtype).reshape(1, *output.shape)

    return run


def assign_variable(node: Node) -> Run:
    """Sets the variable to input 1, any type."""
    handle = _handle(node)
    if len(node.inputs) != 2 or node.outputs:
        raise node.bad("it needs two inputs and no output")
    value = node.input(1)
    constant = node.constant(0)
    number = node.memory.bound(node.graph, handle.index) if constant is None else constant.item()
    if number is not None:  # a handle from another subgraph is known at run time only
        width = NUMPY_TYPES[value.dtype].itemsize
        _from_memory(node, node.memory.allocate, int(number), value, width)

    def run(handle: Array, data: Array) -> list[Array]:
        _from_memory(node, node.memory.assign, int(handle.item()), data)
        return []

    return run
