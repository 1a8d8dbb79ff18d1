"""Operators bound to fixed buffers, for one inference at a time.

For small operators the fixed cost of a NumPy call is more than the computation. So everything that
is known before is prepared when an operator is bound: shapes, views, work buffers, constants. An
inference is then a list of calls without arguments, nearly all of them single NumPy functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import setitem
from typing import Any

import numpy as np

from harness.reference.fixedpoint import Array
from harness.reference.node import Run

#: One part of an operator's work, from buffers into a buffer.
Call = Callable[[], object]
#: The largest work buffer, and all buffers that the bound operators of a model keep, in bytes. A
#: larger operator runs unbound, which costs it little.
MAX_BUFFER = 1 << 19
MAX_KEPT = 1 << 24
#: Products for which a BLAS uses one thread, of two matrices and of a vector and a matrix (OpenBLAS
#: starts more threads from 2^18 and from 9,216 on).
_MAX_PRODUCTS = 1 << 18
_MAX_MATRIX = 1 << 13


class TooLarge(Exception):
    """The buffers of an operator are too large for a plan; it runs unbound."""


@dataclass
class Workspace:
    """The buffers of the bound operators of one plan."""

    _kept: int = 0
    _shared: dict[str, Array] = field(default_factory=dict)

    def keep(self, shape: Sequence[int], dtype: Any, value: float = 0) -> Array:
        """A buffer for one operator alone, filled with ``value``."""
        self._kept += _size(shape, dtype)
        if self._kept > MAX_KEPT:
            raise TooLarge
        return np.full(shape, value, dtype)

    def share(self, name: str, shape: Sequence[int], dtype: Any) -> Array:
        """A buffer whose content is used within one operator only; one memory per ``name``."""
        size = _size(shape, dtype)
        if name not in self._shared:
            self._shared[name] = np.empty(MAX_BUFFER, np.uint8)
        buffer: Array = self._shared[name][:size].view(dtype)
        return buffer.reshape(shape)


def _size(shape: Sequence[int], dtype: Any) -> int:
    """The bytes of a buffer. Raises TooLarge."""
    size: int = math.prod(shape) * np.dtype(dtype).itemsize
    if not 0 < size <= MAX_BUFFER:
        raise TooLarge
    return size


#: Binds an operator to the buffers of its inputs (None: left out) and outputs, each of one run. An
#: input that cannot be written is a constant. Returns None if the operator cannot be bound. Raises
#: TooLarge.
Bind = Callable[[Sequence[Any], Sequence[Array], Workspace], "Sequence[Call] | None"]


@dataclass(frozen=True)
class Prepared:
    """A :data:`~harness.reference.node.Run` that can also be bound.

    ``quiet``: the bound calls never give a floating-point warning. ``consecutive``: ``run`` treats
    several runs as consecutive inferences, and leaves its variable tensors as the last one does.
    """

    run: Run
    bind: Bind
    quiet: bool = True
    consecutive: bool = False

    def __call__(self, values: Sequence[Any]) -> list[Array]:
        """Run it on arrays with a leading axis of runs."""
        return self.run(values)


def unbound(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> None:
    """The :data:`Bind` of an operator that is not faster when bound."""


def copied(target: Array, source: Array) -> Call:
    """``target[...] = source``, in the target's type."""
    if target.shape == source.shape:  # axes of size 1 take time, too
        target, source = target.squeeze(), source.squeeze()
    return partial(setitem, target, ..., source)


def small_product(rows: int, elements: int) -> bool:
    """Whether a BLAS keeps to one thread for ``rows`` times a matrix of so many elements."""
    return rows * elements <= (_MAX_PRODUCTS if rows > 1 else _MAX_MATRIX)


def product_of(x: Array, matrix: Array, output: Array) -> Call:
    """``x @ matrix`` into ``output``, all contiguous, of one float type, by one thread."""
    if not small_product(x.size // len(matrix), matrix.size):
        raise TooLarge
    return partial(x.dot, matrix, output)


def sums_of(rows: Array, matrix: Array, work: Workspace) -> tuple[Array, list[Call]]:
    """Rows of inputs, each with a 1 behind it, times ``matrix`` (depth + 1, channels).

    ``rows`` is a view with any number of axes; the last ones are one row. Returns the buffer
    (rows, channels) of the sums, float64, and the calls that fill it.
    """
    depth, channels = matrix.shape
    count = rows.size // (depth - 1)
    x = work.keep((count, depth), np.float64, 1.0)
    sums = work.share("sums", (count, channels), np.float64)
    return sums, [copied(x[:, :-1].reshape(rows.shape), rows), product_of(x, matrix, sums)]


def looked_up(table: Array, index: Array, output: Array, mode: str = "clip") -> Call:
    """``table[index]`` into a contiguous ``output`` of the table's type."""
    return partial(table.take, index, None, output, mode)


def every_value(dtype: str = "int8") -> Array:
    """All values of an integer type of 8 or 16 bits as int64, in the order of their bits."""
    bits = unsigned(dtype)
    return np.arange(1 << 8 * bits.itemsize, dtype=bits).view(dtype).astype(np.int64)


def unsigned(dtype: Any) -> np.dtype[Any]:
    """The unsigned type of as many bits."""
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def value_table(table: Array, dtype: str = "int8") -> Prepared:
    """An operator of one input of ``dtype``: ``table`` holds the result for each of its values, in
    the order of their bits.
    """
    bits = unsigned(dtype)

    def run(values: Sequence[Any]) -> list[Array]:
        return [table.take(values[0].view(bits), mode="clip")]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> list[Call]:
        x = inputs[0].view(bits)
        return [looked_up(table, x.reshape(-1), outputs[0].reshape(-1))]

    return Prepared(run, bind)


#: From the inputs' arrays to the outputs, which are views of them.
Views = Callable[[Sequence[Any]], Iterable[Array]]


@dataclass(frozen=True)
class Moves(Prepared):
    """An operator that only moves elements."""

    views: Views = iter


def moves(views: Views) -> Moves:
    """An operator whose outputs are views of its inputs."""

    def run(values: Sequence[Any]) -> list[Array]:
        return [np.ascontiguousarray(view) for view in views(values)]

    def bind(inputs: Sequence[Any], outputs: Sequence[Array], _: Workspace) -> list[Call] | None:
        sources = list(views(inputs))
        if [view.shape for view in sources] != [output.shape for output in outputs]:
            return None  # the run reports it
        return [copied(output, view) for output, view in zip(outputs, sources, strict=True)]

    return Moves(run, bind, views=views)


@dataclass(frozen=True)
class Known(Moves):
    """An operator whose outputs are known when it is prepared: ``arrays``, each of one run."""

    arrays: Sequence[Array] = ()


def known(arrays: Sequence[Array]) -> Known:
    """An operator that always gives ``arrays``; they are constants for the operators behind it."""
    for array in arrays:
        array.setflags(write=False)

    def bind(_: Sequence[Any], outputs: Sequence[Array], __: Workspace) -> list[Call]:
        for output, array in zip(outputs, arrays, strict=True):
            output[...] = array
        return []

    return Known(lambda _: list(arrays), bind, views=lambda _: arrays, arrays=arrays)
