"""Decoding of a ``.tflite`` file into the values of :mod:`harness.model.types`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.base.errors import BadModel
from harness.model import schema
from harness.model.flatbuffer import Buffer, FlatTable, Malformed
from harness.model.types import Operator, Quantization, Subgraph, Tensor, shown

#: Most axes of a tensor; TFLM refuses more.
MAX_RANK = 8
#: Most elements of a tensor, a bound for the sizes in a broken file.
MAX_ELEMENTS = 1 << 31
_HINT = "is it a complete, unmodified .tflite file?"


@dataclass(frozen=True)
class Content:
    """The decoded content of a file."""

    version: int
    description: str
    subgraphs: tuple[Subgraph, ...]


class _Sparse(Malformed):
    """A sparse tensor: TFLM ignores the sparsity, and reads beyond the buffer."""


@dataclass(frozen=True)
class _OperatorCode:
    name: str
    custom: bool
    version: int


def read(data: bytes, name: str) -> Content:
    """The content of the model ``data``; ``name`` is the prefix of messages.

    Raises :class:`BadModel` with a message of one line.
    """
    if not data:
        raise BadModel(f"{name}: the file is empty", hint=_HINT)
    if data[4:8] != schema.IDENTIFIER:
        raise BadModel(
            f"{name}: not a .tflite model (its identifier is {bytes(data[4:8])!r}, not b'TFL3')",
            hint="it is an ELF image, not a model" if data[:4] == b"\x7fELF" else _HINT,
        )
    try:
        return _content(Buffer(data).root())
    except _Sparse as error:
        raise BadModel(f"{name}: {error}", hint="convert without EXPERIMENTAL_SPARSITY") from None
    except Malformed as error:
        raise BadModel(f"{name}: broken model: {error}", hint=_HINT) from None


def _content(root: FlatTable) -> Content:
    version = int(root.scalar(schema.VERSION, "uint32"))
    if version != schema.SCHEMA_VERSION:
        raise Malformed(f"schema version {version}, only {schema.SCHEMA_VERSION} is known")
    codes = tuple(_code(table) for table in root.tables(schema.OPERATOR_CODES))
    buffers = tuple(_buffer(table) for table in root.tables(schema.BUFFERS))
    subgraphs = tuple(_subgraph(table, codes, buffers) for table in root.tables(schema.SUBGRAPHS))
    if not subgraphs:
        raise Malformed("it has no subgraph")
    return Content(version, root.text(schema.DESCRIPTION), subgraphs)


def _code(table: FlatTable) -> _OperatorCode:
    # Old files have the code in the deprecated byte only, new files in both fields if it fits.
    old = int(table.scalar(schema.DEPRECATED_BUILTIN_CODE, "int8"))
    number = max(old, int(table.scalar(schema.BUILTIN_CODE, "int32")))
    version = int(table.scalar(schema.OPERATOR_VERSION, "int32", 1))
    if not 0 <= number < len(schema.OPERATOR_NAMES):
        return _OperatorCode(f"BUILTIN_{number}", False, version)
    name = schema.OPERATOR_NAMES[number]
    if name == "CUSTOM":
        # TFLM reads the name as a C string.
        return _OperatorCode(table.text(schema.CUSTOM_CODE).partition("\0")[0], True, version)
    return _OperatorCode(name, False, version)


def _buffer(table: FlatTable) -> memoryview | None:
    data = table.raw(schema.DATA)
    if data is not None and len(data):
        return data
    # Models above 2 GB have their data after the FlatBuffer; offset 1 is the writer's placeholder.
    offset = int(table.scalar(schema.DATA_OFFSET, "uint64"))
    size = int(table.scalar(schema.DATA_SIZE, "uint64"))
    if offset <= 1 or size == 0:
        return None
    if offset + size > len(table.buffer.data):
        raise Malformed(f"a buffer at {offset} of {size} bytes is outside the file")
    return table.buffer.data[offset : offset + size]


def _subgraph(
    table: FlatTable, codes: tuple[_OperatorCode, ...], buffers: tuple[memoryview | None, ...]
) -> Subgraph:
    tensors = tuple(
        _tensor(index, row, buffers) for index, row in enumerate(table.tables(schema.TENSORS))
    )
    operators = tuple(
        _operator(index, row, codes, len(tensors))
        for index, row in enumerate(table.tables(schema.OPERATORS))
    )
    inputs = table.vector(schema.SUBGRAPH_INPUTS, "int32") or ()
    outputs = table.vector(schema.SUBGRAPH_OUTPUTS, "int32") or ()
    for role, indices in (("input", inputs), ("output", outputs)):
        _check_indices(f"a subgraph's {role}", indices, len(tensors), optional=False)
    return Subgraph(table.text(schema.SUBGRAPH_NAME), tensors, operators, inputs, outputs)


def _check_indices(subject: str, indices: tuple[int, ...], count: int, *, optional: bool) -> None:
    lowest = -1 if optional else 0
    for index in indices:
        if not lowest <= index < count:
            raise Malformed(f"{subject} is tensor {index}, but there are {count} tensors")


def _operator(
    index: int, table: FlatTable, codes: tuple[_OperatorCode, ...], tensors: int
) -> Operator:
    number = int(table.scalar(schema.OPCODE_INDEX, "uint32"))
    if number >= len(codes):
        raise Malformed(f"operator {index} has operator code {number} of {len(codes)}")
    code = codes[number]
    inputs = table.vector(schema.INPUTS, "int32") or ()
    outputs = table.vector(schema.OUTPUTS, "int32") or ()
    intermediates = table.vector(schema.INTERMEDIATES, "int32") or ()
    where = f"of operator {index} ({shown(code.name)})"
    _check_indices(f"an input {where}", inputs, tensors, optional=True)
    _check_indices(f"an output {where}", outputs, tensors, optional=False)
    _check_indices(f"an intermediate {where}", intermediates, tensors, optional=True)
    name = schema.OPTION_TABLES.get(int(table.scalar(schema.OPTIONS_TYPE, "uint8")), "")
    custom = table.raw(schema.CUSTOM_OPTIONS)
    if custom is not None:
        table.buffer.spend(len(custom))
    return Operator(
        index=index,
        name=code.name,
        custom=code.custom,
        version=code.version,
        inputs=inputs,
        outputs=outputs,
        intermediates=intermediates,
        options=schema.options(name, table.table(schema.OPTIONS)),
        custom_options=bytes(custom or b""),
    )


def _tensor(index: int, table: FlatTable, buffers: tuple[memoryview | None, ...]) -> Tensor:
    shape = table.vector(schema.SHAPE, "int32") or ()
    signature = table.vector(schema.SHAPE_SIGNATURE, "int32") or ()
    name = table.text(schema.NAME)
    subject = f"tensor {index} ({name[:64]!r})"
    if len(shape) > MAX_RANK or any(size < 0 for size in shape):
        raise Malformed(f"{subject} has the shape {list(shape[:16])}")
    if math.prod(shape) > MAX_ELEMENTS:
        raise Malformed(f"{subject} has {math.prod(shape)} elements")
    number = int(table.scalar(schema.TYPE, "int8"))
    if not 0 <= number < len(schema.TENSOR_TYPES):
        raise Malformed(f"{subject} has the unknown type {number}")
    dtype = schema.TENSOR_TYPES[number]
    buffer = int(table.scalar(schema.BUFFER, "uint32"))
    if buffer >= len(buffers):
        raise Malformed(f"{subject} has buffer {buffer} of {len(buffers)}")
    data = buffers[buffer]
    if table.table(schema.SPARSITY) is not None:
        raise _Sparse(f"{subject} is sparse, which TFLM does not read")
    if data is not None and dtype in schema.TYPE_BITS:
        _check_size(subject, data, math.prod(shape), schema.TYPE_BITS[dtype])
    return Tensor(
        index=index,
        name=name,
        shape=shape,
        dtype=dtype,
        quantization=_quantization(subject, table.table(schema.QUANTIZATION), shape),
        data=data,
        variable=bool(table.scalar(schema.IS_VARIABLE, "bool", False)),
        free=tuple(axis for axis, size in enumerate(signature[: len(shape)]) if size < 0),
    )


def _check_size(subject: str, data: memoryview, elements: int, bits: int) -> None:
    needed = (elements * bits + 7) // 8
    if len(data) != needed:
        raise Malformed(f"{subject} needs {needed} bytes of data, its buffer has {len(data)}")


def _quantization(
    subject: str, table: FlatTable | None, shape: tuple[int, ...]
) -> Quantization | None:
    if table is None:
        return None
    scales = table.vector(schema.SCALE, "float32") or ()
    zero_points = table.vector(schema.ZERO_POINT, "int64") or ()
    if not scales or not zero_points:  # TFLM requires both, too
        return None
    if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
        raise Malformed(f"{subject} has a scale that is negative or not finite")
    if len(zero_points) not in (1, len(scales)):
        raise Malformed(f"{subject} has {len(scales)} scales and {len(zero_points)} zero points")
    if any(not -(1 << 31) <= zero < 1 << 31 for zero in zero_points):
        raise Malformed(f"{subject} has a zero point outside 32 bits")
    axis = int(table.scalar(schema.QUANTIZED_DIMENSION, "int32"))
    return Quantization(scales, zero_points * (len(scales) // len(zero_points)), axis)
