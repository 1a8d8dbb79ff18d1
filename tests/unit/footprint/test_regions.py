"""How full a region is."""

import pytest

from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.footprint.regions import Region, regions


@pytest.mark.parametrize(("used", "percent"), [(0, 0.0), (256, 25.0), (1024, 100.0), (2048, 200.0)])
def test_the_share_is_that_of_the_region(used, percent):
    assert Region("FLASH", 0, 1024, used).percent == percent


def test_a_region_without_a_size_has_no_share():
    assert Region("FLASH", 0, 0, 12).percent == 0.0


def test_an_image_of_bytes_alone_has_no_ram_figure(tmp_path):
    found = regions(Image(tmp_path / "app.hex", wrap([(0, bytes(64))])))
    assert [(region.name, region.used) for region in found] == [("FLASH", 64)]
