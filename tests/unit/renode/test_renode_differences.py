"""The differences of Renode against the images of tests/firmware/renode that show them."""

from __future__ import annotations

import pytest
import renode_table
from hostile_images import hostile_images
from renode_images import TABLE, images

from harness.targets.renode.differences import (
    DIFFERENCES,
    RenodeDifference,
    warnings,
    warnings_of_worlds,
)

IMAGES = {one.name: one for one in images()}
HOSTILE = {one.name: one for one in hostile_images()}
DIFFERENT = [one for one in IMAGES.values() if one.differs]
each = pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda one: one.what)


def name(image):
    return image.name


def showing(image):
    """The differences that an image shows."""
    return [one for one in DIFFERENCES if image.name in one.images]


@each
def test_difference_names_its_source_and_images_that_are_there(difference):
    assert difference.source
    assert difference.images or difference.hostile
    assert set(difference.images) <= set(IMAGES)
    assert set(difference.hostile) <= set(HOSTILE)


@each
def test_difference_without_a_remedy_is_noted_in_each_result(difference):
    assert difference.done != RenodeDifference.done or difference.warn or difference.passes


@each
def test_difference_that_is_noted_shows_in_an_outcome(difference):
    if difference.warn or difference.passes:
        assert any(IMAGES[image].differs for image in difference.images)


@pytest.mark.parametrize("image", DIFFERENT, ids=name)
def test_outcome_that_is_not_the_simulators_is_a_difference(image):
    assert showing(image)


def test_hostile_image_that_ends_otherwise_is_a_difference():
    named = [name for one in DIFFERENCES for name in one.hostile]
    assert sorted(named) == sorted(one.name for one in HOSTILE.values() if one.renode)


@pytest.mark.parametrize("image", [one for one in DIFFERENT if one.renode.endswith("ok")], ids=name)
def test_image_that_comes_to_its_end_otherwise_than_on_the_chip_is_noted(image):
    assert any(one.warn or one.passes for one in showing(image))


@pytest.mark.parametrize("image", IMAGES.values(), ids=name)
def test_image_has_its_source(image):
    assert image.source.is_file()
    assert not image.after or image.after in IMAGES


def test_every_source_has_its_row():
    sources = {path.stem for path in TABLE.parent.rglob("*.c")} - {"secure"}  # the pairs' frame
    assert sources <= set(IMAGES)


def test_notes_name_all_that_an_image_may_pass_with():
    (*own, last) = warnings((1, 17, 0))
    between = warnings_of_worlds((1, 17, 0))
    assert [one.warn for one in DIFFERENCES if one.warn] == [
        note.removeprefix("Renode 1.17.0 has ") for note in own
    ]
    assert all(one.passes in (between if one.worlds else last) for one in DIFFERENCES)
    assert "DWT counts without TRCENA" in last
    assert "reaches secure interrupts" in between
    assert "secure interrupts" not in last


def test_notes_name_the_version_in_use():
    assert all(note.startswith("Renode 1.18.2") for note in warnings((1, 18, 2)))
    assert warnings_of_worlds((1, 18, 2)).startswith("Renode 1.18.2, between the worlds")


def test_page_lists_differences_and_outcomes():
    page = renode_table.PAGE.read_text()
    assert renode_table.with_table(page) == page
