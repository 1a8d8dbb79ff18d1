"""Findings from Renode's warnings: accesses of the firmware that nothing models."""

from __future__ import annotations

import re

from harness.base.findings import Finding, Kind
from harness.elf import Image

_NS = 1_000_000_000
#: Renode's warnings about unmodelled accesses: at an address, and at a register of a peripheral.
_BUS_WARNING = re.compile(
    r"sysbus: (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?(?:\(tag: '(?P<tag>\w+)'\) )?"
    r"(?P<access>Read|Write)\w* (?:from|to) non existing peripheral at 0x(?P<address>[0-9A-Fa-f]+)"
)
_REGISTER_WARNING = re.compile(
    r"\[WARNING\] (?P<block>\w+): (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?"
    r"Unhandled (?P<access>read|write) (?:from|to) offset 0x(?P<offset>[0-9A-Fa-f]+)"
)
#: When the warning was, in ns.
_STAMP = re.compile(r"\d+")
#: A warning that is no finding: HFSR is cleared all the same (Zephyr does so at boot).
_KNOWN = re.compile(r"\[WARNING\] nvic: .*Unhandled write to offset 0xD2C\b")


def findings_in(warnings: str, image: Image) -> list[Finding]:
    """A finding for each address and direction of unmodelled accesses in Renode's warnings.

    They are in the order of their first occurrence, which has its virtual time in ns before it.
    """
    findings: dict[tuple[str, str], Finding] = {}
    for line in warnings.splitlines():
        match = _BUS_WARNING.search(line) or _REGISTER_WARNING.search(line)
        if match is None or _KNOWN.search(line):
            continue
        fields = match.groupdict()
        if "address" in fields:
            address = int(fields["address"], 16)
            subject = fields["tag"] or f"0x{address:08x}"
            location = f"0x{address:08x}"
        else:
            subject = f"{fields['block'].upper()}+0x{int(fields['offset'], 16):x}"
            location = subject
        direction = fields["access"].lower()
        where = f" from {image.locate(int(fields['pc'], 16))}" if fields["pc"] else ""
        message = f"unmodelled access: {direction} at {location}{where}"
        time = int(stamped[0]) / _NS if (stamped := _STAMP.match(line)) else None
        finding = Finding(Kind.UNMODELLED_ACCESS, message, subject, time=time)
        findings.setdefault((location, direction), finding)
    return list(findings.values())
