"""All records of a console: their numbers, their order, their boots."""

import itertools

import pytest
from device import FIELDS, console_of, kinds, line, lines, told
from hypothesis import given
from hypothesis import strategies as st

from harness.base.findings import Kind
from harness.uart import Console, encode
from harness.uart.record_reader import Records
from harness.uart.records import parse

BOOT, END = line(0, "boot"), line(2, "end")


@given(st.lists(st.sampled_from(sorted(FIELDS)), max_size=30))
def test_columns_return_their_values(chosen):
    records = [parse(line(n, kind).decode().rstrip()) for n, kind in enumerate(chosen)]
    held = Records()
    for record in records:
        held.append(record)
    assert list(held) == records
    assert held[1:] == records[1:]
    for kind in FIELDS:
        wanted = [record for record in records if record.kind == kind]
        assert list(held.of_kind(kind)) == wanted
        assert held.of_kind(kind)[-2:] == wanted[-2:]
        assert len(held.of_kind(kind)) == len(wanted)


def test_an_absent_optional_field_stays_absent():
    console = console_of(line(0, "op"), line(1, "op", untold=2))
    assert "untold" not in console.records[0].fields
    assert console.records[1].integer("untold") == 2


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=5))
def test_records_do_not_depend_on_chunk_borders(data, cuts):
    stream = BOOT + data + b"\n" + END
    whole, cut = console_of(stream), Console()
    edges = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]
    for start, stop in itertools.pairwise(edges):
        cut.feed(stream[start:stop])
    cut.finish()
    assert [one.raw for one in cut.read_lines()] == [one.raw for one in whole.read_lines()]
    assert cut.findings == whole.findings


def test_a_record_behind_a_log_message_on_the_same_line_is_read():
    console = console_of(BOOT, b"[00:00:00.001] <inf> app: busy " + line(1, "failed"), END)
    assert [record.kind for record in console.records] == ["boot", "failed", "end"]
    assert kinds(console) == [Kind.ALLOCATION_FAILED]


@pytest.mark.parametrize(("number", "words"), [(2, "record 1 did"), (4, "records 1 to 3 did")])
def test_lost_records_are_a_finding_that_names_their_numbers(number, words):
    console = console_of(BOOT, line(number, "failed"))
    assert kinds(console) == [Kind.RECORD_LOST, Kind.ALLOCATION_FAILED]
    assert f"{words} not arrive" in console.findings[0].message
    assert console.findings[0].line == 2


def test_complete_records_have_no_loss():
    console = console_of(BOOT, line(1, "resolver"), line(2, "failed"), line(3, "end"))
    assert kinds(console) == [Kind.ALLOCATION_FAILED]


def test_the_first_record_may_be_the_lost_one():
    assert Kind.RECORD_LOST in kinds(console_of(line(1, "failed")))
    assert Kind.RECORD_LOST not in kinds(console_of(line(0, "failed")))


def test_a_first_record_that_is_garbled_is_not_reported_as_lost_too():
    console = console_of(line(0, "boot").replace(b"sample", b"sAmple"), line(1, "failed"))
    assert kinds(console) == [Kind.RECORD_GARBLED, Kind.ALLOCATION_FAILED]


def test_each_garbled_record_accounts_for_one_lost_record():
    bad = line(1, "arena").replace(b"used", b"usEd")
    console = console_of(BOOT, bad, bad, line(3, "failed"), bad, line(6, "end"))
    lost = [f.message for f in console.findings if f.kind is Kind.RECORD_LOST]
    assert lost == ["records 4 to 5 did not arrive, 1 of them garbled"]


def test_a_garbled_record_is_reported_with_line_and_reason():
    garbled = console_of(BOOT, b"~HIL 1 fai\n").findings[-1]
    message = "a record on line 2 is garbled: it does not have the form of a record"
    assert (garbled.kind, garbled.line, garbled.message) == (Kind.RECORD_GARBLED, 2, message)


def test_a_malformed_record_is_reported_with_number_line_and_reason():
    bad = console_of(BOOT, encode(1, "hello", {})).findings[-1]
    message = "record 1 on line 2 makes no sense: there is no record 'hello'"
    assert (bad.kind, bad.line, bad.message) == (Kind.RECORD_MALFORMED, 2, message)


def test_a_garbled_record_is_not_reported_as_lost_too():
    console = console_of(BOOT, line(1, "arena").replace(b"used", b"usEd"), line(2, "failed"))
    assert kinds(console)[0] is Kind.RECORD_GARBLED
    assert Kind.RECORD_LOST not in kinds(console)


def test_records_are_lost_beside_garbled_ones():
    console = console_of(BOOT, line(1, "arena").replace(b"used", b"usEd"), line(4, "failed"))
    message = next(f.message for f in console.findings if f.kind is Kind.RECORD_LOST)
    assert message == "records 1 to 3 did not arrive, 1 of them garbled"


def test_a_malformed_record_with_a_good_crc_is_not_lost():
    console = console_of(BOOT, line(1, "arena", used="many"), line(2, "failed"))
    assert kinds(console)[0] is Kind.RECORD_MALFORMED
    assert (console.findings[0].subject, console.findings[0].line) == ("arena", 2)
    assert Kind.RECORD_LOST not in kinds(console)
    assert not console.of_kind("arena")


def test_a_repeated_record_is_a_finding_and_counts_once():
    failed = line(1, "failed")
    console = console_of(BOOT, failed, failed, line(2, "end", status=1))
    assert kinds(console) == [Kind.ALLOCATION_FAILED, Kind.RECORD_REPEATED]
    assert console.findings[1].message == "record 1 (failed) came twice"
    assert len(console.of_kind("failed")) == 1


def test_a_record_that_comes_late_is_a_finding_and_is_not_taken():
    console = console_of(BOOT, line(2, "failed"), line(1, "resolver"))
    late = next(f for f in console.findings if f.kind is Kind.RECORD_UNEXPECTED)
    assert (late.subject, late.line) == ("resolver", 3)
    assert late.message == "record 1 (resolver) came after record 2"
    assert not console.of_kind("resolver")


def test_a_record_that_is_another_one_with_a_past_number_begins_a_boot():
    console = console_of(BOOT, line(1, "resolver"), line(2, "failed"), line(1, "failed"))
    assert console.boots == [(0, 3), (3, 4)]
    lost = [f.message for f in console.findings if f.kind is Kind.RECORD_LOST]
    assert lost == ["record 0 did not arrive"]


def test_a_record_repeats_one_of_its_own_boot_only():
    boot = BOOT + line(1, "resolver") + line(2, "failed")
    console = console_of(boot, boot, line(1, "resolver"))
    assert console.boots == [(0, 3), (3, 6)]
    repeated = [f for f in console.findings if f.kind is Kind.RECORD_REPEATED]
    assert [(f.line, f.subject) for f in repeated] == [(7, "resolver")]


def test_a_first_number_that_comes_late_begins_a_boot():
    console = console_of(line(1, "resolver"), line(2, "failed"), line(0, "failed"))
    assert console.boots == [(0, 2), (2, 3)]


def test_a_second_boot_record_is_a_second_boot():
    console = console_of(BOOT, line(1, "failed"), BOOT, line(1, "failed"))
    assert console.boots == [(0, 2), (2, 4)]
    rebooted = next(f for f in console.findings if f.kind is Kind.REBOOTED)
    assert (rebooted.line, rebooted.message) == (3, "the image booted 2 times")


def test_a_boot_that_lost_its_first_record_is_a_boot():
    console = console_of(BOOT, line(1, "resolver"), line(1, "failed"))
    assert len(console.boots) == 2
    assert {Kind.REBOOTED, Kind.RECORD_LOST} <= set(kinds(console))


@pytest.mark.parametrize(
    ("text", "boots"),
    [
        (b"*** Booting Zephyr OS build v3.4 ***\r\n", False),
        (b"*** Booting Zephyr OS build v3.4 ***\r\n" * 2, True),
        (
            b"*** Booting Zephyr OS build v3.4 ***\r\nI: Jumping to the first image slot\r\n"
            b"*** Booting Zephyr OS build v3.4 ***\r\n",
            False,
        ),
    ],
)
def test_zephyrs_banner_is_a_boot_and_a_boot_loaders_is_not(text, boots):
    assert (Kind.REBOOTED in kinds(console_of(text, BOOT, line(1, "failed")))) is boots


def test_a_console_has_ended_with_its_end_record():
    assert console_of(BOOT, line(1, "failed")).ended is False
    assert console_of(BOOT, line(1, "failed"), END).ended is True


def test_records_without_an_end_are_a_finding():
    assert kinds(console_of(BOOT)) == [Kind.RECORD_TRUNCATED]
    assert Kind.RECORD_TRUNCATED not in kinds(console_of(BOOT, line(1, "failed")))


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        ("schema", Kind.SCHEMA_MISMATCH),
        ("register", Kind.REGISTRATION_FAILED),
        ("allocate", Kind.ALLOCATION_FAILED),
        ("input", Kind.INPUT_FAILED),
        ("invoke", Kind.INVOKE_FAILED),
    ],
)
def test_a_failed_record_replaces_missing_messages(stage, kind):
    console = console_of(BOOT, line(1, "failed", stage=stage))
    assert kinds(console) == [kind]
    assert console.findings[0].line == 2


def test_a_failure_in_message_and_record_is_one_finding():
    console = console_of(BOOT, b"AllocateTensors() failed\r\n", line(1, "failed"))
    assert kinds(console) == [Kind.ALLOCATION_FAILED]


def test_refused_registrations_are_a_finding_even_where_no_message_names_them():
    failed = line(2, "failed")
    console = console_of(BOOT, line(1, "resolver", refused=1), failed)
    assert kinds(console) == [Kind.RESOLVER_TOO_SMALL, Kind.ALLOCATION_FAILED]
    assert Kind.RESOLVER_TOO_SMALL not in kinds(console_of(BOOT, line(1, "resolver"), failed))


GOOD_ORDERS = [
    "boot resolver tensor tensor arena input output inference op op input output inference op "
    "allocation allocation stack end",
    "boot resolver tensor tensor arena ready ack ack output inference ready ack ack ack output "
    "inference ready ack lifecycle stack end",
    "boot resolver failed stack end",
    "boot failed",
    "boot resolver tensor arena input output inference lifecycle lifecycle stack stack end",
    "boot tensor arena input layer output inference layer op end",
    "boot resolver tensor arena ready ack nak ack failed lifecycle stack end",
]


def misplaced(order: str) -> list[str]:
    console = console_of(lines(told(kind) for kind in order.split()))
    return [f.subject for f in console.findings if f.kind is Kind.RECORD_UNEXPECTED]


@pytest.mark.parametrize("order", GOOD_ORDERS)
def test_records_in_the_order_of_a_run_have_no_finding(order):
    assert misplaced(order) == []


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ("boot failed end resolver", "resolver"),
        ("boot resolver resolver", "resolver"),
        ("boot resolver arena arena", "arena"),
        ("boot arena tensor", "tensor"),
        ("boot resolver tensor input", "input"),
        ("boot arena input inference output stack", "stack"),
        ("boot arena output input", "input"),
        ("boot arena input output op", "op"),
        ("boot arena input output inference inference", "inference"),
        ("boot arena input output inference op inference", "inference"),
        ("boot arena ready ready", "ready"),
        ("boot arena input ack", "ack"),
        ("boot arena ready ack output ack", "ack"),
        ("boot arena failed failed", "failed"),
        ("boot arena failed input", "input"),
        ("boot arena stack allocation", "allocation"),
        ("boot arena allocation lifecycle", "lifecycle"),
        ("boot failed end end", "end"),
        ("boot resolver stack", "stack"),
    ],
)
def test_a_misplaced_record_is_a_finding(order, kind):
    assert misplaced(order) == [kind]


def test_a_misplaced_record_is_reported_with_its_predecessor():
    console = console_of(lines([told("boot"), told("arena"), told("resolver"), told("failed")]))
    wrong = next(f for f in console.findings if f.kind is Kind.RECORD_UNEXPECTED)
    assert (wrong.line, wrong.message) == (3, "record 2 (resolver) may not follow arena")


def test_two_misplaced_records_are_two_findings():
    assert misplaced("boot stack stack failed input") == ["stack", "failed", "input"]


def test_a_record_after_the_end_is_a_finding():
    console = console_of(lines([told("boot"), told("failed"), told("end"), told("stack")]))
    messages = [f.message for f in console.findings]
    assert "record 3 (stack) came after the end record" in messages


def test_a_boot_is_ordered_by_itself():
    assert misplaced("boot resolver failed end boot resolver failed end") == []


def test_garbled_records_by_the_hundred_thousand_are_counted_not_listed():
    console = console_of(b"~HIL x\r\n" * 50_000)
    assert len(console.findings) < 30
    assert "and 49,980 more" in console.findings[-1].message


@pytest.mark.parametrize(
    ("said", "gave_up"),
    [(b"", False), (BOOT, False), (b"AllocateTensors() failed\r\n", True)],
)
def test_a_console_ends_at_the_images_fatal_message(said, gave_up):
    console = Console()
    console.feed(said)
    assert console.gave_up is gave_up
