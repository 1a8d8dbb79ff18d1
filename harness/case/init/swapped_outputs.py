"""Two outputs of the model in an image change places: does the console show it?"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from harness.base import files
from harness.case.init.watch import Watched, watch
from harness.elf import Image
from harness.model import Model
from harness.model.types import Operator, Tensor

#: Operators through which each output comes from the input at the same place.
_THROUGH = {"SOFTMAX", "LOGISTIC", "DEQUANTIZE", "QUANTIZE", "RESHAPE"}


def run_swapped(elf: Path, model: Model) -> Watched | None:
    """The run of ``elf`` with two outputs of its model swapped; None without a last dense layer."""
    swapped = with_swapped_outputs(model)
    content = files.read(elf)
    if swapped is None or model.data not in content:
        return None
    with TemporaryDirectory() as folder:
        spoilt = Path(folder) / elf.name
        files.write(spoilt, content.replace(model.data, swapped))
        return watch(spoilt, image=Image.from_elf(spoilt))


def with_swapped_outputs(model: Model) -> bytes | None:
    """The model's file with the first two outputs of its last dense layer swapped; None without."""
    dense = _last_dense(model)
    if dense is None:
        return None
    data = bytearray(model.data)
    for index in dense.inputs[1:3]:  # weights, (outputs, inputs), and bias, (outputs)
        if index >= 0 and not _swap_rows(data, model, model.tensors[index]):
            return None
    return bytes(data) if bytes(data) != model.data else None


def _last_dense(model: Model) -> Operator | None:
    """The dense layer that computes the first output, perhaps through a softmax."""
    wanted = model.outputs[0].index
    for operator in reversed(model.operators):
        if wanted not in operator.outputs:
            continue
        if operator.name == "FULLY_CONNECTED":
            return operator
        if operator.name not in _THROUGH:
            return None
        wanted = operator.inputs[0]
    return None


def _swap_rows(data: bytearray, model: Model, tensor: Tensor) -> bool:
    """Swap the first two rows of a constant in a file; False if it has none, or is not found."""
    if tensor.data is None or not tensor.shape or tensor.shape[0] < 2:
        return False
    content = bytes(tensor.data)
    start, size = model.data.find(content), len(content) // tensor.shape[0]
    if start < 0:
        return False
    first, second = (slice(start + at * size, start + (at + 1) * size) for at in (0, 1))
    data[first], data[second] = data[second], data[first]
    return True
