"""Renode's warnings become findings, each access once."""

from __future__ import annotations

import pytest

from harness.base.findings import Kind
from harness.targets.renode.unmodelled import findings_in

#: A line of the agent -> the subject and the message of its finding.
WARNINGS = {
    "1000 [WARNING] sysbus: [cpu: 0x40] (tag: 'NVMC') WriteDoubleWord to non existing peripheral"
    " at 0x50039540, value 0x1.": ("NVMC", "write at 0x50039540 from main"),
    "2000 [WARNING] sysbus: [cpu: 0x2000] ReadByte from non existing peripheral at 0x50001000.": (
        "0x50001000", "read at 0x50001000 from 0x00002000"),
    "3000 [WARNING] vmc: [cpu: 0x40] Unhandled read from offset 0x600.": (
        "VMC+0x600", "read at VMC+0x600 from main"),
    "[WARNING] uarte1: Unhandled write to offset 0x1A0, value 0x8000000F.": (
        "UARTE1+0x1a0", "write at UARTE1+0x1a0"),
}  # fmt: skip


@pytest.mark.parametrize("line", WARNINGS)
def test_an_unmodelled_access_is_a_finding(firmware, line):
    subject, message = WARNINGS[line]
    (found,) = findings_in(line, firmware)
    assert (found.kind, found.subject) == (Kind.UNMODELLED_ACCESS, subject)
    assert found.message == f"unmodelled access: {message}"
    assert found.time == (int(line[0]) / 1e6 if line[0].isdigit() else None)


def test_findings_are_in_the_order_of_their_first_occurrence(firmware):
    text = "\n".join([*WARNINGS, *reversed(WARNINGS)])
    assert [one.subject for one in findings_in(text, firmware)] == [
        subject for subject, _ in WARNINGS.values()
    ]


def test_a_read_and_a_write_of_one_register_are_two_findings(firmware):
    text = "\n".join(
        f"1000 [WARNING] vmc: [cpu: 0x40] Unhandled {access} offset 0x600."
        for access in ("read from", "write to", "read from")
    )
    assert len(findings_in(text, firmware)) == 2


@pytest.mark.parametrize(
    "line",
    [
        "1000 [WARNING] nvic: [cpu: 0x40] Unhandled write to offset 0xD2C, value 0x2.",
        "1000 [WARNING] cpu: [cpu: 0x40] Something else",
        "",
    ],
)
def test_what_is_known_or_no_access_is_no_finding(firmware, line):
    assert findings_in(line, firmware) == []
