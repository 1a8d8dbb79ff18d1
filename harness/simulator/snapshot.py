"""Snapshots: fork a booted image into many runs.

Kept are the processor, all memory, every device, the appointments and the virtual time. Findings,
faults and the profile are evidence about the whole session: restoring leaves them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.simulator.machine import Machine


@dataclass(frozen=True)
class Snapshot:
    """One state of one machine; of use for that machine only, while it is open."""

    processor: bytes = field(repr=False)
    memory: dict[str, bytes] = field(repr=False)
    devices: dict[str, Any] = field(repr=False)
    blocks: dict[str, Any] = field(repr=False)
    events: Any = field(repr=False)
    executed: int
    slept: int
    printed: int
    resets: int
    sleeping: str


def take(machine: Machine) -> Snapshot:
    """The state of ``machine``, which must not be running."""
    return Snapshot(
        machine.core.save_state(),
        {name: bytes(store.view) for name, store in machine.engine.stores.items()},
        {name: device.state() for name, device in machine.devices.items()},
        {name: getattr(machine, name).state() for name in _BLOCKS},
        machine.events.state(),
        machine.core.executed,
        machine.slept,
        len(machine.console),
        machine.resets,
        machine.sleeping,
    )


def restore(machine: Machine, snapshot: Snapshot) -> None:
    """Take ``machine`` back to a snapshot of its own."""
    for name, data in snapshot.memory.items():
        store = machine.engine.stores[name]
        if store.view.tobytes() != data:  # comparing the views themselves is ten times slower
            store.view[:] = data
            if name == "flash":
                machine.engine.flush()
    if machine.core.coverage(1).strip(b"\0"):
        ram = machine.engine.stores["ram"].area
        machine.engine.code_changed(ram.origin, ram.end)
    machine.core.load_state(snapshot.processor)
    machine.core.executed = machine.core.stop_at = snapshot.executed
    machine.slept = snapshot.slept
    for name, state in snapshot.devices.items():
        machine.devices[name].restore(state)
    for name in _BLOCKS:
        getattr(machine, name).restore(snapshot.blocks[name])
    machine.events.restore(snapshot.events)
    machine.exceptions.locked_up = machine.exceptions.sleep_on_exit = False
    machine.reset_reason = None
    machine.sleeping = snapshot.sleeping
    del machine.console[snapshot.printed :]
    machine.resets = snapshot.resets


_BLOCKS = ("nvic", "mpu", "dwt", "systick", "scb")
