"""Snapshots: fork a booted image into many runs, in this process or in others.

A snapshot contains the processor, all memory, every device, the scheduled events, the virtual time
and the console, but not findings, faults and the profile, which belong to a whole session.
:func:`load` reads the file of :func:`save` on a machine with the same image and the same version of
the simulator.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from harness.base import files
from harness.base.errors import UsageError
from harness.simulator.machine import Machine
from harness.simulator.transcript import Packed

#: Version of the content and the format of a snapshot.
FORMAT = 8
_MAGIC = b"tflm-hil snapshot\n"
#: Bytes of a decompressed file: more are refused.
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Snapshot:
    """One state of a machine."""

    processor: bytes = field(repr=False)
    extras: int
    memory: dict[str, bytes] = field(repr=False)
    flash: object = field(repr=False, compare=False)  # Engine.flash_content
    devices: dict[str, Any] = field(repr=False)
    registers: dict[str, Any] = field(repr=False)  # of the processor
    events: Any = field(repr=False)
    executed: int
    sequential: int
    slept: int
    console: Packed = field(repr=False)
    resets: int
    sleeping: str
    firmware_resets: int = field(repr=False)


def take(machine: Machine) -> Snapshot:
    """The state of ``machine``, which must not be running."""
    return Snapshot(
        machine.core.save_state(),
        machine.core.extras,
        {name: bytes(store.view) for name, store in machine.engine.stores.items()},
        machine.engine.flash_content,
        {name: device.state() for name, device in machine.devices.items()},
        machine.chip.processor.state(),
        machine.events.state(),
        machine.core.executed,
        machine.core.sequential,
        machine.core.slept + machine.core.branches,
        machine.console.state(),
        machine.resets,
        machine.sleeping,
        machine.firmware_resets,
    )


def restore(machine: Machine, snapshot: Snapshot) -> None:
    """Restore a snapshot of ``machine``, or of a machine with the same image."""
    _restore_memory(machine, snapshot)
    core = machine.core
    core.extras |= snapshot.extras
    core.load_state(snapshot.processor)
    core.executed = core.stop_at = snapshot.executed
    core.sequential = snapshot.sequential
    core.slept, core.branches = snapshot.slept, 0
    for name, state in snapshot.devices.items():
        if not machine.devices[name].holds(state):
            machine.devices[name].restore(state)
    if machine.chip.processor.restore(snapshot.registers):
        machine.chip.security_changed()
    core.update_masks()
    core.synchronize()
    machine.events.restore(snapshot.events)
    machine.chip.reset_reason = None
    machine.sleeping = snapshot.sleeping
    machine.resets, machine.firmware_resets = snapshot.resets, snapshot.firmware_resets
    machine.console.restore(snapshot.console)


def _restore_memory(machine: Machine, snapshot: Snapshot) -> None:
    """Write the pages that differ; compare flash only if it has been programmed."""
    engine = machine.engine
    ram = engine.stores["ram"].area
    if machine.core.has_run(1):
        engine.code_changed(ram.origin, ram.end)
    for name, data in snapshot.memory.items():
        if name != "flash":
            machine.core.put_back(engine.stores[name].host, data)
        elif engine.flash_content is not snapshot.flash:
            if machine.core.put_back(engine.stores[name].host, data):
                engine.flush()
            engine.flash_content = snapshot.flash


def save(machine: Machine, snapshot: Snapshot, path: Path) -> None:
    """Write a snapshot of ``machine`` to a file; raise :class:`CannotWrite`."""
    content = {part.name: getattr(snapshot, part.name) for part in fields(snapshot)}
    content |= {"flash": None, "made_by": _made_by(machine)}
    packed = zlib.compress(json.dumps(_packed(content)).encode("ascii"), 1)
    files.write(path, _MAGIC + packed)


def load(machine: Machine, path: Path) -> Snapshot:
    """Read the snapshot in ``path``, for ``machine``.

    Raises :class:`UsageError` if the file is not a snapshot, is truncated, or was made with another
    image or another version.
    """
    data = files.read(path)
    if not data.startswith(_MAGIC):
        raise UsageError(f"{path} is not a snapshot")
    try:
        content = _unpacked(json.loads(_inflated(data[len(_MAGIC) :])))
        made_by = content.pop("made_by")
        content["flash"] = object()
        snapshot = Snapshot(**content)
    except (
        zlib.error,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise UsageError(f"{path} is a damaged snapshot: {error}") from error
    if made_by != _made_by(machine):
        raise UsageError(f"{path} was made with another image or another version of the simulator")
    return snapshot


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    inflated = stream.decompress(data, _LARGEST)
    if not stream.eof:
        raise ValueError("it is cut off, or too large")
    return inflated


def _made_by(machine: Machine) -> str:
    """An identifier of the image, and of everything else on which a snapshot depends."""
    known = hashlib.sha256()
    for address, data in machine.image.parts:
        known.update(f"{address} {len(data)} ".encode() + data)
    names = ",".join(f"{name}:{sorted(one.state())}" for name, one in machine.devices.items())
    known.update(names.encode())
    return f"{FORMAT} {machine.engine.version} {len(machine.core.save_state())} {known.hexdigest()}"


def _packed(value: Any) -> Any:
    """Encode bytes, tuples and keys of any type, which JSON does not have, as tagged pairs."""
    if isinstance(value, bytes | bytearray):
        return [type(value).__name__, base64.b64encode(value).decode("ascii")]
    if isinstance(value, tuple | list):
        return [type(value).__name__, [_packed(item) for item in value]]
    if isinstance(value, dict):
        return ["dict", [[_packed(key), _packed(item)] for key, item in value.items()]]
    return value


_MAKERS: dict[str, Callable[[Any], Any]] = {
    "bytes": base64.b64decode,
    "bytearray": lambda text: bytearray(base64.b64decode(text)),
    "tuple": lambda items: tuple(_unpacked(item) for item in items),
    "list": lambda items: [_unpacked(item) for item in items],
    "dict": lambda pairs: {_unpacked(key): _unpacked(item) for key, item in pairs},
}


def _unpacked(value: Any) -> Any:
    return _MAKERS[value[0]](value[1]) if isinstance(value, list) else value
