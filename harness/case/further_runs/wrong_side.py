"""Kernel or application: which side is wrong when outputs differ, and how.

The tensors of the first inferences are read where ``Invoke()`` begins and ends. Kernels are right
if the outputs in memory are the reference's for the inputs in memory. Then the application stored
other inputs than it states, or stated other outputs than it got; simple mistakes are tried one by
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from harness.case.layers import DeviceInference
from harness.elf import Image
from harness.model import Tensor
from harness.reference import Interpreter, dequantize
from harness.reference.float_error import allowed_in_batch
from harness.reference.patterns import BEFORE, INFERENCES, LEAST, Values, pattern
from harness.uart.scrapers.base import Stated

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]

#: Part of a value by which two that are the same may differ: printed digits.
_CLOSE = 1e-3
_TENSOR = "TfLiteTensor"
_OTHER = "in memory is not the one that is stated"


@dataclass(frozen=True)
class WrongSide:
    """The side that is wrong: ``text`` says how.

    ``inference`` is the first one whose kernels compute something else; None if they are right.
    """

    text: str
    inference: int | None = None


@np.errstate(all="ignore")  # memory and consoles hold any bits
def wrong_side(
    inferences: Sequence[DeviceInference], stated: Stated, interpreter: Interpreter, image: Image
) -> WrongSide | None:
    """Which side is wrong, and how; None if both are as they should be, or nothing was read."""
    count = min(len(inferences), len(stated.outputs[0]) if stated.outputs else 0)
    if not count:
        return None
    model = interpreter.model
    got = [_read(inferences[:count], "inputs", at, one) for at, one in enumerate(model.inputs)]
    gave = [_read(inferences[:count], "outputs", at, one) for at, one in enumerate(model.outputs)]
    wrong = _first_wrong(interpreter, got, gave)
    if wrong is not None:
        if interpreter.stateful and _computes_afresh(interpreter, got, gave):
            return WrongSide("the model's state is reset before each inference")
        return WrongSide("the kernels compute other outputs for the inputs that they got", wrong)
    text = _wrong_input(inferences[:count], got, stated, interpreter, image)
    text = text or _wrong_output(gave, stated, interpreter, image)
    return WrongSide(f"the application's {text}") if text else None


def _wrong_input(
    inferences: Sequence[DeviceInference],
    got: Sequence[Array],
    stated: Stated,
    interpreter: Interpreter,
    image: Image,
) -> str:
    tensors = interpreter.model.inputs
    if swapped := _swapped(got, stated):
        return swapped
    for number, (read, tensor) in enumerate(zip(got, tensors, strict=True)):
        if number >= len(stated.inputs) or stated.allows(number, read):
            continue
        heads = [one.heads[number] for one in inferences]
        right = stated.inputs[number][: len(read)]
        how = _two_layouts(image) or _input_mistake(_StoredInput(read, right, tensor, heads))
        return f"{_name('input', number, tensors)} {how}"
    return ""


def _swapped(got: Sequence[Array], stated: Stated) -> str:
    """Which two inputs hold what is stated for the other; "" if none do."""
    for one, other in combinations(range(min(len(got), len(stated.inputs))), 2):
        if got[one].shape != got[other].shape or stated.allows(one, got[one]):
            continue
        if stated.allows(other, got[one]) and stated.allows(one, got[other]):
            return f"inputs {one} and {other} are swapped"
    return ""


def _wrong_output(
    gave: Sequence[Array], stated: Stated, interpreter: Interpreter, image: Image
) -> str:
    tensors = interpreter.model.outputs
    for number, (read, said, tensor) in enumerate(zip(gave, stated.outputs, tensors, strict=False)):
        printed = said[: len(read)].astype(np.float64)
        if not _same(_real(read, said, tensor), printed):
            how = _two_layouts(image) or _output_mistake(read, said[: len(read)], tensor)
            return f"{_name('output', number, tensors)} {how}"
    return ""


def _name(role: str, number: int, tensors: Sequence[Tensor]) -> str:
    return role if len(tensors) == 1 else f"{role} {number}"


def _read(inferences: Sequence[DeviceInference], role: str, at: int, tensor: Tensor) -> Array:
    """One tensor of all inferences, (inferences, *shape)."""
    parts = [getattr(one, role)[at] for one in inferences]
    return np.frombuffer(b"".join(parts), tensor.dtype).reshape(len(parts), *tensor.shape)


def _first_wrong(
    interpreter: Interpreter, inputs: Sequence[Array], outputs: Sequence[Array]
) -> int | None:
    """The first inference of which the reference computes something else than ``outputs``."""
    interpreter.restart()
    expected = interpreter.invoke_batch(inputs, runs=len(outputs[0]))
    wrong = np.zeros(len(outputs[0]), np.bool_)
    for index, (ours, theirs) in enumerate(zip(expected, outputs, strict=True)):
        allowed: Reals | float = 0.0
        if ours.dtype.kind == "f":
            runs = np.ones(len(ours), np.bool_)
            allowed = allowed_in_batch(interpreter, inputs, index, runs)
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
        wrong |= ~(difference <= allowed).reshape(len(ours), -1).all(axis=1)
    return int(np.argmax(wrong)) if wrong.any() else None


def _computes_afresh(
    interpreter: Interpreter, inputs: Sequence[Array], outputs: Sequence[Array]
) -> bool:
    """The same with the state of a new interpreter for each inference."""
    for run in range(len(outputs[0])):
        one = slice(run, run + 1)
        here = [[each[one] for each in tensors] for tensors in (inputs, outputs)]
        if _first_wrong(interpreter, *here) is not None:
            return False
    return True


def _same(one: Reals, two: Reals) -> bool:
    scale = max(float(np.abs(two[np.isfinite(two)]).max(initial=0.0)), 1e-9)
    return bool(np.allclose(one, two, rtol=_CLOSE, atol=_CLOSE * scale))


def _real(read: Array, said: Array, tensor: Tensor) -> Reals:
    """``read`` in the form in which it was stated: real numbers, or the tensor's own."""
    if said.dtype.kind == "f" and tensor.scale:
        return dequantize(read, tensor.scale, tensor.zero_point).astype(np.float64)
    return read.astype(np.float64)


def _two_layouts(image: Image) -> str:
    """That two parts of the image have different structures of a tensor; "" if they do not."""
    sizes = sorted(image.variables.sizes_of(_TENSOR))
    if len(sizes) < 2:
        return ""
    return f"is read with another TF_LITE_STATIC_MEMORY: {_TENSOR} has {sizes[0]} and {sizes[1]} B"


# inputs


@dataclass(frozen=True)
class _StoredInput:
    """An input as it lies in memory, and as it should: ``right``, which stands for ``real``."""

    read: Array
    right: Array
    tensor: Tensor
    heads: Sequence[bytes]  # what lies at its address, also behind its end

    @property
    def real(self) -> Reals:
        return _real(self.right, np.zeros(1), self.tensor)

    @property
    def numbers(self) -> tuple[Reals, Reals]:
        return self.read.astype(np.float64), self.right.astype(np.float64)


def _input_mistake(stored: _StoredInput) -> str:
    found = next((text for rule in _INPUT_RULES if (text := rule(stored))), "")
    read, right = stored.read, stored.right
    found = found or pattern(Values(read, right, read != right, 0.0, INFERENCES))
    return found or _first_other(read, right)


def _first_other(read: Array, right: Array) -> str:
    run, *place = map(int, np.argwhere(read != right)[0])
    values = f"{read[(run, *place)]:.6g}, not {right[(run, *place)]:.6g}"
    return f"in memory is not the stated one: {place} of inference {run} is {values}"


def _as_float(stored: _StoredInput) -> str:
    """A float32 in the bytes of an integer tensor."""
    if stored.read.dtype.kind == "f":
        return ""
    floats = np.frombuffer(b"".join(one[:4] for one in stored.heads), "<f4").astype(np.float64)
    firsts = stored.real.reshape(len(stored.real), -1)[:, 0]
    unit = stored.tensor.scale or 0.0
    if len(np.unique(firsts)) < LEAST or not np.allclose(floats, firsts, 0.01, unit):
        return ""
    return f"holds a float: it is {stored.tensor.dtype}, quantize it ({_parameters(stored.tensor)})"


def _as_integer(stored: _StoredInput) -> str:
    """Integers in the bytes of a float tensor: as floats they are smaller than any that occur."""
    if stored.read.dtype != np.float32 or not stored.right.any():
        return ""
    tiny = np.abs(stored.read) < np.finfo(np.float32).tiny
    wanted = np.abs(stored.right) >= np.finfo(np.float32).tiny
    if not stored.read.any() or not tiny.all() or wanted.mean() < 0.5:
        return ""
    return f"holds integers: it is {stored.tensor.dtype}, store the real numbers"


def _parameters(tensor: Tensor) -> str:
    return f"scale {tensor.scale:.6g}, zero point {tensor.zero_point}"


def _unscaled(stored: _StoredInput) -> str:
    read, _ = stored.numbers
    if stored.tensor.scale and _same(read, np.round(stored.real)) and stored.real.any():
        return f"is stored unscaled: quantize it ({_parameters(stored.tensor)})"
    return ""


def _rounded(stored: _StoredInput) -> str:
    read, right = stored.numbers
    if stored.read.dtype.kind == "f" or np.abs(read - right).max() > 1:
        return ""
    return "is rounded another way (truncated): it differs by 1"


def _offset(stored: _StoredInput) -> str:
    """A constant difference, modulo the type's range."""
    if stored.read.dtype.kind == "f" or len(np.unique(stored.read)) < LEAST:
        return ""
    read, right = stored.numbers
    span = float(1 << 8 * stored.read.dtype.itemsize)
    offsets = (read - right) % span
    usual = float(np.median(offsets))
    if np.abs((offsets - usual + span / 2) % span - span / 2).max() > 1:  # rounding
        return ""
    off = int(usual if usual <= span / 2 else usual - span)
    if abs(off) == abs(stored.tensor.zero_point):
        return f"is off by {abs(off)}: the zero point of {stored.tensor.zero_point} is not applied"
    return f"is off by {off}"


def _factor(stored: _StoredInput) -> str:
    """Values that are a multiple of the right ones, but for those that saturate."""
    real = _real(stored.read, np.zeros(1), stored.tensor)
    free = np.ones(real.shape, np.bool_)
    if stored.read.dtype.kind != "f":
        limits, (read, _) = np.iinfo(str(stored.read.dtype)), stored.numbers
        free = (read > limits.min) & (read < limits.max)
    free &= stored.real != 0
    if len(np.unique(stored.real[free])) < LEAST:
        return ""
    factor = float(np.median(real[free] / stored.real[free]))
    unit = stored.tensor.scale or _CLOSE * max(float(np.abs(real).max()), 1e-9)
    if (
        abs(factor - 1) < 0.05
        or not factor
        or np.abs(real - factor * stored.real)[free].max() > unit
    ):
        return ""
    return f"is {factor:.3g} times what it should be"


_INPUT_RULES: tuple[Callable[[_StoredInput], str], ...] = (
    _as_float, _as_integer, _unscaled, _rounded, _offset, _factor,
)  # fmt: skip


# outputs


def _output_mistake(read: Array, said: Array, tensor: Tensor) -> str:
    right, printed = _real(read, said, tensor), said.astype(np.float64)
    return next(filter(None, _output_rules(read, right, printed, tensor)), _OTHER)


def _output_rules(read: Array, right: Reals, printed: Reals, tensor: Tensor) -> Iterator[str]:
    if read.dtype.kind != "f" and _reads_as_float(right, printed):
        yield f"is read as a float: it is {tensor.dtype} ({_parameters(tensor)})"
    if read.dtype.kind != "f" and (fit := _scaling(read.astype(np.float64), printed)):
        scale, zero = fit
        ours = f"{tensor.scale:.6g} ({tensor.zero_point})"
        yield f"is scaled with {scale:.6g} (zero point {zero}), the model's with {ours}"
    allowed = _CLOSE * max(float(np.abs(right).max(initial=0.0)), 1e-9)
    wrong = np.abs(printed - right) > allowed
    found = pattern(Values(printed, right, wrong, allowed, INFERENCES))
    yield f"{found}: read before Invoke()" if found == BEFORE else found
    if _same(np.sort(printed.reshape(len(printed), -1)), np.sort(right.reshape(len(right), -1))):
        yield "is stated in another order of its elements"


def _reads_as_float(right: Reals, printed: Reals) -> bool:
    """Whether most values are what small integers look like as floats: tiny, huge, or no number."""
    wild = ~np.isfinite(printed) | (np.abs(printed) < 1e-20) | (np.abs(printed) > 1e20)
    return bool((wild & (right != 0)).mean() > 0.5)


def _scaling(quantized: Reals, printed: Reals) -> tuple[float, int] | None:
    """Scale and zero point by which ``printed`` follows from ``quantized``; None if by none."""
    x, y = quantized.ravel(), printed.ravel()
    if len(np.unique(x)) < LEAST or not np.isfinite(y).all():
        return None
    scale, offset = np.polyfit(x, y, 1)
    if not scale or np.abs(scale * x + offset - y).max() > abs(scale) / 4:
        return None
    return float(scale), round(-offset / scale)
