"""Findings from captures of real images (tests/data/transcripts)."""

import pytest

from harness.base.findings import Kind
from harness.uart.lines import number


def found(console) -> set[tuple[Kind, str]]:
    return {(finding.kind, finding.subject) for finding in console.findings}


def test_a_right_image_gives_ten_results_and_no_finding(transcript):
    console = transcript("exact")
    assert len(console.scrapers[0].results) == 10
    assert console.scrapers[0].results[1].values == {"x": "0.314159", "y": "0.372770"}
    assert console.findings == []


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_missing_operator_is_named(transcript, name):
    assert (Kind.MISSING_OPERATOR, "FULLY_CONNECTED") in found(transcript(name))


def test_a_refused_operator_is_a_finding_although_the_numbers_are_right(transcript):
    console = transcript("too_small")
    assert len(console.scrapers[0].results) == 10
    assert found(console) == {(Kind.RESOLVER_TOO_SMALL, "SOFTMAX")}
    assert console.findings[0].value("declared") == 1


def test_refused_and_then_missing_are_two_findings(transcript):
    assert found(transcript("too_small_rev")) >= {
        (Kind.RESOLVER_TOO_SMALL, "FULLY_CONNECTED"),
        (Kind.MISSING_OPERATOR, "FULLY_CONNECTED"),
    }


def test_a_duplicate_is_named_from_its_number(transcript):
    assert found(transcript("duplicate")) == {(Kind.DUPLICATE_OPERATOR, "FULLY_CONNECTED")}


def test_a_small_arena_is_reported_with_the_missing_bytes(transcript):
    finding = transcript("arena_512").findings[0]
    assert finding.kind == Kind.ARENA_TOO_SMALL
    numbers = [finding.value(name) for name in ("requested", "available", "missing")]
    assert numbers == [132, 112, 20]


def test_empty_numbers_are_findings_and_no_results(transcript):
    console = transcript("nofloat")
    assert console.scrapers[0].results == []
    assert [finding.kind for finding in console.findings] == [Kind.UNPARSED_VALUE] * 10


def test_a_fault_dump_is_one_finding_with_pc_lr_and_reason(transcript):
    fault = next(f for f in transcript("fault_null").findings if f.kind == Kind.FAULT)
    assert fault.value("pc") == 0x56E2
    assert fault.value("lr") == 0x5875
    assert "Illegal use of the EPSR" in fault.message


def test_an_assertion_is_quoted_and_followed_by_a_panic(transcript):
    kinds = [finding.kind for finding in transcript("fault_assert").findings]
    assert kinds == [Kind.ASSERTION, Kind.KERNEL_PANIC]


def test_a_missing_custom_operator_is_seen_without_its_name(transcript):
    assert (Kind.MISSING_CUSTOM_OPERATOR, "") in found(transcript("atan_nocustom"))


def test_interleaved_output_does_not_hide_the_values(transcript):
    assert len(transcript("log_deferred").scrapers[0].results) == 10


@pytest.mark.parametrize(("second", "findings"), [(0, [Kind.ZERO_TICKS]), (7, [])])
def test_a_profile_of_only_zeros_is_a_finding(scrape, second, findings):
    text = f"ADD took 0 ticks (0 ms).\r\nCONV_2D took {second} ticks (0 ms).\r\n"
    assert [finding.kind for finding in scrape("hello_world", text).findings] == findings


def test_zero_ticks_are_a_finding_and_real_ones_are_not(transcript):
    zero, real = transcript("prof_zero"), transcript("prof_dwt")
    assert {finding.kind for finding in zero.findings} == {Kind.ZERO_TICKS}
    assert real.findings == []
    assert [entry.ticks for entry in real.profile][:3] == [1768, 5344, 848]


def test_floats_of_2021_are_read_from_mantissa_and_exponent(transcript):
    results = transcript("stock_hello_world_2021").scrapers[0].results
    assert len(results) == 10
    assert number(results[1].values["x"]) == pytest.approx(0.31415915)
    assert number(results[1].values["y"]) == pytest.approx(0.37276935)


def test_person_scores_are_read(transcript):
    console = transcript("stock_person_detection_2021", "person_detection")
    assert [dict(r.values) for r in console.scrapers[0].results] == [
        {"person": "113", "no_person": "-113"}
    ]
