"""Models of one operator with tensors of other types.

Each graph of :mod:`operator_models` begins as it is written, in float32, and with 16-bit
activations (``STARTS``). From there all tensors of one type are changed together to every type of
``TYPES``, and each tensor alone to every one of ``COMMON``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from model_builder import Graph, Op, T, build_graphs
from operator_models import every_graph

#: Types of tensors that TFLM can hold and the official Python interface can hand over.
TYPES = (
    "float32", "float64", "int4", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64",
    "bool",
)  # fmt: skip
#: Those that any operator computes with.
COMMON = ("float32", "int4", "int8", "int16", "int32", "int64", "bool")
_QUANTIZED = ("int4", "int8", "uint8", "int16")
#: Scale and zero point of outputs that TFLM wants so, by operator and type.
_OUTPUTS: Mapping[tuple[str, str], tuple[float, int]] = {
    ("SOFTMAX", "int16"): (2.0**-15, 0),
    ("LOG_SOFTMAX", "int16"): (16 / 65536, 32767),
}


@dataclass(frozen=True)
class TypedModel:
    """A model and the types of one operator's tensors: inputs, then outputs, "-": left out."""

    name: str
    types: str
    graphs: Sequence[Graph]

    @cached_property
    def data(self) -> bytes:
        """The model's file, built for those that are run."""
        return build_graphs(self.graphs)

    @property
    def key(self) -> str:
        """``ADD int8 int8 -> int8``."""
        return f"{self.name} {self.types}"


def typed_models() -> list[TypedModel]:
    """Each combination of operator and types once."""
    found: dict[tuple[str, str], TypedModel] = {}
    for graphs in every_graph():
        for changed in _variants(graphs):
            for op in changed[0].operators:
                name, types = op.custom or op.name, _types(changed[0], op)
                if (name, types) not in found:
                    found[name, types] = TypedModel(name, types, changed)
    return list(found.values())


def _types(graph: Graph, op: Op) -> str:
    inputs = (graph.tensors[index].dtype if index >= 0 else "-" for index in op.inputs)
    return f"{' '.join(inputs)} -> {' '.join(graph.tensors[index].dtype for index in op.outputs)}"


def _variants(graphs: Sequence[Graph]) -> Iterator[list[Graph]]:
    for start in STARTS:
        begun = _changed(graphs, start)
        yield begun
        tensors = begun[0].tensors
        for old in dict.fromkeys(tensor.dtype for tensor in tensors):
            for new in TYPES:
                yield _changed(begun, lambda t, a=old, b=new: b if t.dtype == a else t.dtype)
        for place in range(len(tensors)):
            for new in COMMON:
                alone = list(tensors)
                alone[place] = retyped(tensors[place], new)
                yield [replace(begun[0], tensors=alone), *begun[1:]]


def _changed(graphs: Sequence[Graph], choose: Callable[[T], str]) -> list[Graph]:
    return [_of_types(graph, choose) for graph in graphs]


def _of_types(graph: Graph, choose: Callable[[T], str]) -> Graph:
    tensors = [retyped(tensor, choose(tensor)) for tensor in graph.tensors]
    for op in graph.operators:
        for index in op.outputs:
            fixed = _OUTPUTS.get((op.name, tensors[index].dtype))
            if fixed:
                scale, zero = fixed
                tensors[index] = replace(tensors[index], scale=scale, zero=zero)
    return replace(graph, tensors=tensors)


def _real(tensor: T) -> str:
    """Everything that is quantized as float32."""
    return tensor.dtype if tensor.scale is None else "float32"


def _wide(tensor: T) -> str:
    """int16 activations and int64 biases, weights as they are."""
    if tensor.scale is None or (tensor.data is not None and tensor.dtype == "int8"):
        return tensor.dtype
    return {"int8": "int16", "int32": "int64"}.get(tensor.dtype, tensor.dtype)


STARTS: tuple[Callable[[T], str], ...] = (lambda tensor: tensor.dtype, _real, _wide)


def retyped(tensor: T, dtype: str) -> T:
    """The tensor in another type: a constant's real values as near as the type holds them."""
    if dtype == tensor.dtype:
        return tensor
    scale = tensor.scale
    if dtype.startswith("float") or dtype == "bool":
        scale = None
    elif scale is None and dtype in _QUANTIZED and tensor.dtype.startswith("float"):
        scale = 0.05
    data = None if tensor.data is None else _data(tensor, dtype, scale)
    zero = tensor.zero if dtype == "int8" else 0
    return replace(tensor, dtype=dtype, scale=scale, zero=zero, data=data)


def _data(tensor: T, dtype: str, scale: float | None) -> np.ndarray:
    values = np.asarray(tensor.data)
    if dtype == "bool":
        return values != 0
    values = values.astype(np.float64)
    if tensor.scale is not None and scale is None:
        values = values * tensor.scale
    if dtype.startswith("float"):
        return values.astype(dtype)
    if tensor.scale is None and scale is not None:
        values = values / scale
    low, high = (-8, 7) if dtype == "int4" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    held = np.clip(np.rint(values), float(low), float(high))
    return held.astype("int8" if dtype == "int4" else dtype)
