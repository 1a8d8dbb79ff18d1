"""What two models of the same graph differ in: the parts whose values are not the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.base.text import count_of
from harness.model.model import Model
from harness.model.types import Operator, Quantization, Subgraph, Tensor, shown

#: Parts that a text names; the others are counted.
_SHOWN = 3
#: What an operator's constant input is called, by its position.
_WEIGHTS: Mapping[int, str] = {1: "the weights", 2: "the bias"}
_HAVE_WEIGHTS = frozenset(
    ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "CONV_3D")
)


@dataclass(frozen=True)
class Part:
    """A part with other values. ``bytes`` is the number of different bytes of a constant; 0 for a
    quantization, of which ``text`` says what it is instead."""

    text: str  # "the weights of operator 3 (CONV_2D)"
    bytes: int = 0


def same_graph(model: Model, other: Model) -> bool:
    """Whether both have the same operators with the same options between tensors of the same
    types and shapes. Names, and the order of tensors and buffers in the file, do not count."""
    return _graphs(model) == _graphs(other)


def different_parts(model: Model, other: Model) -> tuple[Part, ...]:
    """The parts of ``model`` with other values in ``other``, which has the same graph."""
    pairs = zip(_tensors(model), _tensors(other), strict=True)
    return tuple(part for (role, one), (_, two) in pairs for part in _parts(role, one, two))


def described(parts: Sequence[Part]) -> str:
    """``1 byte, in the weights of operator 3 (CONV_2D)``."""
    changed = sum(part.bytes for part in parts)
    places = [part.text for part in parts[:_SHOWN]]
    if len(parts) > _SHOWN:
        places.append(f"{len(parts) - _SHOWN} more parts")
    where = " and ".join(filter(None, (", ".join(places[:-1]), places[-1])))
    return f"{count_of(changed, 'byte')}, in {where}" if changed else where


def _graphs(model: Model) -> list[object]:
    return [_graph(graph) for graph in model.subgraphs]


def _graph(graph: Subgraph) -> object:
    """The graph with its tensors numbered in the order of their first use."""
    order = {index: number for number, (index, _) in enumerate(_uses(graph))}

    def numbers(indices: Sequence[int]) -> list[int]:
        return [order.get(index, -1) for index in indices]

    operators = [
        (
            operator.name, operator.custom, operator.version, dict(operator.options),
            operator.custom_options, numbers(operator.inputs), numbers(operator.outputs),
        )
        for operator in graph.operators
    ]  # fmt: skip
    used = [graph.tensors[index] for index in order]
    types = [(tensor.shape, tensor.dtype, tensor.variable, tensor.constant) for tensor in used]
    return operators, types, numbers(graph.inputs), numbers(graph.outputs)


def _tensors(model: Model) -> list[tuple[str, Tensor]]:
    """The tensors that are used, in the order of their first use, each with its role there."""
    graphs = model.subgraphs
    return [(role, graph.tensors[index]) for graph in graphs for index, role in _uses(graph)]


def _uses(graph: Subgraph) -> list[tuple[int, str]]:
    """Index and role of each tensor that is used, in the order of first use."""
    roles: dict[int, str] = {}
    for index in graph.inputs:
        roles.setdefault(index, "the model's input")
    for operator in graph.operators:
        for position, index in enumerate(operator.inputs):
            roles.setdefault(index, f"{_role(operator, position)} of {_called(operator)}")
        for index in operator.outputs:
            roles.setdefault(index, f"the output of {_called(operator)}")
    roles.pop(-1, None)  # an optional input that is left out
    return list(roles.items())


def _role(operator: Operator, position: int) -> str:
    named = _WEIGHTS.get(position) if operator.name in _HAVE_WEIGHTS else None
    return named or f"input {position}"


def _called(operator: Operator) -> str:
    return f"operator {operator.index} ({shown(operator.name)})"


def _parts(role: str, tensor: Tensor, other: Tensor) -> Iterator[Part]:
    if tensor.data is not None and other.data is not None and tensor.data != other.data:
        pairs = zip(tensor.data, other.data, strict=True)
        yield Part(role, sum(one != two for one, two in pairs))
    if change := _change(tensor.quantization, other.quantization):
        yield Part(f"{change} of {role}")


def _change(quantization: Quantization | None, other: Quantization | None) -> str:
    """What differs in ``other``; "" if nothing does."""
    if quantization == other:
        return ""
    if quantization is None or other is None:
        return f"the quantization ({'none' if other is None else 'one'})"
    values: list[tuple[str, Sequence[Any], Sequence[Any]]] = [
        ("scale", quantization.scales, other.scales),
        ("zero point", quantization.zero_points, other.zero_points),
    ]
    for name, ours, theirs in values:
        if ours != theirs:
            one, two = next(pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1])
            return f"the {name} ({two:.6g}, not {one:.6g})"
    return "the quantized axis"
