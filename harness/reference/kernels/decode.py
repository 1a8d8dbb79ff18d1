"""TFLM_DECODE: decompression of constants.

Source of the formats: tflite-micro, ``decode_state_lut``, ``decode_state_prune`` and
``decode_state_huffman``. Inputs are pairs of an encoded tensor and its description, one per output.
Both are constants, so the outputs are known when the operator is prepared. A description is a
header of 16 bytes and a table:

    byte 0  0: lookup table, 1: Huffman codes, 2: mask of the elements that were not pruned
    byte 1  version: 1; byte 4: version of the format: 1
    byte 5  lookup table: bits of an index
            Huffman codes: bit 0: entries of 32 bits instead of 16; bits 4 to 7: bits of the first
            lookup, less 1
    byte 6  lookup table: values per channel

Bits are numbered from the most significant one of each byte.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.node import NUMPY_TYPES, KnownOutputs, Node, Run

_HEADER = 16  # bytes
_TYPES = frozenset({"bool", "float32", "int8", "int16", "int32", "int64"})
_CODED_TYPES = frozenset({"int8", "int16"})


def decode(node: Node) -> Run:
    """The decoded tensors, one for each pair of inputs."""
    count = len(node.outputs)
    if not count or len(node.inputs) != 2 * count:
        raise node.refused(f"it has {len(node.inputs)} inputs for {count} outputs")
    return KnownOutputs([_Encoded.of(node, place).decoded()[None] for place in range(count)])


@dataclass(frozen=True)
class _Encoded:
    """One encoded tensor: its bytes, its description (header and table), and the output."""

    node: Node
    bytes: Array
    header: Array
    table: Array
    output: Tensor

    @classmethod
    def of(cls, node: Node, place: int) -> _Encoded:
        data = []
        for index in (2 * place, 2 * place + 1):
            tensor = node.input(index)
            if tensor.data is None or tensor.variable or tensor.index in node.decoded:
                raise node.refused(f"its input {index} is computed, not a constant")
            data.append(np.frombuffer(tensor.data, np.uint8))
        encoded, description = data
        if len(description) < _HEADER:
            raise node.bad(f"a description of {len(description)} bytes")
        header, table = description[:_HEADER], description[_HEADER:]
        return cls(node, encoded, header, table, node.output(place))

    def decoded(self) -> Array:
        """The value of the output, in its shape and type."""
        kinds: dict[int, Callable[[_Encoded], Array]] = {0: _looked_up, 1: _coded, 2: _masked}
        kind, version, form = (int(self.header[place]) for place in (0, 1, 4))
        if version != 1 or kind not in kinds or form != 1:
            raise self.node.refused(f"an encoding of kind {kind}, version {version}, {form}")
        types = _CODED_TYPES if kind == 1 else _TYPES
        if self.output.dtype not in types:
            raise self.node.refused(f"an output {self.output.dtype} of kind {kind}")
        flat = kinds[kind](self)
        return np.ascontiguousarray(flat).reshape(self.output.shape)

    def values(self) -> Array:
        """The table as values of the output's type."""
        dtype = NUMPY_TYPES[self.output.dtype]
        whole = self.table[: len(self.table) // dtype.itemsize * dtype.itemsize]
        values: Array = whole.view(dtype.newbyteorder("<")) if dtype != np.bool_ else whole != 0
        return values.astype(dtype)

    def bits(self, count: int) -> Array:
        """The first ``count`` bits of the encoded tensor, one per byte."""
        if count > 8 * len(self.bytes):
            raise self.node.bad(f"{8 * len(self.bytes)} bits are encoded, {count} are needed")
        return np.unpackbits(self.bytes, count=count)

    def channels(self) -> tuple[int, int]:
        """The number of channels, and of contiguous elements of each channel."""
        quantization, count = self.output.quantization, 1
        if quantization is not None:
            count = len(quantization.scales)
            last = quantization.axis == len(self.output.shape) - 1 and count > 1
            if quantization.axis and not last:
                raise self.node.refused(f"an output quantized along axis {quantization.axis}")
            if self.output.elements % count:
                raise self.node.bad(f"{self.output.elements} elements of {count} channels")
            if last:
                return count, 1
        return count, self.output.elements // count


def _looked_up(encoded: _Encoded) -> Array:
    """The output of kind 0: indices of 1 to 7 bits into a table of values, or one per channel."""
    width, stride = int(encoded.header[5]) & 7, int(encoded.header[6])
    if not width:
        raise encoded.node.bad("its indices have no bits")
    count, together = encoded.channels()
    bits = encoded.bits(encoded.output.elements * width).reshape(-1, width)
    indices = np.zeros(len(bits), np.int32)
    for column in bits.T:
        indices = 2 * indices + column
    starts = np.repeat(np.arange(count, dtype=np.int32) * stride, together)
    indices = (indices.reshape(-1, max(len(starts), 1)) + starts).ravel()
    values = encoded.values()
    if indices.max(initial=-1) >= len(values):
        raise encoded.node.bad(f"an index of {indices.max()} into a table of {len(values)} values")
    return values[indices]


def _masked(encoded: _Encoded) -> Array:
    """The output of kind 2, one bit per element: the next value of the table, or the zero point."""
    node, output = encoded.node, encoded.output
    count, together = encoded.channels()
    zeros = output.quantization.zero_points if output.quantization else (0,)
    if any(zeros) and output.dtype != "int8":
        raise node.refused(f"an output {output.dtype} with a zero point")
    if any(zeros) and len(zeros) < count:
        raise node.bad(f"{len(zeros)} zero points for {count} channels")
    chosen, values = encoded.bits(output.elements).astype(bool), encoded.values()
    kept = int(chosen.sum())
    if kept > len(values):
        raise node.bad(f"{kept} values are left, the table has {len(values)}")
    rows = np.repeat(np.array(zeros[:count] if any(zeros) else (0,) * count), together)
    flat = np.tile(rows.astype(np.int8), output.elements // max(len(rows), 1)).astype(values.dtype)
    flat[chosen] = values[:kept]
    return flat


def _coded(encoded: _Encoded) -> Array:
    """The output of kind 1: Huffman codes, decoded by one or more lookups for each symbol.

    The highest bit of a table entry is 1 for a symbol, 0 for a link. The next four bits are the
    number of bits of this lookup that belong to the symbol, or for a link the number of bits of the
    next lookup, less 1. The rest is the symbol, or the offset from this entry to those of the next
    lookup.
    """
    node, wide = encoded.node, bool(encoded.header[5] & 1)
    if not wide and encoded.output.dtype != "int8":
        raise node.refused(f"an output {encoded.output.dtype} of codes with 16 bits")
    size = 4 if wide else 2
    whole = encoded.table[: len(encoded.table) // size * size]
    first = (int(encoded.header[5]) >> 4) + 1
    table = _CodeTable(whole.view(f"<u{size}").tolist(), 8 * size, first)
    try:
        symbols = table.symbols(encoded.bytes.tobytes(), encoded.output.elements)
    except IndexError:
        raise node.bad("its codes lead beyond their table or their tensor") from None
    return np.array(symbols, np.int64).astype(NUMPY_TYPES[encoded.output.dtype])


@dataclass(frozen=True)
class _CodeTable:
    """A table of entries of ``size`` bits; the first lookup of a symbol uses ``first`` bits."""

    entries: list[int]
    size: int
    first: int

    def symbols(self, data: bytes, count: int) -> list[int]:
        """The first ``count`` symbols of ``data``. Raises IndexError if there are fewer."""
        is_symbol, shift = 1 << (self.size - 1), self.size - 5
        mask, end = (1 << shift) - 1, 8 * len(data)
        data += bytes(4)  # a lookup may read beyond the last symbol
        symbols: list[int] = []
        at = 0
        while len(symbols) < count:
            start, width, place, entry = at, self.first, 0, 0
            while True:
                byte, left = at >> 3, 24 - width - (at & 7)
                place += int.from_bytes(data[byte : byte + 3], "big") >> left & (1 << width) - 1
                at, entry = at + width, self.entries[place]
                if entry & is_symbol:
                    break
                if at > end:
                    raise IndexError
                place, width = place + (entry & mask), (entry >> shift & 15) + 1
            at -= max(width - (entry >> shift & 15), 0)
            if at > end:
                raise IndexError
            # A code of 0 bits is the only one: all remaining symbols are equal.
            symbols += [entry & mask] * (1 if at > start else count - len(symbols))
        return symbols
