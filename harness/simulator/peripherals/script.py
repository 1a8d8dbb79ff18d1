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


def read_script(path: Path, name: str) -> npt.NDArray[np.int16]:
    """The values for the peripheral ``name``: its array in an ``.npz``, or that of an ``.npy``.

    They are whole numbers of 16 bits; an array of more than one axis is read row by row. Raises
    :class:`UsageError` that names the file for anything else.
    """
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                values = loaded
            elif name in loaded:
                values = loaded[name]
            else:
                raise UsageError(f"{path} has no array {name}", hint=f"it has {[*loaded]}")
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{name}: cannot read {path}: {error}") from error
    limits = np.iinfo(np.int16)
    whole = values.size and values.dtype.kind in "iu"
    if not whole or values.min() < limits.min or values.max() > limits.max:
        raise UsageError(f"{path}: the array for {name} does not hold whole numbers of 16 bits")
    return values.astype(np.int16).ravel()


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
