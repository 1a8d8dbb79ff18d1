"""Checks of a whole model before its operators are prepared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import accumulate

from harness.base.errors import BadModel, UnsupportedOperator
from harness.model import Model, Subgraph, Tensor
from harness.reference.node import NUMPY_TYPES
from harness.reference.quantization import limits

#: Limits: elements of one computed tensor, bytes of the tensors that are alive at once (in TFLM's
#: arena tensors overlap), bytes of all tensors (the reference keeps all, for comparisons). Models
#: for TFLM need a hundredth of it; kernels temporarily need up to ten times as much.
MAX_ELEMENTS = 1 << 23
MAX_LIVE_BYTES = 64 << 20
MAX_BYTES = 512 << 20


#: Most nested calls of subgraphs. Converters write two or three.
MAX_DEPTH = 32


def check_calls(model: Model) -> None:
    """Raises BadModel for subgraphs that call each other recursively."""
    open_calls = [(0, 1)]
    seen: dict[int, int] = {}
    while open_calls:
        number, depth = open_calls.pop()
        if not 0 <= number < len(model.subgraphs) or seen.get(number, 0) >= depth:
            continue
        if depth > min(MAX_DEPTH, len(model.subgraphs)):
            raise BadModel(f"{model.name}: its subgraphs call each other recursively")
        seen[number] = depth
        for operator in model.subgraphs[number].operators:
            called = [value for name, value in operator.options.items() if name in _CALLS]
            open_calls += [(each, depth + 1) for each in called]


#: The options of IF, WHILE and CALL_ONCE with the index of a subgraph.
_CALLS = frozenset(f"{part}_subgraph_index" for part in ("then", "else", "cond", "body", "init"))


def check_tensors(name: str, graph: Subgraph) -> int:
    """The bytes of one run's computed tensors; ``name`` is the prefix of messages.

    Raises BadModel for sizes beyond MAX_ELEMENTS and MAX_LIVE_BYTES, UnsupportedOperator for types
    that the reference lacks and for sizes beyond MAX_BYTES.
    """
    sizes: dict[int, int] = {}
    used = {index for operator in graph.operators for index in operator.inputs + operator.outputs}
    used |= set(graph.inputs) | set(graph.outputs)
    for tensor in graph.tensors:
        if tensor.index not in used:
            continue
        if tensor.dtype not in NUMPY_TYPES:
            raise UnsupportedOperator(
                f"{name}: {_named(tensor)} has the type {tensor.dtype}, which the NumPy"
                " reference does not have"
            )
        _check_zero_points(name, tensor)
        if tensor.constant and not tensor.variable:
            continue
        if tensor.dtype == "int4":
            raise UnsupportedOperator(f"{name}: {_named(tensor)} is a computed int4 tensor")
        if tensor.elements > MAX_ELEMENTS:
            raise BadModel(
                f"{name}: {_named(tensor)} has {tensor.elements} elements",
                hint=f"the reference takes at most {MAX_ELEMENTS}; is the file damaged?",
            )
        sizes[tensor.index] = tensor.elements * NUMPY_TYPES[tensor.dtype].itemsize
    live, total = _most_alive(graph, sizes), sum(sizes.values())
    if live > MAX_LIVE_BYTES:
        raise BadModel(
            f"{name}: its tensors take {live >> 20} MiB at once",
            hint=f"the reference takes at most {MAX_LIVE_BYTES >> 20} MiB; is the file damaged?",
        )
    if total > MAX_BYTES:
        raise UnsupportedOperator(
            f"{name}: all its tensors take {total >> 20} MiB, and the reference keeps at most"
            f" {MAX_BYTES >> 20} MiB",
            hint="TFLM, whose tensors overlap, may run it: compare a part of the model",
        )
    return total


def _most_alive(graph: Subgraph, sizes: Mapping[int, int]) -> int:
    """The most bytes that are alive while an operator runs; ``sizes`` are by tensor index.

    A tensor is alive from the operator that computes it to the last one that reads it; inputs from
    the beginning, outputs to the end, variables always.
    """
    last = len(graph.operators)
    begins = dict.fromkeys(sizes, 0)
    ends = dict.fromkeys(sizes, 0)
    for place, operator in enumerate(graph.operators):
        for index in operator.outputs:
            if index in sizes and index not in graph.inputs:
                begins[index] = place
        for index in (*operator.inputs, *operator.outputs):
            if index in sizes:
                ends[index] = place
    for index in graph.outputs:
        ends[index] = last
    changes = [0] * (last + 2)
    for index, size in sizes.items():
        variable = graph.tensors[index].variable
        changes[0 if variable else begins[index]] += size
        changes[last + 1 if variable else ends[index] + 1] -= size
    return max(accumulate(changes))


def _named(tensor: Tensor) -> str:
    return f"tensor {tensor.index} ({tensor.name[:64]!r})"


def _check_zero_points(name: str, tensor: Tensor) -> None:
    """Raises BadModel for a zero point outside the range of its tensor's type."""
    if tensor.quantization is None or NUMPY_TYPES[tensor.dtype].kind not in "iu":
        return
    low, high = limits(NUMPY_TYPES[tensor.dtype])
    if not all(low <= zero <= high for zero in tensor.quantization.zero_points):
        raise BadModel(
            f"{name}: {_named(tensor)} is {tensor.dtype} with the zero point {tensor.zero_point}"
        )


def check_order(name: str, graph: Subgraph, constants: Collection[int]) -> None:
    """Raises BadModel for tensors that are read before they are computed, and constant inputs."""
    for index in graph.inputs:
        if index in constants:
            raise BadModel(f"{name}: its input, {_named(graph.tensors[index])}, is a constant")
    known = {*graph.inputs, *constants}
    known |= {tensor.index for tensor in graph.tensors if tensor.variable}
    for operator in graph.operators:
        for index in operator.inputs:
            if index >= 0 and index not in known:
                raise BadModel(
                    f"{name}: {operator}: reads tensor {index} before an operator computes it"
                )
        known |= set(operator.outputs)
    for index in graph.outputs:
        if index not in known:
            raise BadModel(
                f"{name}: no operator computes its output {graph.tensors[index].name[:64]!r}"
            )
