"""The result of compare() for two tensors."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from harness.base.errors import UsageError
from harness.reference import compare


def _tensor(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-100, 100, shape).astype(np.int8)


def test_equal_tensors_are_equal() -> None:
    answer = compare(_tensor(4, 5), _tensor(4, 5))
    assert answer.equal
    assert bool(answer)
    assert str(answer) == "all 20 elements equal"


def test_empty_tensors_are_not_equal() -> None:
    answer = compare(np.empty(0, np.int8), np.empty(0, np.int8))
    assert not answer.equal
    assert "nothing to compare" in str(answer)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (_tensor(5, 4), "shape"),
        (_tensor(4, 5).astype(np.int16), "int16"),
    ],
)
def test_different_shapes_and_types_are_named_and_not_broadcast(
    other: np.ndarray, words: str
) -> None:
    answer = compare(other, _tensor(4, 5))
    assert not answer.equal
    assert words in str(answer)


def test_a_difference_is_counted_and_shown() -> None:
    expected = _tensor(3, 4)
    obtained = expected.copy()
    obtained[0, 1] += 7
    obtained[2, 3] -= 2
    answer = compare(obtained, expected)
    assert (answer.mismatches, answer.total, answer.largest) == (2, 12, 7)
    assert [d.index for d in answer.first] == [(0, 1), (2, 3)]
    text = str(answer)
    assert "mismatched elements: 2 / 12" in text
    assert f"[0, 1]: obtained {obtained[0, 1]}, expected {expected[0, 1]}" in text


def test_differences_beyond_int8_do_not_wrap() -> None:
    assert compare(np.array([127], np.int8), np.array([-128], np.int8)).largest == 255


def test_only_the_first_differences_are_shown() -> None:
    text = str(compare(np.arange(100), np.arange(100)[::-1].copy()))
    assert text.count("obtained") == 5
    assert "95 more" in text


def test_a_tolerance_in_steps_is_inclusive() -> None:
    expected = _tensor(8)
    assert compare(expected + 1, expected, tolerance=1).equal
    assert not compare(expected + 2, expected, tolerance=1).equal


def test_a_relative_tolerance_follows_the_expected_value() -> None:
    expected = np.array([1.0, 1000.0], np.float32)
    assert compare(expected * np.float32(1.001), expected, relative=0.002).equal
    assert not compare(expected + 1, expected, relative=0.002).equal


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(UsageError):
        compare([1], [1], tolerance=-1)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_same_special_value_is_equal(value: float) -> None:
    x = np.array([value, 1], np.float32)
    assert compare(x, x.copy()).equal


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_special_value_differs_from_a_number_under_any_tolerance(value: float) -> None:
    obtained, expected = np.array([value], np.float32), np.array([1], np.float32)
    assert not compare(obtained, expected, tolerance=1e30).equal
    assert not compare(expected, obtained, tolerance=1e30).equal


def test_a_difference_of_one_lsb_hints_at_rounding() -> None:
    expected = _tensor(50)
    obtained = expected.copy()
    obtained[[3, 5, 9]] += [1, -1, 1]
    assert "it differs by 1 LSB at most: a" in compare(obtained, expected).explanation


def test_a_constant_offset_hints_at_the_zero_point() -> None:
    expected = _tensor(50)
    assert "off by 3 everywhere" in compare(expected + 3, expected).explanation


def test_a_saturated_offset_is_still_recognised() -> None:
    expected = np.array([-128, -120, 0, 100, 127], np.int8)
    obtained = np.clip(expected.astype(int) + 10, -128, 127).astype(np.int8)
    assert "off by 10 everywhere" in compare(obtained, expected).explanation


def test_unsigned_for_signed_is_named() -> None:
    expected = np.arange(-20, 20).astype(np.int16)
    obtained = (expected.astype(np.int32) - 32768).astype(np.int16)
    assert "signed" in compare(obtained[20:], expected[20:]).explanation


def test_height_and_width_swapped() -> None:
    expected = _tensor(1, 4, 4, 3)
    answer = compare(np.swapaxes(expected, 1, 2), expected)
    assert answer.explanation == "it has height and width swapped"


def test_channels_first_is_recognised_by_its_bytes() -> None:
    expected = _tensor(1, 4, 5, 3)
    obtained = np.transpose(expected, (0, 3, 1, 2)).reshape(expected.shape)
    assert "batch, channels, height, width" in compare(obtained, expected).explanation


def test_a_shift_is_recognised() -> None:
    expected = _tensor(64)
    obtained = np.roll(expected, 2)
    assert "shifted by 2" in compare(obtained, expected).explanation


def test_a_swapped_byte_order_is_recognised() -> None:
    expected = _tensor(64).astype(np.int16) * 7
    assert "bytes" in compare(expected.byteswap(), expected).explanation


def test_a_tensor_never_written_is_suspected() -> None:
    assert "never" not in compare(_tensor(9), _tensor(9)).explanation
    assert "it is 0 everywhere" in compare(np.zeros(9, np.int8), _tensor(9)).explanation


def test_an_alternative_that_fits_is_named() -> None:
    expected = _tensor(50)
    obtained = expected.copy()
    obtained[7] += 1
    causes = {"under nothing": lambda: expected, "under single rounding": lambda: obtained}
    text = compare(obtained, expected, alternatives=causes).explanation
    assert text == "all equal under single rounding"


def test_alternatives_are_not_computed_when_the_tensors_are_equal() -> None:
    def never() -> np.ndarray:
        raise AssertionError

    assert compare(_tensor(5), _tensor(5), alternatives={"never": never}).equal


def test_without_a_matching_cause_no_explanation_is_given() -> None:
    rng = np.random.default_rng(8)
    obtained = rng.integers(-100, 100, 60).astype(np.int8)
    assert compare(obtained, _tensor(60)).explanation == ""


def test_each_element_can_have_a_tolerance_of_its_own() -> None:
    expected = np.array([1, 1], np.float32)
    obtained = np.array([1.5, 1.5], np.float32)
    answer = compare(obtained, expected, tolerance=np.array([1, 0.1]))
    assert (answer.mismatches, answer.first[0].index) == (1, (1,))


def test_numbers_that_differ_late_are_shown_to_where_they_differ() -> None:
    expected = np.array([1.39796], np.float32)
    answer = compare(np.nextafter(expected, np.float32(2)), expected, tolerance=1e-9)
    (line,) = [each for each in str(answer).splitlines() if "obtained" in each]
    obtained, wanted, bound = re.findall(r"\d[\d.e-]+", line)
    assert (float(obtained) > float(wanted), bound) == (True, "1e-09")


def test_a_comparison_with_nan_is_valid_json() -> None:
    answer = compare(np.array([np.nan, 1], np.float32), np.array([1, np.inf], np.float32))
    document = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert document["first"][0] == {
        "index": [0],
        "obtained": "nan",
        "expected": 1.0,
        "allowed": 0.0,
    }
    assert document["largest"] == "inf"


def test_the_text_of_a_difference_is_complete() -> None:
    expected = np.array([[100, 200, 300, 400], [500, 600, 700, 800]], np.int16)
    obtained = expected + np.array([[0, 3, 0, 0], [0, 0, 0, -2500]], np.int16)
    assert str(compare(obtained, expected, tolerance=2)).splitlines() == [
        "mismatched elements: 2 / 8 (25 %), largest difference 2500",
        "  [0, 1]: obtained 203, expected 200, 2 allowed",
        "  [1, 3]: obtained -1700, expected 800, 2 allowed",
    ]


@pytest.mark.parametrize(("wrong", "last"), [(5, "  [4]: obtained 100"), (6, "  ... and 1 more")])
def test_five_differences_are_all_shown_and_of_six_one_is_counted(wrong: int, last: str) -> None:
    expected = np.arange(20, dtype=np.int16)
    obtained = expected.copy()
    obtained[:wrong] = 100 + np.arange(wrong) ** 3
    obtained[4] = 100
    lines = str(compare(obtained, expected)).splitlines()
    assert len(lines) == 1 + wrong
    assert lines[-1].startswith(last)


def test_thousands_are_grouped() -> None:
    expected = np.zeros(2000, np.float32)
    obtained = np.random.default_rng(0).normal(size=2000).astype(np.float32)
    text = str(compare(obtained, expected))
    assert text.startswith("mismatched elements: 2,000 / 2,000 (100 %)")
    assert text.endswith("... and 1,995 more")
    assert str(compare(expected, expected)) == "all 2,000 elements equal"


@pytest.mark.parametrize(("step", "digits"), [(1e-3, ("1.001", "1")), (1e-7, ("1.00000012", "1"))])
def test_numbers_are_shown_with_distinguishing_digits(step: float, digits: tuple[str, str]) -> None:
    expected = np.array([1], np.float32)
    text = str(compare(expected + np.float32(step), expected))
    assert f"[0]: obtained {digits[0]}, expected {digits[1]}\n" in text + "\n"


def test_doubles_that_differ_in_the_last_bit_are_distinguished() -> None:
    text = str(compare(np.array([1 + 2.0**-52]), np.array([1.0])))
    assert "obtained 1.0000000000000002, expected 1" in text


def test_an_empty_side_is_reported_with_both_shapes() -> None:
    answer = compare(np.empty((0, 3), np.int8), _tensor(2, 3))
    assert str(answer) == "nothing to compare: obtained [0, 3], expected [2, 3]"
    assert (answer.equal, answer.mismatches, answer.total) == (False, 6, 6)
    assert compare(_tensor(2, 3), np.empty((0, 3), np.int8)).reason == (
        "nothing to compare: obtained [2, 3], expected [0, 3]"
    )


def test_the_refusals_of_types_and_shapes_name_both() -> None:
    assert str(compare(_tensor(4).astype(np.int16), _tensor(4))) == "obtained int16, expected int8"
    answer = compare(_tensor(2, 2), _tensor(4))
    assert str(answer) == "obtained the shape [2, 2], expected [4]"
    assert np.isnan(answer.largest)


@pytest.mark.parametrize(
    "limits", [{"tolerance": np.nan}, {"relative": -0.1}, {"relative": np.nan}]
)
def test_an_invalid_tolerance_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="a tolerance can't be negative"):
        compare([1.0], [1.0], **limits)


def test_both_tolerances_add_up() -> None:
    expected = np.array([-100, 100], np.float32)
    assert compare(expected + 3, expected, tolerance=1, relative=0.02).equal
    answer = compare(expected + np.float32(3.5), expected, tolerance=1, relative=0.02)
    assert (answer.mismatches, answer.first[0].allowed) == (2, 3.0)


def test_infinity_is_outside_any_relative_tolerance() -> None:
    answer = compare(np.array([5, 1.5], np.float32), np.array([np.inf, 1], np.float32), relative=1)
    assert (answer.mismatches, answer.first[0].allowed) == (1, 0.0)


def test_the_largest_difference_within_a_tolerance_is_reported() -> None:
    expected = np.zeros(3, np.int8)
    answer = compare(np.array([1, -3, 2], np.int8), expected, tolerance=3)
    assert (answer.equal, answer.mismatches, answer.largest) == (True, 0, 3.0)


def test_the_largest_difference_is_one_of_those_beyond_the_tolerance() -> None:
    answer = compare(
        np.array([9, 4], np.int8), np.zeros(2, np.int8), tolerance=np.array([10.0, 3.0])
    )
    assert (answer.mismatches, answer.largest) == (1, 4)


def test_truth_values_are_compared_too() -> None:
    answer = compare(np.array([True, False]), np.array([True, True]))
    assert (answer.mismatches, answer.largest, answer.explanation) == (1, 1, "")


def test_json_of_an_equal_comparison_is_plain_data() -> None:
    assert compare(_tensor(3), _tensor(3)).to_json() == {
        "equal": True,
        "mismatches": 0,
        "total": 3,
        "largest": 0.0,
        "first": [],
        "explanation": "",
        "reason": "",
    }
