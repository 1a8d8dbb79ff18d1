"""Input tensors from ``.npy`` and ``.npz`` files, one row per inference."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from harness.base import files
from harness.base.errors import UsageError
from harness.model import Model
from harness.reference.quantization import quantize


def load_inputs(path: Path, model: Model, *, real: bool = False) -> list[list[bytes]]:
    """Read the bytes of each input tensor of each inference.

    ``.npy``: the only input, shape ``(inferences, *shape)``. ``.npz``: one array per input, by the
    tensor's name, its index, or, for a model with one input, its dtype.

    With ``real`` floats for quantized inputs are quantized. Raises :class:`UsageError` if the file
    does not fit the model.
    """
    arrays = _read(path)
    columns = []
    for index, tensor in enumerate(model.inputs):
        keys = [tensor.name, str(index)]
        if len(model.inputs) == 1:
            keys += ["", tensor.dtype]
        array = next((arrays[key] for key in keys if key in arrays), None)
        if array is None:
            have = ", ".join(filter(None, arrays)) or "one unnamed array"
            raise UsageError(f"{path} has no array for input {tensor.name!r} (it has {have})")
        if not array.ndim or not len(array):
            raise UsageError(f"{path} holds no rows for input {tensor.name!r}")
        if real and tensor.scale and array.dtype.kind == "f":
            array = quantize(array, tensor.scale, tensor.zero_point, tensor.dtype)
        if str(array.dtype) != tensor.dtype or array[0].size != int(np.prod(tensor.shape)):
            raise UsageError(
                f"{path}: input {tensor.name!r} takes rows of {tensor.dtype} {tensor.shape}, "
                f"the file has {array.dtype} {array.shape[1:]}",
                hint="reference --quantize takes real values" if array.dtype.kind == "f" else "",
            )
        columns.append([np.ascontiguousarray(row).tobytes() for row in array])
    if len({len(column) for column in columns}) != 1:
        raise UsageError(f"{path} does not hold the same number of rows for each input")
    return [list(row) for row in zip(*columns, strict=True)]


def load_batch(
    path: Path, model: Model, *, real: bool = False
) -> list[np.ndarray[Any, np.dtype[Any]]]:
    """Read one array per input, of shape ``(inferences, *shape)`` and the input's dtype.

    The file is one for :func:`load_inputs`, which describes ``real`` and the errors, too.
    """
    rows = load_inputs(path, model, real=real)
    return [
        np.stack([np.frombuffer(row[index], tensor.dtype).reshape(tensor.shape) for row in rows])
        for index, tensor in enumerate(model.inputs)
    ]


def _read(path: Path) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    data = files.read(path)
    try:
        _check_size(data)
        # NumPy reads the arrays of an .npz on access, so either step may find the file broken.
        loaded = np.load(BytesIO(data), allow_pickle=False)
        return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except Exception as error:  # zipfile and NumPy raise a dozen kinds for a broken file
        # NumPy's message advises to unpickle the file, which is unsafe: it is not passed on.
        raise UsageError(
            f"cannot read the inputs {path}: not a whole .npy or .npz file of numbers",
            hint="write them with numpy.save or savez",
        ) from error


def _check_size(data: bytes) -> None:
    """Raise ValueError for an .npz that would unpack to more than ``files.MOST_BYTES``."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > files.MOST_BYTES:
                raise ValueError("too large")
