"""Models that a user gives: ``SAADC=samples.npz``, ``PWM0=mine.py:Pwm``, ``PWM0=plotter``.

A model is a subclass of :class:`~harness.simulator.peripherals.base.Device`; SAADC, PDM, TWIM and
SPIM have one that a script feeds. A name without a file is an entry point of the group
``tflm_hil.peripherals``.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.platforms import ChipTable, Peripheral
from harness.simulator.peripherals.base import Chip, Device
from harness.simulator.peripherals.pdm import Pdm
from harness.simulator.peripherals.saadc import Saadc
from harness.simulator.peripherals.script import Scripted, read_bytes, read_script
from harness.simulator.peripherals.spim import Spim
from harness.simulator.peripherals.twim import Twim

ENTRY_POINTS = "tflm_hil.peripherals"
Maker = Callable[[Chip, Peripheral], Device]
_SCRIPTED: dict[str, type[Scripted]] = {"SAADC": Saadc, "PDM": Pdm}
#: Bus masters take the place of the UARTE with their number (nRF9160 PS, "Instantiation").
_MASTER = re.compile("(TWIM|SPIM)([0-3])")


def own_models(given: str | Mapping[str, object], chip: ChipTable) -> dict[str, Maker]:
    """The models of ``NAME=MODEL,NAME=MODEL``, or of a mapping; by the name of their row.

    Peripherals whose model is "storage" can be given one, and ``TWIM1`` or ``SPIM1`` in the place
    of UARTE1. Raises :class:`UsageError` that names the peripheral.
    """
    pairs = _pairs(given) if isinstance(given, str) else dict(given)
    lacking = {block.name for block in chip.without_model}
    for name in pairs:
        if name not in lacking and not _MASTER.fullmatch(name):
            raise UsageError(
                f"peripherals: {name} cannot be given a model",
                hint=", ".join([*sorted(lacking), "TWIM0 to TWIM3", "SPIM0 to SPIM3"]),
            )
    makers: dict[str, Maker] = {}
    for name, model in pairs.items():
        row = _MASTER.sub(r"UARTE\2", name)
        if row in makers:
            raise UsageError(f"peripherals: {name}: the place of {row} is taken")
        makers[row] = _named(name, _maker(name, model))
    return makers


def _named(name: str, maker: Maker) -> Maker:
    """``maker`` for a device that is called ``name``, whatever its row is called."""
    return lambda chip, block: maker(chip, replace(block, name=name))


def _pairs(text: str) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for pair in filter(None, text.split(",")):
        name, equals, model = pair.partition("=")
        if not equals or not model:
            raise UsageError(f"peripherals: {pair!r} is not NAME=MODEL")
        if name in pairs:
            raise UsageError(f"peripherals: {name} is given twice")
        pairs[name] = model
    return pairs


def _maker(name: str, model: object) -> Maker:
    if isinstance(model, str):
        if model.endswith((".npz", ".npy")):
            if master := _MASTER.fullmatch(name):
                return _master(master[1], read_bytes(Path(model), name), name)
            if name not in _SCRIPTED:
                raise UsageError(
                    f"peripherals: {name} takes no feed",
                    hint=f"{', '.join(_SCRIPTED)}, TWIM, SPIM do",
                )
            return partial(_SCRIPTED[name], script=read_script(Path(model), name))
        file, colon, attribute = model.rpartition(":")
        model = _from_file(name, Path(file), attribute) if colon else _installed(name, model)
    if not (isinstance(model, type) and issubclass(model, Device)):
        raise UsageError(f"peripherals: {name}: {model!r} is not a subclass of Device")
    return model


def _master(kind: str, arrays: Mapping[str, bytes], name: str) -> Maker:
    if kind == "SPIM":
        if "" not in arrays:
            raise UsageError(f"peripherals: there is no array {name}")
        return partial(Spim, miso=arrays[""])
    try:
        answers = {int(address, 16): data for address, data in arrays.items()}
    except ValueError as error:
        raise UsageError(
            f"peripherals: {name}: an array is called {name}.0x48, by its address"
        ) from error
    return partial(Twim, answers=answers)


def _from_file(name: str, path: Path, attribute: str) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"peripherals: {name}: there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return getattr(module, attribute)
    except Exception as error:  # whatever a user's module raises
        raise UsageError(
            f"peripherals: {name}: {path}:{attribute} does not load: {error}"
        ) from error


def _installed(name: str, model: str) -> object:
    for entry in metadata.entry_points(group=ENTRY_POINTS, name=model):
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(
                f"peripherals: {name}: {entry.value} does not load: {error}"
            ) from error
    raise UsageError(
        f"peripherals: {name}: no model {model!r} in {ENTRY_POINTS}",
        hint="FILE.npz, FILE.py:CLASS, or an installed entry point",
    )
