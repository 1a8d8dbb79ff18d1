"""TFLM_DECODE: constants from their compressed forms.

Source of the formats: tflite-micro, ``decode_state_lut``, ``decode_state_prune`` and
``decode_state_huffman``. Inputs are pairs of an encoded tensor and its description, one per output.
Both are constants, so that the outputs are known when the operator is prepared. A description is a
head of 16 bytes and a table:

    byte 0  0: a table of values, 1: Huffman codes, 2: a mask of the elements that were not pruned
    byte 1  1, the version; byte 4: 1, that of the format
    byte 5  table: the bits of an index
            codes: bit 0 for entries of 32 bits instead of 16; the upper half is the bits that the
            first look-up takes, less 1
    byte 6  table: the number of values per channel

The highest bit of each byte comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.model import Tensor
from harness.reference.arrays import Array
from harness.reference.node import NUMPY_TYPES, KnownOutputs, Node, Run

_HEAD = 16
_TYPES = frozenset({"bool", "float32", "int8", "int16", "int32", "int64"})
_CODED_TYPES = frozenset({"int8", "int16"})


def decode(node: Node) -> Run:
    """Any number of encoded tensors."""
    count = len(node.outputs)
    if not count or len(node.inputs) != 2 * count:
        raise node.refused(f"it has {len(node.inputs)} inputs for {count} outputs")
    return KnownOutputs([_Encoded.of(node, place).decoded()[None] for place in range(count)])


@dataclass(frozen=True)
class _Encoded:
    """One encoded tensor: its bytes, its description (head and table), and the output."""

    node: Node
    bytes: Array
    head: Array
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
        if len(description) < _HEAD:
            raise node.bad(f"a description of {len(description)} bytes")
        return cls(node, encoded, description[:_HEAD], description[_HEAD:], node.output(place))

    def decoded(self) -> Array:
        """The output's value, of its shape and type."""
        kinds: dict[int, Callable[[_Encoded], Array]] = {0: _looked_up, 1: _coded, 2: _masked}
        kind, version, own = (int(self.head[place]) for place in (0, 1, 4))
        if version != 1 or kind not in kinds or own != 1:
            raise self.node.refused(f"an encoding of kind {kind}, version {version}, {own}")
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
        """The number of channels, and of the neighbouring elements that belong to one."""
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
    """Indices of 1 to 7 bits into a table of values, or into a part of it per channel."""
    width, stride = int(encoded.head[5]) & 7, int(encoded.head[6])
    if not width:
        raise encoded.node.bad("its indices have no bits")
    count, together = encoded.channels()
    bits = encoded.bits(encoded.output.elements * width).reshape(-1, width)
    places = np.zeros(len(bits), np.int32)
    for column in bits.T:
        places = 2 * places + column
    starts = np.repeat(np.arange(count, dtype=np.int32) * stride, together)
    places = (places.reshape(-1, max(len(starts), 1)) + starts).ravel()
    values = encoded.values()
    if places.max(initial=-1) >= len(values):
        raise encoded.node.bad(f"an index of {places.max()} into a table of {len(values)} values")
    return values[places]


def _masked(encoded: _Encoded) -> Array:
    """One bit per element: the next value of the table, or the zero point."""
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
    """Huffman codes. An entry of the table is a symbol, or leads to another entry.

    Its highest bit marks a symbol or an offset. The four bits below are the number of bits of this
    look-up that belong to the symbol, or the number that the next look-up takes, less 1. The rest
    is the symbol, or the offset of the next entries from this one.
    """
    node, wide = encoded.node, bool(encoded.head[5] & 1)
    if not wide and encoded.output.dtype != "int8":
        raise node.refused(f"an output {encoded.output.dtype} of codes with 16 bits")
    size = 4 if wide else 2
    whole = encoded.table[: len(encoded.table) // size * size]
    table = _Codes(whole.view(f"<u{size}").tolist(), 8 * size, (int(encoded.head[5]) >> 4) + 1)
    try:
        symbols = table.symbols(encoded.bytes.tobytes(), encoded.output.elements)
    except IndexError:
        raise node.bad("its codes lead out of their table or their tensor") from None
    return np.array(symbols, np.int64).astype(NUMPY_TYPES[encoded.output.dtype])


@dataclass(frozen=True)
class _Codes:
    """A table of entries of ``size`` bits; the first look-up takes ``first`` bits."""

    entries: list[int]
    size: int
    first: int

    def symbols(self, data: bytes, count: int) -> list[int]:
        """The first symbols of ``data``. Raises IndexError if it has too few."""
        found, shift = 1 << (self.size - 1), self.size - 5
        mask, end = (1 << shift) - 1, 8 * len(data)
        data += bytes(4)  # a look-up may read beyond the last symbol
        symbols: list[int] = []
        at = 0
        while len(symbols) < count:
            start, width, place, entry = at, self.first, 0, 0
            while True:
                byte, left = at >> 3, 24 - width - (at & 7)
                place += int.from_bytes(data[byte : byte + 3], "big") >> left & (1 << width) - 1
                at, entry = at + width, self.entries[place]
                if entry & found:
                    break
                if at > end:
                    raise IndexError
                place, width = place + (entry & mask), (entry >> shift & 15) + 1
            at -= max(width - (entry >> shift & 15), 0)
            if at > end:
                raise IndexError
            # A symbol without bits is the only one: all others are the same.
            symbols += [entry & mask] * (1 if at > start else count - len(symbols))
        return symbols
