"""A fault as sessions show it, from the record of the simulator or of Renode."""

from __future__ import annotations

from harness.elf import Image
from harness.simulator.faults import FaultRecord, image_of, refused_access, report, where
from harness.targets.base import Fault


def fault_of(record: FaultRecord, image: Image) -> Fault:
    """``record``, decoded with the symbols and lines of ``image``."""
    return Fault(
        record.kind,
        record.status,
        record.pc,
        record.lr,
        record.address,
        where(record, image),
        report(record, image),
        record.world,
        image_of(record, image),
        refused_access(record) if record.world else "",
        executed=record.instructions,
        time=record.seconds,
        state=record.state,
    )
