"""VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: memory between inferences.

Source: tflite-micro, ``var_handle.cc``, ``read_variable.cc``, ``assign_variable.cc``. A handle is
the resource's number in an int32; the resources themselves are in
:class:`~harness.reference.memory.Memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from harness.model import Tensor
from harness.reference.bind import Call, Prepared, Workspace, copied
from harness.reference.fixedpoint import Array
from harness.reference.memory import BadResource
from harness.reference.node import NUMPY_TYPES, Node, Run

T = TypeVar("T")


def var_handle(node: Node) -> Run:
    """The number of the resource variable of this container and name."""
    output = node.output()
    if output.dtype not in ("resource", "int32") or output.elements != 1:
        raise node.bad(f"its handle is {output.dtype} {list(output.shape)}")
    number = node.memory.handle(node.option("container"), node.option("shared_name"))
    node.memory.bind(node.graph, output.index, number)
    handle = np.full((1, *output.shape), number, np.int32)

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> list[Call]:
        outputs[0][...] = number
        outputs[0].setflags(write=False)
        return []

    return Prepared(lambda values: [handle], bind)


def _handle(node: Node) -> Tensor:
    tensor = node.input(0)
    if tensor.dtype not in ("resource", "int32") or tensor.elements != 1:
        raise node.bad(f"its handle is {tensor.dtype} {list(tensor.shape)}")
    return tensor


def _of_memory(node: Node, action: Callable[..., T], *arguments: Any) -> T:
    try:
        return action(*arguments)
    except BadResource as error:
        raise node.bad(str(error)) from None


def read_variable(node: Node) -> Run:
    """A copy of the variable, any type; its bytes are the output tensor's."""
    _handle(node)
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        raise node.bad("it needs one input and one output")
    output = node.output()
    dtype = NUMPY_TYPES[output.dtype]

    def run(values: Sequence[Any]) -> list[Array]:
        size = output.elements * dtype.itemsize
        data = _of_memory(node, node.memory.read, int(values[0].item()), size)
        return [data.view(dtype).reshape(1, *output.shape)]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> list[Call] | None:
        buffer = _fixed_buffer(node, inputs[0], outputs[0])
        return None if buffer is None else [copied(outputs[0].reshape(-1).view(np.uint8), buffer)]

    return Prepared(run, bind)


def _fixed_buffer(node: Node, handle: Array, value: Array) -> Array | None:
    """The resource's buffer, if handle and size are already known and right."""
    if handle.flags.writeable:
        return None
    buffer = node.memory.buffer(int(handle.item()))
    return buffer if buffer is not None and buffer.size == value.nbytes else None


def assign_variable(node: Node) -> Run:
    """Sets the variable to input 1, any type."""
    handle = _handle(node)
    if len(node.inputs) != 2 or node.outputs:
        raise node.bad("it needs two inputs and no output")
    value = node.input(1)
    constant = node.constant(0)
    number = node.memory.bound(node.graph, handle.index) if constant is None else constant.item()
    if number is not None:  # a handle from another subgraph is known when it arrives
        width = NUMPY_TYPES[value.dtype].itemsize
        _of_memory(node, node.memory.allocate, int(number), value, width)

    def run(values: Sequence[Any]) -> list[Array]:
        _of_memory(node, node.memory.assign, int(values[0].item()), values[1])
        return []

    def bind(inputs: Sequence[Any], _: Sequence[Array], __: Workspace) -> list[Call] | None:
        buffer = _fixed_buffer(node, inputs[0], inputs[1])
        return None if buffer is None else [copied(buffer, inputs[1].reshape(-1).view(np.uint8))]

    return Prepared(run, bind)
