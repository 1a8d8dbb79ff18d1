"""Scripted input of peripherals: arrays in ``.npz`` and ``.npy`` files."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from harness.base.errors import UsageError
from harness.base.findings import Kind
from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Nordic


def read_arrays(path: Path, name: str) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays of the peripheral ``name``, each flattened in C order.

    In an ``.npz`` these are the arrays named ``name`` or ``name.SUFFIX``; an ``.npy`` is the array
    ``name``. Raises :class:`UsageError` that names the file if it cannot be read, has no such
    array, or one that is empty or not of an integer dtype.
    """
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            arrays = {name: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{name}: cannot read {path}: {error}") from error
    found = {key: array for key, array in arrays.items() if key.partition(".")[0] == name}
    if not found:
        raise UsageError(f"{path} has no array {name}", hint=f"it has {[*arrays]}")
    for key, array in found.items():
        if not array.size or array.dtype.kind not in "iu":
            raise UsageError(f"{path}: array {key} must contain integers")
    return {key: array.ravel() for key, array in found.items()}


def _check_range(
    path: Path, name: str, array: npt.NDArray[np.generic], dtype: type[np.integer]
) -> None:
    limits = np.iinfo(dtype)
    if array.min() < limits.min or array.max() > limits.max:
        raise UsageError(
            f"{path}: the values of array {name} must be between {limits.min} and {limits.max}"
        )


def read_script(path: Path, name: str) -> npt.NDArray[np.int16]:
    """The values of the peripheral ``name``, shape (n,), int16."""
    array = read_arrays(path, name).get(name)
    if array is None:
        raise UsageError(f"{path} has no array {name}")
    _check_range(path, name, array, np.int16)
    return array.astype(np.int16)


def read_bytes(path: Path, name: str) -> dict[str, bytes]:
    """The bytes of each array of the peripheral ``name``, by suffix ("" for ``name`` itself)."""
    found = {}
    for key, array in read_arrays(path, name).items():
        _check_range(path, key, array, np.uint8)
        found[key.partition(".")[2]] = array.astype(np.uint8).tobytes()
    return found


class Scripted(Nordic):
    """A peripheral whose input is a script of 16-bit values; ``used`` counts those consumed."""

    STATE: ClassVar[tuple[str, ...]] = ("used",)

    def __init__(self, chip: Chip, block: Peripheral, script: npt.NDArray[np.int16]) -> None:
        self.script = script
        self.used = 0  # not cleared by a reset
        super().__init__(chip, block)

    def take(self, count: int) -> bytes | None:
        """The next ``count`` values, little-endian; None, and a finding, if fewer are left."""
        values = self.script[self.used : self.used + count]
        if len(values) < count:
            self.chip.report(
                Kind.FEED_EXHAUSTED,
                self.name,
                f"the feed of {self.name} has {len(self.script)} values, and more were asked for",
            )
            return None
        self.used += count
        return values.astype("<i2").tobytes()
