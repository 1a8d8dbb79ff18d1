"""The images of tests/firmware/releases against the differences that they show."""

from __future__ import annotations

import pytest
import release_images
from release_images import RELEASES, images

from harness.targets.renode.releases import DIFFERENCES, warnings, warnings_of_worlds

IMAGES = {one.name: one for one in images()}


def showing(name, version):
    """The differences of a version that an image shows."""
    return [one for one in DIFFERENCES if name in one.images and one.holds(version)]


def test_every_image_that_a_difference_names_is_there():
    named = {name for one in DIFFERENCES for name in one.images}
    assert named <= set(IMAGES)
    assert all(one.source.is_file() for one in IMAGES.values())
    assert all(one.after in IMAGES for one in IMAGES.values() if one.after)


def test_every_source_has_its_row():
    folder = release_images.TABLE.parent
    sources = {path.stem for path in folder.rglob("*.c")} - {"secure"}  # the frame of the pairs
    assert sources <= set(IMAGES)


@pytest.mark.parametrize("version", RELEASES.values())
@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_outcome_that_is_not_the_simulators_is_a_difference(image, version):
    assert image.on(version).outcome == image.simulator or showing(image.name, version)


@pytest.mark.parametrize("version", RELEASES.values())
@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_image_that_may_pass_wrongly_is_noted_in_each_result(image, version):
    """One that goes on where the chip does otherwise: a lockup has failed, nothing was refused."""
    outcome = image.on(version).outcome
    if outcome != image.simulator and not outcome.endswith(("(lockup)", release_images.REFUSED)):
        assert any(one.warn or one.passes for one in showing(image.name, version))


@pytest.mark.parametrize("version", RELEASES.values())
def test_difference_without_a_remedy_is_shown(version):
    """If only a note is done about it, one of its images has another outcome."""
    for one in DIFFERENCES:
        if one.passes and one.images and one.holds(version):
            rows = [IMAGES[name] for name in one.images]
            assert any(row.on(version).outcome != row.simulator for row in rows), one.what


def test_notes_name_all_that_an_image_may_pass_with():
    (*_, last) = warnings((1, 17, 0))
    between = warnings_of_worlds((1, 17, 0))
    for one in DIFFERENCES:
        if one.holds((1, 17, 0)):
            assert one.passes in (between if one.worlds else last)
    assert "DWT counts without TRCENA" in last
    assert "reaches secure interrupts" in between
    assert "secure interrupts" not in last


def test_release_that_refuses_both_worlds_notes_nothing_between_them():
    assert warnings_of_worlds((1, 16, 1)) == ""


def test_column_of_a_release_is_the_newest_that_is_not_later():
    image = IMAGES["fault_disabled"]
    assert image.on((1, 16, 1)) == image.on((1, 16, 9)) == image.renode["1.16.1"]
    assert image.on((1, 17, 0)) == image.on((1, 18, 2)) == image.renode["1.17"]


def test_outcome_that_was_measured_must_come_again():
    image = IMAGES["fault_disabled"]
    assert image.surprise((1, 17, 0), image.simulator) == ""
    with pytest.raises(AssertionError, match=r"fault_disabled: measured .*, seen 'ok'"):
        image.surprise((1, 17, 0), "ok")


def test_outcome_that_is_believed_is_reported_if_it_is_another():
    image = IMAGES["blank_flash"]
    assert image.surprise((1, 17, 0), "flash=ffffffff ok") == ""
    told = image.surprise((1, 17, 0), "flash=00000000 ok")
    assert told == "blank_flash: believed 'flash=ffffffff ok', seen 'flash=00000000 ok'"


def test_value_without_its_knowledge_is_refused():
    with pytest.raises(ValueError, match="begins with none of measured, believed"):
        release_images._expected("42", "42")
