"""Findings from Renode's log: accesses that nothing models, and where the firmware made them."""

from __future__ import annotations

import re

from harness.base.findings import Finding, Kind
from harness.elf import Image

_BUS = re.compile(
    r"sysbus: (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?(?:\(tag: '(?P<tag>\w+)'\) )?"
    r"(?P<access>Read|Write)\w* (?:from|to) non existing peripheral at 0x(?P<address>[0-9A-Fa-f]+)"
)
_REGISTER = re.compile(
    r"\[WARNING\] (?P<block>\w+): (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?"
    r"Unhandled (?P<access>read|write) (?:from|to) offset 0x(?P<offset>[0-9A-Fa-f]+)"
)


def findings_in(log: str, image: Image) -> list[Finding]:
    """One finding for each address and direction, in the order in which they first occurred."""
    findings: dict[tuple[str, str], Finding] = {}
    for line in log.splitlines():
        match = _BUS.search(line) or _REGISTER.search(line)
        if match is None:
            continue
        fields = match.groupdict()
        if "address" in fields:
            address = int(fields["address"], 16)
            subject = fields["tag"] or f"0x{address:08x}"
            place = f"0x{address:08x}"
        else:
            subject = f"{fields['block'].upper()}+0x{int(fields['offset'], 16):x}"
            place = subject
        direction = fields["access"].lower()
        where = f" from {image.locate(int(fields['pc'], 16))}" if fields["pc"] else ""
        message = f"unmodelled access: {direction} at {place}{where}"
        findings.setdefault((place, direction), Finding(Kind.UNMODELLED_ACCESS, message, subject))
    return list(findings.values())
