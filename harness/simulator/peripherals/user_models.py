"""Models selected by the user: ``SAADC=samples.npz``, ``PWM0=mine.py:Pwm``, ``PWM0=plotter``.

A model is a subclass of :class:`~harness.simulator.peripherals.base.Device`. SAADC, PDM, TWIM and
SPIM have built-in models that read their data from a file. A name without a file is an entry point
of the group ``tflm_hil.peripherals``.
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
#: Bus masters share the block of the UARTE with their number (nRF9160 PS, "Instantiation").
_MASTER = re.compile("(TWIM|SPIM)([0-3])")


def user_models(given: str | Mapping[str, object], chip: ChipTable) -> dict[str, Maker]:
    """The models in ``NAME=MODEL,NAME=MODEL`` or in a mapping, by the block's name in the table.

    Allowed names: peripherals without a model ("storage"), and ``TWIM0`` to ``TWIM3`` and ``SPIM0``
    to ``SPIM3``, which replace the UARTE with their number. Raises :class:`UsageError` for an
    invalid name or model.
    """
    models = pairs(given) if isinstance(given, str) else dict(given)
    lacking = {block.name for block in chip.without_model}
    for name in models:
        if name not in lacking and not _MASTER.fullmatch(name):
            raise UsageError(
                f"peripherals: {name} cannot be given a model",
                hint=", ".join([*sorted(lacking), "TWIM0 to TWIM3", "SPIM0 to SPIM3"]),
            )
    makers: dict[str, Maker] = {}
    for name, model in models.items():
        row = _MASTER.sub(r"UARTE\2", name)
        if row in makers:
            raise UsageError(f"peripherals: {name}: another model already replaces {row}")
        makers[row] = _named(name, _maker(name, model))
    return makers


def _named(name: str, maker: Maker) -> Maker:
    """``maker`` with the device named ``name`` instead of as its row in the table."""
    return lambda chip, block: maker(chip, replace(block, name=name))


def pairs(text: str) -> dict[str, object]:
    """The models in ``NAME=MODEL,NAME=MODEL``; raises :class:`UsageError` for another text."""
    models: dict[str, object] = {}
    for pair in filter(None, text.split(",")):
        name, equals, model = pair.partition("=")
        if not equals or not model:
            raise UsageError(f"peripherals: {pair!r} is not NAME=MODEL")
        if name in models:
            raise UsageError(f"peripherals: {name} is given twice")
        models[name] = model
    return models


def _maker(name: str, model: object) -> Maker:
    if isinstance(model, str):
        if model.endswith((".npz", ".npy")):
            if master := _MASTER.fullmatch(name):
                return _master(master[1], read_bytes(Path(model), name), name)
            if name not in _SCRIPTED:
                raise UsageError(
                    f"peripherals: {name} cannot read its data from a file",
                    hint=f"possible for {', '.join(_SCRIPTED)}, TWIM and SPIM",
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
            raise UsageError(f"peripherals: no array is named {name}")
        return partial(Spim, miso=arrays[""])
    try:
        answers = {int(address, 16): data for address, data in arrays.items()}
    except ValueError as error:
        raise UsageError(
            f"peripherals: {name}: arrays must be named by device address, such as {name}.0x48"
        ) from error
    return partial(Twim, answers=answers)


def _from_file(name: str, path: Path, attribute: str) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"peripherals: {name}: no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return getattr(module, attribute)
    except Exception as error:  # a user's module can raise anything
        raise UsageError(f"peripherals: {name}: cannot load {path}:{attribute}: {error}") from error


def _installed(name: str, model: str) -> object:
    for entry in metadata.entry_points(group=ENTRY_POINTS, name=model):
        try:
            return entry.load()
        except (ImportError, AttributeError) as error:
            raise UsageError(f"peripherals: {name}: cannot load {entry.value}: {error}") from error
    raise UsageError(
        f"peripherals: {name}: no model {model!r} in {ENTRY_POINTS}",
        hint="FILE.npz, FILE.py:CLASS, or an installed entry point",
    )
