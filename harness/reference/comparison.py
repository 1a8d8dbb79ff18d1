"""Element-by-element comparison of tensors, with an explanation of the differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.base.errors import UsageError
from harness.reference.arrays import Array

#: Most differing elements in a message.
SHOWN = 5

#: Outputs under other assumptions, tried if the tensors differ: explanation -> function that
#: computes the output.
Alternatives = Mapping[str, Callable[[], npt.ArrayLike]]


@dataclass(frozen=True)
class Difference:
    """One element that differs by more than ``allowed``."""

    index: tuple[int, ...]
    obtained: float
    expected: float
    allowed: float = 0.0

    def __str__(self) -> str:
        at = ", ".join(map(str, self.index))
        obtained, expected = _distinguishable(self.obtained, self.expected)
        bound = f", {self.allowed:.3g} allowed" if self.allowed else ""
        return f"[{at}]: obtained {obtained}, expected {expected}{bound}"


def _distinguishable(a: float, b: float) -> tuple[str, str]:
    """Both numbers as text, with 6, 9 (float32) or 17 (float64) digits: the fewest that differ."""
    texts = [(f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (6, 9, 17)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare`.

    ``mismatches`` of ``total`` elements differ by more than the tolerance, by at most ``largest``;
    ``first`` holds the first few of them in index order. ``explanation`` names a known cause that
    reproduces the obtained tensor, or is empty. ``reason`` says why the tensors are not comparable,
    or is empty.
    """

    equal: bool
    mismatches: int
    total: int
    largest: float
    first: tuple[Difference, ...] = ()
    explanation: str = ""
    reason: str = ""

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            return f"all {self.total:,} elements equal"
        if self.reason:
            return self.reason
        lines = [
            f"mismatched elements: {self.mismatches:,} / {self.total:,}"
            f" ({100 * self.mismatches / self.total:.3g} %), largest difference {self.largest:g}"
        ]
        lines += [f"  {difference}" for difference in self.first]
        if self.mismatches > len(self.first):
            lines.append(f"  ... and {self.mismatches - len(self.first):,} more")
        if self.explanation:
            lines.append(f"  {self.explanation}")
        return "\n".join(lines)

    def to_json(self) -> Mapping[str, Any]:
        """The result as JSON types; NaN and infinities, which JSON lacks, as text."""
        return {
            "equal": self.equal,
            "mismatches": self.mismatches,
            "total": self.total,
            "largest": plain(self.largest),
            "first": [
                {
                    "index": list(d.index),
                    "obtained": plain(d.obtained),
                    "expected": plain(d.expected),
                    "allowed": d.allowed,
                }
                for d in self.first
            ],
            "explanation": self.explanation,
            "reason": self.reason,
        }


def plain(value: float) -> float | str:
    """A number for JSON; NaN and infinities as text."""
    return value if math.isfinite(value) else str(value)


def compare(
    obtained: npt.ArrayLike,
    expected: npt.ArrayLike,
    *,
    tolerance: float | Array | None = None,
    relative: float = 0.0,
    alternatives: Alternatives | None = None,
) -> Comparison:
    """The element-by-element comparison of two tensors.

    The comparison is exact if ``tolerance`` is None and ``relative`` is 0; otherwise an element may
    differ by ``tolerance + relative * |expected|``, in the units of the tensors (quantized steps
    for integers). ``tolerance`` is one number, or an array with one per element. NaN equals NaN.
    Empty tensors, and tensors of different shape or dtype, are unequal, with a ``reason``. If
    elements differ, ``alternatives`` are tried in their order; see
    :mod:`harness.reference.explain`. Raises :class:`UsageError` for a negative tolerance.
    """
    x, y = np.asarray(obtained), np.asarray(expected)
    limit = np.asarray(0.0 if tolerance is None else tolerance, np.float64)
    if not (limit >= 0).all() or not relative >= 0:
        raise UsageError(f"a tolerance can't be negative: {tolerance}, {relative}")
    reason = _incomparable(x, y)
    if reason:
        return Comparison(False, max(x.size, y.size), y.size, float("nan"), reason=reason)
    difference = _difference(x, y)
    magnitude = np.abs(y.astype(np.float64))
    allowed = limit + relative * np.where(np.isfinite(magnitude), magnitude, 0.0)
    wrong = ~(difference <= allowed)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return Comparison(True, 0, y.size, float(difference.max()))
    first = tuple(
        Difference(
            tuple(map(int, index)),
            x[tuple(index)].item(),
            y[tuple(index)].item(),
            float(np.broadcast_to(allowed, y.shape)[tuple(index)]),
        )
        for index in np.argwhere(wrong)[:SHOWN]
    )
    largest = float(difference[wrong].max())
    explanation = _explain(x, y, difference, wrong, alternatives or {})
    return Comparison(False, count, y.size, largest, first, explanation)


def _incomparable(x: Array, y: Array) -> str:
    """The reason why two tensors cannot be compared, or ""."""
    if y.size == 0 or x.size == 0:
        return f"nothing to compare: obtained {list(x.shape)}, expected {list(y.shape)}"
    if x.dtype != y.dtype:
        return f"obtained {x.dtype}, expected {y.dtype}"
    if x.shape != y.shape:
        return f"obtained the shape {list(x.shape)}, expected {list(y.shape)}"
    return ""


def _difference(x: Array, y: Array) -> Array:
    """|x - y| without overflow: 0 for two NaN or equal infinities, infinity for one NaN."""
    if x.dtype.kind in "iub":
        return np.abs(x.astype(np.int64) - y.astype(np.int64))
    with np.errstate(invalid="ignore"):
        distance = np.abs(x.astype(np.float64) - y.astype(np.float64))
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))


def _explain(
    x: Array, y: Array, difference: Array, wrong: Array, alternatives: Alternatives
) -> str:
    """The first explanation that fits, or ""."""
    found = next(filter(None, _explanations(x, y, alternatives)), "")
    if found:
        return found
    if x.dtype.kind in "iu" and int(difference.max()) == 1:
        count = int(np.count_nonzero(wrong))
        return f"differs by 1 LSB in {count:,} of {y.size:,} elements: a rounding difference?"
    return ""


def _explanations(x: Array, y: Array, alternatives: Alternatives) -> Iterator[str]:
    """Explanations of the difference, the most specific ones first; "" where one does not fit."""
    wrong = int(np.count_nonzero(x != y))
    for cause, compute in alternatives.items():
        other = np.asarray(compute())
        if other.shape == x.shape and bool(np.array_equal(other, x)):
            yield (
                f"differs by at most {_difference(x, y).max():g} in {wrong:,} of {y.size:,}"
                f" elements, all equal {cause}"
            )
    yield _constant_offset(x, y)
    if np.all(x == x.ravel()[0]) and not np.all(y == y.ravel()[0]):
        yield f"every element obtained is {x.ravel()[0]}"
    yield from _rearranged(x, y)


def _constant_offset(x: Array, y: Array) -> str:
    if x.dtype.kind not in "iu" or x.size < 2:
        return ""
    info = np.iinfo(y.dtype)
    offset = int((x.astype(np.int64) - y.astype(np.int64)).ravel()[np.argmax(x != y)])
    # Saturated elements hide the offset.
    moved = np.clip(y.astype(np.int64) + offset, info.min, info.max)
    if not np.array_equal(moved, x.astype(np.int64)):
        return ""
    if abs(offset) == 1 << (8 * y.dtype.itemsize - 1):
        return f"equal after adding {offset}: signed and unsigned values mixed up?"
    return f"equal after adding {offset} to every expected element: a wrong zero point?"


def _rearranged(x: Array, y: Array) -> Iterator[str]:
    """Explanations by permuted axes, swapped bytes, a reversed axis, or shifted elements."""
    for order in _orders(y.ndim):
        # Flat: the device may hold the transposed tensor's bytes under the model's shape.
        if np.array_equal(np.transpose(y, order).ravel(), x.ravel()):
            yield f"equal after {_order_name(order)}"
    if x.dtype.itemsize > 1 and np.array_equal(x.byteswap(), y):
        yield "equal after swapping the bytes of each element"
    flat_x, flat_y = x.ravel(), y.ravel()
    for axis, name in enumerate(_axis_names(y.ndim)):
        if y.shape[axis] > 1 and np.array_equal(np.flip(y, axis), x):
            yield f"equal after reversing {name}"
    for shift in range(1, min(16, flat_y.size // 2)):
        if np.array_equal(flat_x[shift:], flat_y[:-shift]):
            yield f"equal but shifted by {shift} elements towards the end"
        if np.array_equal(flat_x[:-shift], flat_y[shift:]):
            yield f"equal but shifted by {shift} elements towards the start"


def _orders(rank: int) -> Iterable[Sequence[int]]:
    if not 2 <= rank <= 4:
        return ()
    identity = tuple(range(rank))
    return [order for order in permutations(identity) if order != identity]


def _axis_names(rank: int) -> Sequence[str]:
    if rank == 4:
        return ("batch", "height", "width", "channels")
    return tuple(f"axis {axis}" for axis in range(rank))


def _order_name(order: Sequence[int]) -> str:
    names = _axis_names(len(order))
    moved = [axis for axis, source in enumerate(order) if axis != source]
    if len(moved) == 2:
        return f"swapping {names[moved[0]]} and {names[moved[1]]}"
    return "reordering the axes to " + ", ".join(names[axis] for axis in order)
