"""Names the memory or device that a faulting access or jump went to, with its world."""

from __future__ import annotations

from harness.simulator.faults import JUMPS, FaultRecord
from harness.simulator.memorymap import MemoryMap
from harness.simulator.security.attribution import Attribution
from harness.simulator.security.worlds import NAMES

_MEMORIES = {"flash": "flash", "ram": "RAM", "ficr": "FICR", "uicr": "UICR"}
#: Faults of a load or store; the address of another fault is not the one of an access.
_ACCESSES = ("BusFault", "SecureFault")


def target_of(
    record: FaultRecord, chip: MemoryMap, attribution: Attribution, *, is_write: bool
) -> str:
    """``read of secure RAM``, ``write to secure UARTE0``, ``secure flash``; "" for other faults."""
    if record.reason in JUMPS:
        return _whose(record.pc, chip, attribution)
    if record.address is None or record.cause not in _ACCESSES:
        return ""
    access = "write to" if is_write else "read of"
    return f"{access} {_whose(record.address, chip, attribution)}"


def _whose(address: int, chip: MemoryMap, attribution: Attribution) -> str:
    secure = attribution.is_secure(address)
    name = next((_MEMORIES[area.name] for area in chip.areas if area.holds(address)), "address")
    for block in chip.blocks:
        if any(base <= address < base + block.size for base in block.addresses):
            name = block.name
            if len(block.bases) > 1:  # the SPU decides, not the address
                secure = attribution.spu.is_secure(block.number)
    return f"{NAMES[not secure]} {name}"
