"""The keywords that run the NumPy reference without a target."""

from pathlib import Path

import numpy as np
import pytest
from robot.libdocpkg import LibraryDocumentation

from harness.base.errors import CheckFailed, UsageError
from harness.keywords.reference import Reference
from robot import api

MODEL = "digits_int8.tflite"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Twenty inputs of the digits model, all values."""
    file = tmp_path / "images.npy"
    rng = np.random.default_rng(3)
    np.save(file, rng.integers(-128, 128, (20, 8, 8, 1)).astype(np.int8))
    return file


def test_outputs_have_a_row_an_inference(images: Path) -> None:
    (output,) = Reference().reference_outputs(MODEL, images)
    assert (output.shape, output.dtype) == ((20, 1, 10), np.int8)
    assert len(np.unique(output, axis=0)) > 10


def test_the_reference_equals_itself_from_a_file_too(images: Path, tmp_path: Path) -> None:
    (output,) = Reference().reference_outputs(MODEL, images)
    file = tmp_path / "device.npy"
    np.save(file, output)
    Reference().outputs_should_equal_reference(MODEL, images, file)
    Reference().outputs_should_equal_reference(MODEL, images, output)


def test_one_wrong_bit_is_refused_and_a_tolerance_lets_it_pass(images: Path) -> None:
    (output,) = Reference().reference_outputs(MODEL, images)
    output = output.copy()
    output[7, 0, 3] ^= 1
    with pytest.raises(CheckFailed, match=r"elements: 1 / 200 .*\n.*\[7, 0, 3\]"):
        Reference().outputs_should_equal_reference(MODEL, images, output)
    Reference().outputs_should_equal_reference(MODEL, images, output, tolerance=1)


def test_a_batch_from_swapped_images_is_explained(images: Path) -> None:
    swapped = images.with_name("swapped.npy")
    np.save(swapped, np.swapaxes(np.load(images), 1, 2))
    (output,) = Reference().reference_outputs(MODEL, swapped)
    with pytest.raises(CheckFailed, match="after swapping the input's height and width"):
        Reference().outputs_should_equal_reference(MODEL, images, output)


def test_another_rounding_is_explained_and_can_be_chosen(images: Path) -> None:
    (output,) = Reference().reference_outputs(MODEL, images, rounding="single")
    assert not np.array_equal(output, Reference().reference_outputs(MODEL, images)[0])
    with pytest.raises(CheckFailed, match="under single rounding"):
        Reference().outputs_should_equal_reference(MODEL, images, output)
    Reference().outputs_should_equal_reference(MODEL, images, output, rounding="single")


def test_an_output_that_the_model_lacks_is_refused(images: Path) -> None:
    with pytest.raises(UsageError, match="has no output 1; it has 1 outputs"):
        Reference().outputs_should_equal_reference(MODEL, images, images, output=1)


@pytest.mark.parametrize("content", [b"", b"no array"])
def test_a_broken_file_of_obtained_outputs_is_refused(
    images: Path, tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "device.npy"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"device\.npy"):
        Reference().outputs_should_equal_reference(MODEL, images, file)


def test_robot_converts_names_and_numbers(images: Path, tmp_path: Path) -> None:
    suite = api.TestSuite.from_string(f"""
*** Settings ***
Library    harness.keywords.reference.Reference

*** Test Cases ***
Same
    ${{outputs}} =    Reference Outputs    {MODEL}    {images}    rounding=single
    Outputs Should Equal Reference    {MODEL}    {images}    ${{outputs}}[0]    rounding=single
    Outputs Should Equal Reference    {MODEL}    {images}    ${{outputs}}[0]    tolerance=255
Different
    ${{outputs}} =    Reference Outputs    {MODEL}    {images}    rounding=single
    Run Keyword And Expect Error    *under single rounding*
    ...    Outputs Should Equal Reference    {MODEL}    {images}    ${{outputs}}[0]
""")
    result = suite.run(output=str(tmp_path / "output.xml"), stdout=None, console="none")
    assert result.statistics.total.passed == 2, [test.message for test in result.suite.all_tests]


def test_inputs_that_notice_too_little_fail(tmp_path: Path) -> None:
    rows = tmp_path / "x.npy"
    np.save(rows, np.arange(-128, 128).astype(np.int8).reshape(256, 1, 1))
    Reference().adequacy_should_be_at_least("100 %", "hello_world_int8.tflite", rows)
    np.save(rows, np.zeros((2, 1, 1), np.int8))
    with pytest.raises(CheckFailed, match="less than 95 %"):
        Reference().adequacy_should_be_at_least("95 %", "hello_world_int8.tflite", rows)


def test_every_keyword_documents_when_it_fails() -> None:
    keywords = LibraryDocumentation("harness.keywords.reference.Reference").keywords
    assert {each.name for each in keywords} == {
        "Reference Outputs",
        "Outputs Should Equal Reference",
        "Adequacy Should Be At Least",
    }
    assert all("Fails if" in each.doc for each in keywords)
