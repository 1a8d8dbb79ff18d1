"""The records of one boot: what a check reads is claimed, what none reads is unexpected."""

from __future__ import annotations

from device import line

from harness.base.findings import Findings, Kind
from harness.case.evidence.ledger import Ledger
from harness.uart.record_reader import Records
from harness.uart.records import parse

KINDS = ("boot", "resolver", "arena", "stack", "stack", "end")


def ledger_of(*kinds: str, boots: int = 1, number: int = 0) -> Ledger:
    """The ledger of boot ``number`` of several that say the same."""
    records = Records()
    for at, kind in enumerate(kinds * boots):
        records.append(parse(line(at % len(kinds), kind).decode().rstrip()))
    return Ledger(records, number * len(kinds), (number + 1) * len(kinds), Findings())


def test_every_kind_that_no_check_reads_is_unexpected():
    ledger = ledger_of(*KINDS)
    ledger.rows("boot")
    ledger.take("arena")
    ledger.numbers("end", "status")
    ledger.close()
    assert [(one.kind, one.subject, one.message) for one in ledger.findings] == [
        (Kind.RECORD_UNEXPECTED, "resolver", "1 resolver records that no check reads"),
        (Kind.RECORD_UNEXPECTED, "stack", "2 stack records that no check reads"),
    ]


def test_looking_whether_there_is_a_record_claims_nothing():
    ledger = ledger_of("boot")
    assert ledger.has("boot")
    assert not ledger.has("end")
    ledger.close()
    assert len(list(ledger.findings)) == 1


def test_a_boot_has_its_own_records_only():
    for number in range(3):
        ledger = ledger_of(*KINDS, boots=3, number=number)
        assert ledger.rows("stack") == range(2 * number, 2 * number + 2)
        assert list(ledger.places("arena")) == [6 * number + 2]
        assert ledger.texts("boot", "sample") == ["x"]
        assert list(ledger.numbers("stack", "used")) == [1048, 1048]


def test_a_kind_of_another_boot_is_not_there():
    records = Records()
    for kind in ("boot", "end", "boot", "stack"):
        records.append(parse(line(0, kind).decode().rstrip()))
    first, second = (Ledger(records, at, at + 2, Findings()) for at in (0, 2))
    assert (first.has("end"), second.has("end")) == (True, False)
    assert (first.has("stack"), second.has("stack")) == (False, True)


def test_of_a_flood_of_one_kind_a_thousand_are_taken():
    assert len(ledger_of("boot", *["stack"] * 1002).take("stack")) == 1000
