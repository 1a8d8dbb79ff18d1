"""Writes small ``.tflite`` models for tests, with the generated ``tflite`` package.

Independent of ``harness.model``, which reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite

TYPES = {
    "float32": tflite.TensorType.FLOAT32,
    "float16": tflite.TensorType.FLOAT16,
    "int32": tflite.TensorType.INT32,
    "uint8": tflite.TensorType.UINT8,
    "int64": tflite.TensorType.INT64,
    "bool": tflite.TensorType.BOOL,
    "int16": tflite.TensorType.INT16,
    "int8": tflite.TensorType.INT8,
    "int4": tflite.TensorType.INT4,
    "uint32": tflite.TensorType.UINT32,
    "uint64": tflite.TensorType.UINT64,
    "float64": tflite.TensorType.FLOAT64,
    "resource": tflite.TensorType.RESOURCE,
    "string": tflite.TensorType.STRING,
    "variant": tflite.TensorType.VARIANT,
    "int2": 19,  # types that the generated package of 2024 lacks
    "uint4": 20,
}
ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4}
PADDINGS = {"SAME": 0, "VALID": 1}


@dataclass
class T:
    """A tensor. ``scale`` and ``zero`` may be lists (per channel along ``axis``), None: absent."""

    shape: Sequence[int]
    dtype: str = "int8"
    scale: Any = None
    zero: Any = 0
    data: Any = None
    axis: int = 0
    variable: bool = False
    name: str = ""
    signature: Sequence[int] | None = None


def constant(values: object, dtype: str = "int32") -> T:
    """A tensor with a content and no quantization."""
    array = np.asarray(values, dtype)
    return T(array.shape, dtype, data=array)


@dataclass
class Op:
    """An operator; ``options`` are (table, {field as generated: value})."""

    name: str
    inputs: Sequence[int]
    outputs: Sequence[int]
    options: tuple[str, Mapping[str, Any]] | None = None
    custom: str = ""
    custom_options: bytes = b""
    version: int = 1
    intermediates: Sequence[int] = field(default_factory=tuple)


@dataclass
class Graph:
    """A subgraph, for models of several."""

    tensors: Sequence[T]
    operators: Sequence[Op]
    inputs: Sequence[int]
    outputs: Sequence[int]


def packed(values: np.ndarray, dtype: str) -> bytes:
    """A constant's bytes; int4 has two values per byte, the low nibble first."""
    if dtype != "int4":
        return np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()
    flat = np.asarray(values).ravel().astype(np.uint8) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    return (flat[::2] | flat[1::2] << 4).astype(np.uint8).tobytes()


def build(
    tensors: Sequence[T],
    operators: Sequence[Op],
    inputs: Sequence[int],
    outputs: Sequence[int],
    description: str = "",
) -> bytes:
    """The bytes of a model of one subgraph."""
    return build_graphs([Graph(tensors, operators, inputs, outputs)], description)


def build_graphs(graphs: Sequence[Graph], description: str = "") -> bytes:
    """The bytes of a model; the first subgraph is the main one."""
    b = flatbuffers.Builder(4096)
    every = [op for graph in graphs for op in graph.operators]
    codes = list(dict.fromkeys((op.name, op.custom, op.version) for op in every))
    code_offsets = [_code(b, *code) for code in codes]
    constants = [t for graph in graphs for t in graph.tensors if t.data is not None]
    buffers = [b"", *(packed(t.data, t.dtype) for t in constants)]
    buffer_offsets = [_buffer(b, data) for data in buffers]
    numbers = iter(range(1, len(buffers)))
    subgraphs = []
    for graph in graphs:
        tensor_offsets = [
            _tensor(b, index, t, next(numbers) if t.data is not None else 0)
            for index, t in enumerate(graph.tensors)
        ]
        operator_offsets = [
            _operator(b, op, codes.index((op.name, op.custom, op.version)))
            for op in graph.operators
        ]
        subgraphs.append(
            _subgraph(b, tensor_offsets, operator_offsets, graph.inputs, graph.outputs)
        )
    text = b.CreateString(description)
    code_vector = _offsets(b, code_offsets)
    graph_vector = _offsets(b, subgraphs)
    buffer_vector = _offsets(b, buffer_offsets)
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddOperatorCodes(b, code_vector)
    tflite.ModelAddSubgraphs(b, graph_vector)
    tflite.ModelAddDescription(b, text)
    tflite.ModelAddBuffers(b, buffer_vector)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


def _offsets(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def _vector(b: flatbuffers.Builder, values: Sequence[Any], dtype: str) -> int:
    return b.CreateNumpyVector(np.asarray(values, dtype))


def _code(b: flatbuffers.Builder, name: str, custom: str, version: int) -> int:
    number = tflite.BuiltinOperator.CUSTOM if custom else getattr(tflite.BuiltinOperator, name)
    text = b.CreateString(custom) if custom else 0
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
    tflite.OperatorCodeAddBuiltinCode(b, number)
    tflite.OperatorCodeAddVersion(b, version)
    if custom:
        tflite.OperatorCodeAddCustomCode(b, text)
    return tflite.OperatorCodeEnd(b)


def _buffer(b: flatbuffers.Builder, data: bytes) -> int:
    vector = 0
    if data:
        b.StartVector(1, len(data), 16)
        b.head -= len(data)
        b.Bytes[b.head : b.head + len(data)] = data
        vector = b.EndVector()
    tflite.BufferStart(b)
    if data:
        tflite.BufferAddData(b, vector)
    return tflite.BufferEnd(b)


def _tensor(b: flatbuffers.Builder, index: int, t: T, buffer: int) -> int:
    quantization = 0
    if t.scale is not None:
        scales = np.atleast_1d(np.asarray(t.scale, np.float32))
        zeros = (
            [] if t.zero is None else np.broadcast_to(np.asarray(t.zero, np.int64), scales.shape)
        )
        scale_vector, zero_vector = _vector(b, scales, "f4"), _vector(b, zeros, "i8")
        tflite.QuantizationParametersStart(b)
        tflite.QuantizationParametersAddScale(b, scale_vector)
        tflite.QuantizationParametersAddZeroPoint(b, zero_vector)
        tflite.QuantizationParametersAddQuantizedDimension(b, t.axis)
        quantization = tflite.QuantizationParametersEnd(b)
    name = b.CreateString(t.name or f"t{index}")
    shape = _vector(b, list(t.shape), "i4")
    signature = _vector(b, list(t.signature), "i4") if t.signature else 0
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, shape)
    tflite.TensorAddType(b, TYPES[t.dtype])
    tflite.TensorAddBuffer(b, buffer)
    tflite.TensorAddName(b, name)
    if quantization:
        tflite.TensorAddQuantization(b, quantization)
    tflite.TensorAddIsVariable(b, t.variable)
    if signature:
        tflite.TensorAddShapeSignature(b, signature)
    return tflite.TensorEnd(b)


def _operator(b: flatbuffers.Builder, op: Op, code: int) -> int:
    options = kind = 0
    if op.options is not None:
        table, fields = op.options
        vectors = {
            name: _vector(b, value, "i4")
            for name, value in fields.items()
            if isinstance(value, list)
        }
        vectors |= {
            name: b.CreateString(value) for name, value in fields.items() if isinstance(value, str)
        }
        getattr(tflite, f"{table}OptionsStart")(b)
        for name, value in fields.items():
            getattr(tflite, f"{table}OptionsAdd{name}")(b, vectors.get(name, value))
        options = getattr(tflite, f"{table}OptionsEnd")(b)
        kind = getattr(tflite.BuiltinOptions, f"{table}Options")
    inputs, outputs = _vector(b, list(op.inputs), "i4"), _vector(b, list(op.outputs), "i4")
    custom = b.CreateByteVector(op.custom_options) if op.custom_options else 0
    intermediates = _vector(b, list(op.intermediates), "i4") if op.intermediates else 0
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, code)
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    if kind:
        tflite.OperatorAddBuiltinOptionsType(b, kind)
        tflite.OperatorAddBuiltinOptions(b, options)
    if custom:
        tflite.OperatorAddCustomOptions(b, custom)
    if intermediates:
        tflite.OperatorAddIntermediates(b, intermediates)
    return tflite.OperatorEnd(b)


def _subgraph(
    b: flatbuffers.Builder,
    tensors: Sequence[int],
    operators: Sequence[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> int:
    tensor_vector, operator_vector = _offsets(b, tensors), _offsets(b, operators)
    input_vector, output_vector = _vector(b, list(inputs), "i4"), _vector(b, list(outputs), "i4")
    name = b.CreateString("main")
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, tensor_vector)
    tflite.SubGraphAddInputs(b, input_vector)
    tflite.SubGraphAddOutputs(b, output_vector)
    tflite.SubGraphAddOperators(b, operator_vector)
    tflite.SubGraphAddName(b, name)
    return tflite.SubGraphEnd(b)
