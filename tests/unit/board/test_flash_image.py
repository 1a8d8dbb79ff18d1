"""The HEX file that is flashed for each kind of image."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.elf import Image, hexfile
from harness.elf.wrapped import wrap
from harness.targets.board.flash_image import prepare


@pytest.fixture
def firmware(tmp_path):
    def make(*blocks, name="zephyr.elf"):
        path = tmp_path / "build" / "zephyr" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(wrap(blocks))
        return Image.from_elf(path)

    return make


def test_a_secure_image_is_written_as_hex_with_uicr(firmware, tmp_path):
    image = prepare(firmware((0, b"code"), (0xFF801C, b"\xfe\xff\xff\xff")), tmp_path)
    assert hexfile.read(image.hex.read_text()) == [(0, b"code"), (0xFF801C, b"\xfe\xff\xff\xff")]
    assert image.size == 8


def test_a_non_secure_image_takes_the_merged_file_of_its_build(firmware, tmp_path):
    elf = firmware((0x50000, b"app"))
    blocks = [(0, b"tfm"), (0x50000, b"app")]
    (elf.path.parent / "tfm_merged.hex").write_text(hexfile.write(blocks))
    image = prepare(elf, tmp_path)
    assert list(image.blocks) == blocks


def test_a_non_secure_image_without_a_merged_file_is_refused(firmware, tmp_path):
    with pytest.raises(UsageError, match="cannot boot without TF-M"):
        prepare(firmware((0x50000, b"app")), tmp_path)


def test_a_merged_file_of_another_build_is_refused(firmware, tmp_path):
    elf = firmware((0x50000, b"new"))
    other = hexfile.write([(0, b"tfm"), (0x50000, b"old")])
    (elf.path.parent / "tfm_merged.hex").write_text(other)
    with pytest.raises(UsageError, match=r"differs from zephyr.elf at 0x00050000"):
        prepare(elf, tmp_path)


def test_an_image_for_ram_is_refused(firmware, tmp_path):
    with pytest.raises(UsageError, match=r"not in the nRF9160's flash"):
        prepare(firmware((0x2000_0000, b"code")), tmp_path)


def test_equal_bytes_have_equal_hashes(firmware, tmp_path):
    one = prepare(firmware((0, b"code"), name="a.elf"), tmp_path)
    two = prepare(firmware((0, b"co"), (2, b"de"), name="b.elf"), tmp_path)
    three = prepare(firmware((0, b"cods"), name="c.elf"), tmp_path)
    assert one.sha256 == two.sha256 != three.sha256


def test_a_build_folder_is_known_by_its_cmake_cache(firmware, tmp_path):
    elf = firmware((0, b"code"))
    assert prepare(elf, tmp_path).build_directory is None
    (tmp_path / "build" / "CMakeCache.txt").touch()
    assert prepare(elf, tmp_path).build_directory == tmp_path / "build"


@pytest.mark.parametrize(
    ("start", "size", "fits"),
    [(0x10_0000 - 4, 4, True), (0x10_0000 - 4, 5, False), (0xFF_8000, 4, True),
     (0xFF_9000 - 4, 4, True), (0xFF_9000 - 4, 5, False), (0xFF_7FFC, 4, False)],
)  # fmt: skip
def test_segments_outside_flash_and_uicr_are_refused(firmware, tmp_path, start, size, fits):
    elf = firmware((0, b"code"), (start, bytes(size)))
    if fits:
        assert prepare(elf, tmp_path).size == 4 + size
        return
    with pytest.raises(UsageError, match=f"loads {size} bytes at 0x{start:08x}, which is not in"):
        prepare(elf, tmp_path)


def test_a_merged_file_is_looked_for_beside_the_elf_and_up_to_two_folders_above(firmware, tmp_path):
    elf = firmware((0x50000, b"app"))
    folder = elf.path.parent
    places = [folder.parents[1] / "merged.hex", folder.parent / "merged.hex",
              folder / "merged.hex", folder / "tfm_merged.hex"]  # fmt: skip
    for place in places:  # each is preferred to those before it
        place.write_text(hexfile.write([(0, b"tfm"), (0x50000, b"app")]))
        assert prepare(elf, tmp_path).hex.resolve() == place.resolve()


def test_the_hex_file_is_named_after_the_elfs_content(firmware, tmp_path):
    elf = firmware((0, b"code"))
    assert prepare(elf, tmp_path).hex == tmp_path / f"{elf.sha256[:16]}.hex"


def test_each_block_is_a_file_of_its_own_for_tools_that_want_bytes(firmware, tmp_path):
    image = prepare(firmware((0, b"code"), (0xFF801C, b"\xfe\xff\xff\xff")), tmp_path)
    files = image.binaries(tmp_path)
    assert [(at, path.read_bytes()) for at, path in files] == list(image.blocks)
    assert [path.name for _, path in files] == [
        f"{image.sha256[:16]}-{at:08x}.bin" for at in (0, 0xFF801C)
    ]


def test_where_bytes_lie_is_part_of_their_hash(firmware, tmp_path):
    hashes = {
        prepare(firmware(*blocks, name=f"{number}.elf"), tmp_path).sha256
        for number, blocks in enumerate([
            [(0, b"ab"), (8, b"c")], [(0, b"ab"), (9, b"c")], [(0, b"a"), (8, b"bc")]
        ])
    }  # fmt: skip
    assert len(hashes) == 3


def test_an_image_without_bytes_is_refused_and_memory_without_any_is_left_out(tmp_path):
    from elf_writer import MadeSection, write_elf

    def made(*sections):
        path = tmp_path / "made.elf"
        path.write_bytes(write_elf(list(sections), []))
        return Image.from_elf(path)

    bss = MadeSection(".bss", 0x2000_0000, size=64)
    code = MadeSection(".text", 0, b"code", load=0, executable=True)
    assert prepare(made(code, bss), tmp_path).size == 4
    with pytest.raises(UsageError, match="has nothing to flash"):
        prepare(made(bss), tmp_path)
