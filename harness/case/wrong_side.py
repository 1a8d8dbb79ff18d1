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
from harness.uart.scrapers.base import Stated

Array = npt.NDArray[np.generic]
Reals = npt.NDArray[np.float64]

#: Part of a value by which two that are the same may differ: printed digits.
_CLOSE = 1e-3
#: The smallest number of different values from which a rule is told.
_LEAST_VALUES = 3
#: Elements by which an input may be shifted.
_MOST_SHIFTED = 8
_TENSOR = "TfLiteTensor"


def explained(
    inferences: Sequence[DeviceInference], stated: Stated, interpreter: Interpreter, image: Image
) -> str:
    """Which side is wrong, in one line; "" if both are as they should be."""
    count = min(len(inferences), len(stated.outputs[0]) if stated.outputs else 0)
    model = interpreter.model
    got = [_read(inferences[:count], "inputs", at, one) for at, one in enumerate(model.inputs)]
    gave = [_read(inferences[:count], "outputs", at, one) for at, one in enumerate(model.outputs)]
    if not count:
        return ""
    if not _computes(interpreter, got, gave):
        if interpreter.stateful and _computes_afresh(interpreter, got, gave):
            return "the kernels are right, but the model's state is reset before each inference"
        return "the kernels compute other outputs for the inputs that they got"
    for number, (read, said, tensor) in enumerate(
        zip(got, stated.inputs, model.inputs, strict=False)
    ):
        if not np.array_equal(read, said[:count]):
            name = _name("input", number, model.inputs)
            layout = _two_layouts(image)
            heads = [one.heads[number] for one in inferences[:count]]
            how = layout or _input_mistake(_StoredInput(read, said[:count], tensor, heads))
            return f"the kernels are right; {name} {how}"
    for number, (read, said, tensor) in enumerate(
        zip(gave, stated.outputs, model.outputs, strict=False)
    ):
        if not _same(_real(read, said, tensor), said[:count].astype(np.float64)):
            name = _name("output", number, model.outputs)
            layout = _two_layouts(image)
            how = layout or _output_mistake(read, said[:count], tensor)
            return f"the kernels are right; {name} {how}"
    return ""


def _name(role: str, number: int, tensors: Sequence[Tensor]) -> str:
    return f"the {role}" if len(tensors) == 1 else f"{role} {number}"


def _read(inferences: Sequence[DeviceInference], role: str, at: int, tensor: Tensor) -> Array:
    """One tensor of all inferences, (inferences, *shape)."""
    parts = [getattr(one, role)[at] for one in inferences]
    return np.frombuffer(b"".join(parts), tensor.dtype).reshape(len(parts), *tensor.shape)


def _computes(interpreter: Interpreter, inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
    """Whether the reference computes ``outputs`` from ``inputs``, one inference after the other."""
    interpreter.restart()
    expected = interpreter.invoke_batch(inputs, runs=len(outputs[0]))
    for index, (ours, theirs) in enumerate(zip(expected, outputs, strict=True)):
        if ours.dtype.kind != "f":
            if not np.array_equal(ours, theirs):
                return False
            continue
        runs = np.ones(len(ours), np.bool_)
        allowed = allowed_in_batch(interpreter, inputs, index, runs)
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
        if not bool((difference <= allowed).all()):
            return False
    return True


def _computes_afresh(
    interpreter: Interpreter, inputs: Sequence[Array], outputs: Sequence[Array]
) -> bool:
    """The same with the state of a new interpreter for each inference."""
    for run in range(len(outputs[0])):
        one = slice(run, run + 1)
        if not _computes(interpreter, [each[one] for each in inputs],
                         [each[one] for each in outputs]):  # fmt: skip
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
    return (
        f"is read through another struct: {_TENSOR} has {sizes[0]} bytes in some files and "
        f"{sizes[1]} in others (TF_LITE_STATIC_MEMORY)"
    )


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
    return found or "in memory is not the one that is stated"


def _as_float(stored: _StoredInput) -> str:
    """A float32 in the bytes of an integer tensor."""
    if stored.read.dtype.kind == "f":
        return ""
    floats = np.frombuffer(b"".join(one[:4] for one in stored.heads), "<f4").astype(np.float64)
    firsts = stored.real.reshape(len(stored.real), -1)[:, 0]
    unit = stored.tensor.scale or 0.0
    if len(np.unique(firsts)) < _LEAST_VALUES or not np.allclose(floats, firsts, 0.01, unit):
        return ""
    return f"holds a float: it is {stored.tensor.dtype}, quantize it ({_parameters(stored.tensor)})"


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
    if stored.read.dtype.kind == "f" or len(np.unique(stored.read)) < _LEAST_VALUES:
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
    if len(np.unique(stored.real[free])) < _LEAST_VALUES:
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


def _late(stored: _StoredInput) -> str:
    if len(stored.read) > 2 and np.array_equal(stored.read[1:], stored.right[:-1]):
        return "is the one of the inference before"
    return ""


def _shifted(stored: _StoredInput) -> str:
    read, right = (one.reshape(len(one), -1) for one in (stored.read, stored.right))
    for by in range(1, min(_MOST_SHIFTED, read.shape[1] - _LEAST_VALUES) + 1):
        if np.array_equal(read[:, by:], right[:, :-by]) or np.array_equal(
            read[:, :-by], right[:, by:]
        ):
            return f"is shifted by {by} element{'s' if by > 1 else ''}"
    return ""


def _swapped_axes(stored: _StoredInput) -> str:
    axes = [axis for axis in range(1, stored.read.ndim) if stored.read.shape[axis] > 1]
    for one, other in combinations(axes, 2):
        swapped = np.swapaxes(stored.read, one, other)
        if np.array_equal(swapped.ravel(), stored.right.ravel()):
            return f"has axes {one - 1} and {other - 1} swapped"
    return ""


def _constant(stored: _StoredInput) -> str:
    if (stored.read == stored.read[:1]).all() and len(np.unique(stored.right, axis=0)) > 1:
        return "is never changed: it is the same in each inference"
    return ""


_INPUT_RULES: tuple[Callable[[_StoredInput], str], ...] = (
    _constant, _swapped_axes, _as_float, _unscaled, _rounded, _offset, _late, _shifted, _factor,
)  # fmt: skip


# outputs


def _output_mistake(read: Array, said: Array, tensor: Tensor) -> str:
    right, printed = _real(read, said, tensor), said.astype(np.float64)
    return next(
        _output_rules(read, right, printed, tensor), "in memory is not the one that is stated"
    )


def _output_rules(read: Array, right: Reals, printed: Reals, tensor: Tensor) -> Iterator[str]:
    if len(right) > 2 and _same(printed[1:], right[:-1]):
        yield "is stated before Invoke(): it is the one of the inference before"
    if read.dtype.kind != "f" and _reads_as_float(right, printed):
        yield f"is read as a float: it is {tensor.dtype} ({_parameters(tensor)})"
    if read.dtype.kind != "f" and (fit := _scaling(read.astype(np.float64), printed)):
        scale, zero = fit
        wrong = f"is scaled with {scale:.6g} and zero point {zero}"
        yield f"{wrong}: the model has {_parameters(tensor)}"
    if _same(np.sort(printed.reshape(len(printed), -1)), np.sort(right.reshape(len(right), -1))):
        yield "is stated in another order of its elements"


def _reads_as_float(right: Reals, printed: Reals) -> bool:
    """Whether most values are what small integers look like as floats: tiny, huge, or no number."""
    wild = ~np.isfinite(printed) | (np.abs(printed) < 1e-20) | (np.abs(printed) > 1e20)
    return bool((wild & (right != 0)).mean() > 0.5)


def _scaling(quantized: Reals, printed: Reals) -> tuple[float, int] | None:
    """Scale and zero point by which ``printed`` follows from ``quantized``; None if by none."""
    x, y = quantized.ravel(), printed.ravel()
    if len(np.unique(x)) < _LEAST_VALUES or not np.isfinite(y).all():
        return None
    scale, offset = np.polyfit(x, y, 1)
    if not scale or np.abs(scale * x + offset - y).max() > abs(scale) / 4:
        return None
    return float(scale), round(-offset / scale)
