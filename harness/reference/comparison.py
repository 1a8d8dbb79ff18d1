"""Element-by-element comparison of tensors, with an explanation of the differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.base.errors import UsageError
from harness.reference.arrays import Array
from harness.reference.patterns import Rows, Values, pattern

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
        obtained, expected = distinguishable(self.obtained, self.expected)
        bound = f", {self.allowed:.3g} allowed" if self.allowed else ""
        return f"{_place(self.index)}: obtained {obtained}, expected {expected}{bound}"

    def sentence(self, name: str, rows: Rows | None = None) -> str:
        """The difference of a tensor called ``name``; its first axis counts ``rows``."""
        obtained, expected = distinguishable(self.obtained, self.expected)
        lead = 0 if rows is None else 1
        of = f" of {rows.noun} {self.index[0] + rows.first}" if rows is not None else ""
        return f"{name}{_place(self.index[lead:])}{of} is {obtained}, expected {expected}"


def _place(index: Sequence[int]) -> str:
    return f"[{', '.join(map(str, index))}]"


def distinguishable(a: float, b: float) -> tuple[str, str]:
    """Both numbers as text, with 6, 9 (float32) or 17 (float64) digits: the fewest that differ."""
    texts = [(f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (6, 9, 17)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


@dataclass(frozen=True)
class Comparison:
    """The result of :func:`compare`.

    ``mismatches`` of ``total`` elements differ by more than the tolerance, by at most ``largest``;
    ``first`` holds the first few of them in index order. ``explanation`` names a known cause that
    reproduces the obtained tensor, or is empty; ``pattern`` is its predicate, if it is a pattern of
    the values (:mod:`harness.reference.patterns`). ``notable`` is the difference to show if only
    one is shown: the first that is not a finite number, or the first. ``reason`` says why the
    tensors are not comparable, or is empty.
    """

    equal: bool
    mismatches: int
    total: int
    largest: float
    first: tuple[Difference, ...] = ()
    explanation: str = ""
    reason: str = ""
    pattern: str = ""
    notable: Difference | None = None

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

    def cause(self, name: str) -> str:
        """What explains every difference, of a tensor called ``name``; "" if nothing does."""
        return f"{name} {self.pattern}" if self.pattern else self.explanation

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
    rows: Rows | None = None,
) -> Comparison:
    """The element-by-element comparison of two tensors.

    The comparison is exact if ``tolerance`` is None and ``relative`` is 0; otherwise an element may
    differ by ``tolerance + relative * |expected|``, in the units of the tensors (quantized steps
    for integers). ``tolerance`` is one number, or an array with one per element. NaN equals NaN.
    Empty tensors, and tensors of different shape or dtype, are unequal, with a ``reason``. If
    elements differ, ``alternatives`` are tried in their order; see
    :mod:`harness.reference.explain`. Then patterns are (:mod:`harness.reference.patterns`), with
    ``rows`` if the first axis counts inferences. Raises :class:`UsageError` for a negative
    tolerance.
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
    first = tuple(_differences(x, y, allowed, np.argwhere(wrong)[:SHOWN]))
    special = np.argwhere(wrong & ~_finite(x))[:1]
    notable = next(_differences(x, y, allowed, special), first[0])
    largest = float(difference[wrong].max())
    values = Values(x, y, wrong, float(allowed[np.isfinite(allowed)].max(initial=0.0)), rows)
    cause = _alternative(x, alternatives or {})
    found = "" if cause else pattern(values)
    explanation = cause or (f"it {found}" if found else "")
    return Comparison(
        False, count, y.size, largest, first, explanation, pattern=found, notable=notable
    )


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


def _differences(x: Array, y: Array, allowed: Array, places: Array) -> Iterator[Difference]:
    limits = np.broadcast_to(allowed, y.shape)
    for place in places:
        at = tuple(map(int, place))
        yield Difference(at, x[at].item(), y[at].item(), float(limits[at]))


def _finite(x: Array) -> Array:
    return np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, np.bool_)


def _alternative(x: Array, alternatives: Alternatives) -> str:
    """The first cause under which all values are equal, or ""."""
    for cause, compute in alternatives.items():
        other = np.asarray(compute())
        if other.shape == x.shape and bool(np.array_equal(other, x)):
            return f"all equal {cause}"
    return ""
