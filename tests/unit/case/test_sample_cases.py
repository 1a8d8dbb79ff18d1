"""Cases of the project's own samples."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.build.table import load
from harness.case.samples import sample_case

#: Instructions of one inference with tflite-micro's reference kernels, measured; images fed.
MEASURED = {"digits": (10_470_715, 400), "residual": (16_913_961, 400)}
CLOCK_HZ = 64_000_000


@pytest.mark.parametrize("sample", MEASURED)
def test_a_whole_test_set_has_time_enough_with_the_real_kernels(sample: str) -> None:
    instructions, images = MEASURED[sample]
    case = sample_case(sample, "console", builder="zephyr")
    assert case.timeout > 1.5 * instructions * images / CLOCK_HZ


def test_an_image_that_feeds_itself_has_less_time_than_a_test_set() -> None:
    once = sample_case("digits", "exact", builder="zephyr")
    assert once.timeout < sample_case("digits", "console", builder="zephyr").timeout


def test_a_builder_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no builder 'make'") as refused:
        sample_case("digits", "exact", builder="make")
    assert refused.value.hint.startswith("one of standalone, ")


def test_an_image_that_feeds_itself_makes_the_inferences_of_the_table() -> None:
    sample = load().samples["hello_world"]
    once = sample_case("hello_world", "exact")
    assert sample.inferences > 1
    assert (once.inferences, once.rows, once.inputs) == (sample.inferences, None, None)


def test_a_fed_image_makes_as_many_inferences_as_it_is_sent_rows() -> None:
    fed = sample_case("hello_world", "console")
    assert fed.least_results == 1
    assert fed.inputs is not None and fed.inputs.name == "hello_world_test.npz"


def test_hundreds_of_inferences_have_more_of_the_hosts_time() -> None:
    guards = [sample_case("digits", name).guard for name in ("exact", "console")]
    assert guards == [120.0, 600.0]


@pytest.mark.parametrize(
    ("builder", "seconds"), [("standalone", [20.0, 60.0]), ("zephyr", [20.0, 300.0])]
)
def test_a_test_set_has_the_time_of_its_kernels(builder: str, seconds: list[float]) -> None:
    cases = [sample_case("digits", name, builder=builder) for name in ("exact", "console")]
    assert [case.timeout for case in cases] == seconds


def test_the_rows_of_a_fed_sample_are_those_that_the_table_names() -> None:
    fed = sample_case("digits", "console")
    assert fed.inputs is not None and fed.inputs.name == "digits_test.npz"
