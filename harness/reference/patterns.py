"""Patterns of values that differ: one table for cases' own values, tensors and layers.

A pattern is named only if it predicts every value, right and wrong ones, and if the expected values
vary so much that chance does not. Its text is a predicate: "has height and width swapped".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np

from harness.reference.arrays import Array

#: The smallest number of different values from which a pattern is named.
LEAST = 3
#: Elements by which values may be shifted.
_MOST_SHIFTED = 16
#: Values that are looked at first to see whether they vary.
_SOME = 4096
#: Dimensions of which all orders are tried.
_MOST_AXES = 4
#: Part of a float by which two that are computed in different ways may differ.
_FLOAT_STEP = 1e-6
#: Steps between integers, at least, for a step to be no evidence.
_LEAST_STEPS = 16
#: Share of the elements behind the right ones that are wrong.
_MOST_OF_THEM = 0.8
#: Characters of the labels that a text lists.
_LABELS_WIDTH = 60


@dataclass(frozen=True)
class Rows:
    """What the first axis of values counts, and the number of its first row."""

    noun: str
    first: int = 0


INFERENCES, RESULTS = Rows("inference"), Rows("result", 1)


#: The pattern of outputs that are read too early.
BEFORE = "is that of the inference before"


@dataclass(frozen=True)
class Values:
    """Values of one shape, of which some are ``wrong``.

    A pattern predicts a value if it is at most ``allowed`` away. With ``rows`` the first axis
    counts inferences or results.
    """

    obtained: Array
    expected: Array
    wrong: Array
    allowed: float = 0.0
    rows: Rows | None = None

    @property
    def integers(self) -> bool:
        """Whether both have an integer type of limited range."""
        return self.expected.dtype.kind in "iu"

    @property
    def axes(self) -> range:
        """The axes of one row."""
        return range(0 if self.rows is None else 1, self.expected.ndim)

    @cached_property
    def numbers(self) -> tuple[Array, Array]:
        """Obtained and expected values as numbers that can be subtracted."""
        kind = np.int64 if self.integers else np.float64
        return self.obtained.astype(kind), self.expected.astype(kind)

    def equal(self, one: Array, other: Array) -> bool:
        """Whether all values of two arrays of one size are equal."""
        return bool(self._close(one.ravel(), other.ravel()).all())

    def varied(self, values: Array) -> bool:
        """Whether ``values`` are not equal by chance."""
        numbers = values.ravel()
        for some in (numbers[:_SOME], numbers):  # the first ones nearly always suffice
            steps = some.astype(np.float64)
            if self.allowed:
                steps = np.round(steps / (2 * self.allowed))
            if len(np.unique(steps)) >= LEAST:
                return True
        return False

    def _close(self, one: Array, other: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(one - other) <= self.allowed if self.allowed else False
            same = (one == other) | near
            return np.asarray(same if self.integers else same | (np.isnan(one) & np.isnan(other)))


@np.errstate(all="ignore")
def pattern(values: Values) -> str:
    """The first pattern that predicts all ``values``; "" if none does."""
    return next((text for rule in _RULES for text in rule(values)), "")


def _constant(values: Values) -> Iterator[str]:
    one = values.obtained.ravel()[0]
    same = np.isnan(values.obtained) if one != one else values.obtained == one  # noqa: PLR0124 - NaN
    if not same.all() or (values.expected == values.expected.ravel()[0]).all():
        return
    limits = np.iinfo(values.expected.dtype) if values.integers else None
    saturated = ", saturated" if limits is not None and one in (limits.min, limits.max) else ""
    yield f"is {one:.6g} everywhere{saturated}"


def _rearranged(values: Values) -> Iterator[str]:
    """Other axes, bytes in another order, shifted elements."""
    obtained, expected = values.obtained, values.expected
    if not values.varied(expected):
        return
    names = _axis_names(len(values.axes))
    lead = values.axes.start
    for order in _orders(len(values.axes)):
        # Flat: the device may hold the transposed tensor's bytes under the model's shape.
        turned = np.transpose(expected, (*range(lead), *(axis + lead for axis in order)))
        if values.equal(turned, obtained):
            yield f"has {_order_name(order, names)}"
    if obtained.dtype.itemsize > 1 and np.array_equal(obtained.byteswap(), expected):
        yield "has the bytes of each element swapped"
    for axis in values.axes:
        if expected.shape[axis] > 1 and values.equal(np.flip(expected, axis), obtained):
            yield f"has {names[axis - lead]} reversed"
    yield from _shifted(values)


def _shifted(values: Values) -> Iterator[str]:
    rows = len(values.expected) if values.rows else 1
    obtained, expected = (one.reshape(rows, -1) for one in (values.obtained, values.expected))
    for by in range(1, min(_MOST_SHIFTED, expected.shape[1] // 2)):
        elements = f"by {by} element{'s' if by > 1 else ''}"
        if values.equal(obtained[:, by:], expected[:, :-by]) and values.varied(expected[:, :-by]):
            yield f"is shifted {elements} towards the end"
        if values.equal(obtained[:, :-by], expected[:, by:]) and values.varied(expected[:, by:]):
            yield f"is shifted {elements} towards the start"


def _swapped_bytes_of_numbers(values: Values) -> Iterator[str]:
    """Integers in a wider type: numbers of a case, or a float tensor."""
    obtained, expected = values.numbers
    if not _whole(obtained, expected) or not values.varied(expected):
        return
    for bits in (16, 32):
        limit = 1 << bits
        if np.abs(expected).max() >= limit or np.abs(obtained).max() >= limit:
            continue
        one, other = (np.mod(each, limit).astype(f"u{bits // 8}") for each in (obtained, expected))
        if np.array_equal(one.byteswap(), other):
            yield f"has the bytes of each {bits}-bit number swapped"


def _signs(values: Values) -> Iterator[str]:
    """Signed numbers read as unsigned ones, or the other way."""
    obtained, expected = values.numbers
    if not _whole(obtained, expected) or not values.varied(expected):
        return
    for bits in (8, 16, 32):
        span = 1 << bits
        half = span // 2
        signed = (expected >= -half).all() and (expected < half).all()
        if signed and np.array_equal(obtained, np.mod(expected, span)):
            yield f"is {span:,} too large where it is negative: signed, read as unsigned"
        unsigned = (expected >= 0).all() and (expected < span).all()
        if unsigned and np.array_equal(
            obtained, np.where(expected < half, expected, expected - span)
        ):
            yield f"is {span:,} too small from {half:,} on: unsigned, read as signed"


def _offset(values: Values) -> Iterator[str]:
    obtained, expected = values.numbers
    if not values.varied(expected):
        return
    if not np.isfinite(obtained).all() or not np.isfinite(expected).all():
        return
    offset = (obtained - expected).ravel()[np.argmax(obtained != expected)].item()
    if not values.integers:
        allowed = 2 * values.allowed + _FLOAT_STEP * abs(offset)
        if abs(offset) > allowed and np.allclose(obtained, expected + offset, _FLOAT_STEP, allowed):
            yield f"is off by {offset:.4g} everywhere"
        return
    limits = np.iinfo(values.expected.dtype)  # saturated elements hide the offset
    if np.array_equal(np.clip(expected + offset, limits.min, limits.max), obtained):
        half = abs(offset) == 1 << (8 * values.expected.dtype.itemsize - 1)
        why = "signed and unsigned values mixed up" if half else "a wrong zero point"
        yield f"is off by {offset} everywhere: {why}?"


def _factor(values: Values) -> Iterator[str]:
    obtained, expected = values.numbers
    usable = np.isfinite(obtained) & np.isfinite(expected)
    if not usable.all() or not values.varied(expected[expected != 0]):
        return
    largest = np.argmax(np.abs(expected))  # its digits tell the factor best
    factor = (obtained.ravel()[largest] / expected.ravel()[largest]).item()
    allowed = values.allowed * (1 + abs(factor))
    if not factor or not np.allclose(obtained, factor * expected, _FLOAT_STEP, allowed):
        return
    whole = abs(factor) >= 1
    shown = f"{factor:.4g}" if whole else f"1/{1 / factor:.4g}"
    yield "has the opposite sign" if factor == -1 else f"is {shown} times what is expected"


def _inverted(values: Values) -> Iterator[str]:
    """A constant minus the right value: ``255 - x``, ``1 - x``."""
    obtained, expected = values.numbers
    sums = obtained + expected
    if not values.varied(expected) or not np.isfinite(sums).all():
        return
    total = np.median(sums).item()
    # Quantized values are rounded on each side, and cut off at the limits.
    allowed = 1.0 if values.integers else 2 * values.allowed
    if values.integers and np.ptp(expected) < _LEAST_STEPS:
        return
    if (np.abs(sums - total) <= allowed + _FLOAT_STEP * np.abs(expected)).all():
        yield f"is inverted: {total:.6g} - x for x"


def _late(values: Values) -> Iterator[str]:
    """Each row is the one before it, or the one after it."""
    if values.rows is None or len(values.expected) <= LEAST:
        return
    obtained, expected = values.numbers
    if not values.varied(expected):
        return
    if (
        obtained[0].size > 1
        and (obtained == obtained[:1]).all()
        and (expected != expected[:1]).any()
    ):
        yield f"is the same in each {values.rows.noun}"
    if values.equal(obtained[1:], expected[:-1]):
        yield f"is that of the {values.rows.noun} before"
    if values.equal(obtained[:-1], expected[1:]):
        yield f"is that of the {values.rows.noun} after"


def _from_one_on(values: Values) -> Iterator[str]:
    """Right up to one element or row, and wrong in each from there on."""
    if values.rows is not None:
        wrong = values.wrong.reshape(len(values.wrong), -1)
        yield from _suffix(np.any(wrong, axis=1), f"from {values.rows.noun} ", values.rows.first)
        yield from _first_part(values, np.any(wrong, axis=0))
    else:
        yield from _suffix(values.wrong.ravel(), "from element ", 0)


def _first_part(values: Values, wrong: Array) -> Iterator[str]:
    """Rows that are right in their first elements, and wrong in most of the others that vary."""
    begin, count = int(np.argmax(wrong)), len(wrong)
    if not values.varied(values.expected):
        return
    expected = values.expected.reshape(-1, count)
    vary = (expected != expected[:1]).any(axis=0) if len(expected) > 1 else wrong
    behind = wrong[begin:][vary[begin:]]
    if vary[:begin].sum() >= LEAST and len(behind) >= LEAST and behind.mean() > _MOST_OF_THEM:
        yield f"is right in its first {begin:,} of {count:,} elements only"


def _suffix(wrong: Array, text: str, first: int) -> Iterator[str]:
    begin = int(np.argmax(wrong))
    if begin >= LEAST and len(wrong) - begin >= LEAST - 1 and wrong[begin:].all():
        yield f"is right before, and wrong {text}{begin + first} on"


def _one_step(values: Values) -> Iterator[str]:
    obtained, expected = values.numbers
    if values.integers and values.wrong.sum() >= LEAST and np.abs(obtained - expected).max() == 1:
        yield "differs by 1 LSB at most: a rounding difference?"


#: The most specific ones first.
_RULES: tuple[Callable[[Values], Iterator[str]], ...] = (
    _constant, _late, _rearranged, _swapped_bytes_of_numbers, _signs, _offset, _factor, _inverted,
    _one_step, _from_one_on,
)  # fmt: skip


def _whole(*arrays: Array) -> bool:
    return all(
        bool(
            np.isfinite(one).all() and (np.abs(one) < 2**53).all() and (one == np.round(one)).all()
        )
        for one in arrays
    )


def _orders(rank: int) -> Iterable[Sequence[int]]:
    if not 2 <= rank <= _MOST_AXES:
        return ()
    identity = tuple(range(rank))
    return [order for order in permutations(identity) if order != identity]


def _axis_names(rank: int) -> Sequence[str]:
    if rank == 4:
        return ("batch", "height", "width", "channels")
    return tuple(f"axis {axis}" for axis in range(rank))


def _order_name(order: Sequence[int], names: Sequence[str]) -> str:
    moved = [axis for axis, source in enumerate(order) if axis != source]
    if len(moved) == 2:
        return f"{names[moved[0]]} and {names[moved[1]]} swapped"
    return "its axes in the order " + ", ".join(names[axis] for axis in order)


def pattern_of_numbers(
    obtained: Sequence[float], expected: Sequence[float], wrong: Sequence[bool], allowed: float
) -> str:
    """The pattern of one number of each result; "" for none."""
    got, wanted = np.array(obtained, np.float64), np.array(expected, np.float64)
    return pattern(Values(got, wanted, np.array(wrong), allowed, RESULTS))


def pattern_of_labels(obtained: Sequence[str], expected: Sequence[str], rows: Rows) -> str:
    """The pattern of texts that stand for each other, such as class names; "" for none."""
    if len(set(expected)) > 1 and len(set(obtained)) == 1:
        return f"is {_quoted(obtained[0])} everywhere"
    if len(expected) > LEAST and len(set(expected)) > 1:
        if obtained[1:] == expected[:-1]:
            return f"is that of the {rows.noun} before"
        if obtained[:-1] == expected[1:]:
            return f"is that of the {rows.noun} after"
    stands_for = dict(zip(expected, obtained, strict=True))
    consistent = all(
        stands_for[right] == got for right, got in zip(expected, obtained, strict=True)
    )
    if not consistent or len(stands_for) < 2 or len(set(stands_for.values())) < len(stands_for):
        return ""
    moved = {right: got for right, got in stands_for.items() if right != got}
    shifted = len(moved) == len(stands_for) >= LEAST and _one_chain(moved)
    once = len(expected) == len(stands_for)  # any labels are consistent then
    return "" if once and not shifted else _mapping(moved, shifted=shifted)


def _mapping(moved: Mapping[str, str], *, shifted: bool) -> str:
    """Labels that are read for others, each always for the same one."""
    pairs = [f"{_quoted(got)} for {_quoted(right)}" for right, got in moved.items()]
    shown = pairs[:1]
    for pair in pairs[1:]:
        if len(", ".join([*shown, pair])) > _LABELS_WIDTH:
            break
        shown.append(pair)
    more = f" and {len(pairs) - len(shown)} more" if len(pairs) > len(shown) else ""
    listed = ", ".join(shown) + more
    return f"is off by one in the list: {listed}" if shifted else f"is {listed}"


def _one_chain(moved: Mapping[str, str]) -> bool:
    """Whether each label is read for the next one of a single list, which may be a ring."""
    begins = [label for label in moved if label not in moved.values()]
    at, count = (begins or list(moved))[0], 0
    while at in moved and count < len(moved):
        at, count = moved[at], count + 1
    return len(begins) <= 1 and count == len(moved)


def _quoted(text: str) -> str:
    return repr(text[:20])
