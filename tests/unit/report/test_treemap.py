"""The map of what lies in flash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.elf import Image
from harness.footprint.analysis import analyse, ram_regions
from harness.footprint.operators import REST, Group, Member, groups
from harness.report.treemap import of_image, squarify, tree

SIZES = st.lists(st.integers(1, 1_000_000), min_size=1, max_size=60).map(
    lambda sizes: sorted(sizes, reverse=True)
)


@given(SIZES, st.floats(0.2, 5))
def test_areas_are_as_the_sizes_and_fill_the_whole(sizes, aspect):
    places = squarify(sizes, aspect)
    for size, (_, _, width, height) in zip(sizes, places, strict=True):
        assert width * height / 1e4 == pytest.approx(size / sum(sizes), rel=1e-6)


@given(SIZES, st.floats(0.2, 5))
def test_no_two_rectangles_overlap_and_none_leaves_the_map(sizes, aspect):
    places = squarify(sizes, aspect)
    for left, top, width, height in places:
        assert left > -1e-6 and top > -1e-6
        assert left + width < 100 + 1e-6 and top + height < 100 + 1e-6
    for at, (x, y, w, h) in enumerate(places):
        for left, top, width, height in places[at + 1 :]:
            across = min(x + w, left + width) - max(x, left)
            down = min(y + h, top + height) - max(y, top)
            assert across < 1e-6 or down < 1e-6


def test_equal_sizes_on_a_square_are_squares():
    assert squarify([1, 1, 1, 1], 1.0) == [
        (0, 0, 50, 50), (0, 50, 50, 50), (50, 0, 50, 50), (50, 50, 50, 50),
    ]  # fmt: skip


def test_members_too_small_to_be_seen_are_one_box_with_their_number():
    members = (Member("large", 10_000), *(Member(f"small {n}", 1) for n in range(9)))
    [box] = tree([Group("rest", members)])
    assert [(one.name, one.bytes) for one in box.boxes] == [
        ("large", 10_000),
        ("9 smaller ones", 9),
    ]


def test_a_label_has_no_namespaces_and_no_parameters():
    name = "tflite::(anonymous namespace)::Prepare(TfLiteContext*, TfLiteNode*)"
    [group] = tree([Group("CONV_2D", (Member(name, 5),))])
    assert group.boxes[0].label == "Prepare"


def test_an_empty_image_has_no_map_and_one_that_is_gone_neither(tmp_path):
    assert tree([]) == ()
    assert of_image(tmp_path / "gone.elf", "0" * 64) == ()


@pytest.mark.needs("arm-none-eabi-gcc", "flatc")
def test_every_byte_of_an_image_is_in_one_group_and_operators_have_their_own():
    from harness.build.builders import build_one

    image = Image.from_elf(Path(build_one("digits", "exact", "standalone")))
    found = {one.name: one for one in groups(image, ram_regions(image))}
    report = analyse(image).operators
    for cost in report.operators:
        assert found[cost.operator].bytes == cost.exclusive
        assert found[cost.operator].operator
    assert found[REST].bytes == report.rest
    assert sum(one.bytes for one in found.values()) == (
        report.together + report.rest + report.unreached
    )
    assert of_image(image.path, image.sha256)[0].name == REST
    assert of_image(image.path, "0" * 64) == ()
