"""What the world gives a peripheral: the values of an array, in order."""

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
    """The array of ``name`` in an ``.npz``, and those whose names go on with a dot; or an ``.npy``.

    An array of more than one axis is read row by row. Raises :class:`UsageError` that names the
    file if there is none, or for one that does not hold whole numbers.
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
            raise UsageError(f"{path}: the array for {key} does not hold whole numbers")
    return {key: array.ravel() for key, array in found.items()}


def _within(path: Path, name: str, array: npt.NDArray[np.generic], kind: type[np.integer]) -> None:
    limits = np.iinfo(kind)
    if array.min() < limits.min or array.max() > limits.max:
        raise UsageError(
            f"{path}: the array for {name} does not hold numbers of {limits.bits} bits"
        )


def read_script(path: Path, name: str) -> npt.NDArray[np.int16]:
    """The values for the peripheral ``name``, whole numbers of 16 bits."""
    array = read_arrays(path, name).get(name)
    if array is None:
        raise UsageError(f"{path} has no array {name}")
    _within(path, name, array, np.int16)
    return array.astype(np.int16)


def read_bytes(path: Path, name: str) -> dict[str, bytes]:
    """The bytes of each array of ``name``, by what stands behind the dot, ``""`` for none."""
    found = {}
    for key, array in read_arrays(path, name).items():
        _within(path, key, array, np.uint8)
        found[key.partition(".")[2]] = array.astype(np.uint8).tobytes()
    return found


class Scripted(Nordic):
    """A peripheral that stores 16-bit values of a script; ``used`` counts those it has given."""

    STATE: ClassVar[tuple[str, ...]] = ("used",)

    def __init__(self, chip: Chip, block: Peripheral, script: npt.NDArray[np.int16]) -> None:
        self.script = script
        self.used = 0  # a reset does not rewind the world
        super().__init__(chip, block)

    def take(self, count: int) -> bytes | None:
        """The next values as they stand in memory; None, and a finding, if they do not suffice."""
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
