"""What a build leaves, as one image."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.errors import HilError, UsageError
from harness.cli.footprint import footprint
from harness.elf import Image, combined, hexfile

BOOT = struct.pack("<2I", 0x20001000, 0x81).ljust(0x80, b"\0") + b"\x00\xbf" * 8
ROOM = 0x200
APP = struct.pack("<2I", 0x20001000, 0x10281).ljust(0x80, b"\0") + b"\x00\xbf" * 8
HEADER = struct.pack("<IIH", 0x96F3B83D, 0, ROOM).ljust(ROOM, b"\0")


def boot_elf(path: Path) -> Path:
    rom = MadeSection("rom", 0, BOOT, load=0, executable=True)
    return written(path, write_elf([rom], [MadeSymbol("boot_go", 0x81, 16, "func")]))


def app_elf(path: Path, code: bytes = APP) -> Path:
    rom = MadeSection("rom", 0x10000, bytes(ROOM) + code, load=0x10000, executable=True)
    symbols = [MadeSymbol("_vector_start", 0x10200), MadeSymbol("main", 0x10281, 16, "func")]
    return written(path, write_elf([rom], symbols))


def signed_hex(path: Path, *more: hexfile.Block) -> Path:
    blocks = [(0x10000, HEADER + APP + b"signature"), *more]
    return written(path, hexfile.write(blocks).encode())


def written(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def stored(image: Image) -> list[hexfile.Block]:
    return hexfile.merge((one.load_address, one.data) for one in image.loaded)


def test_a_hex_file_is_an_image_without_names(tmp_path):
    image = combined.read(signed_hex(tmp_path / "app.hex"))
    assert stored(image) == [(0x10000, HEADER + APP + b"signature")]
    assert image.symbols == ()


@pytest.mark.parametrize("address", ["0x10000", "65536"])
def test_plain_bytes_go_to_the_address_in_their_name(tmp_path, address):
    path = written(tmp_path / "app.bin", b"bytes")
    assert stored(combined.read(f"{path}@{address}")) == [(0x10000, b"bytes")]
    assert combined.name_of(Path(f"{path}@{address}")) == "app"


def test_plain_bytes_without_an_address_are_refused_with_the_way(tmp_path):
    with pytest.raises(HilError, match="has no load address") as refused:
        combined.read(written(tmp_path / "app.bin", b"bytes"))
    assert refused.value.hint == "name it as app.bin@ADDRESS"


def test_a_map_file_is_not_an_image_and_the_hint_reads_it(tmp_path):
    path = written(tmp_path / "app.map", b"Memory Configuration")
    with pytest.raises(HilError, match="is a map file, not an image") as refused:
        combined.read(path)
    assert refused.value.hint == f"tflm-hil footprint {path}"


def test_an_elf_gives_its_names_to_the_bytes_of_a_signed_hex_file(tmp_path):
    image = combined.read(signed_hex(tmp_path / "a.hex"), [app_elf(tmp_path / "app.elf")])
    assert stored(image) == [(0x10000, HEADER + APP + b"signature")]
    assert str(image.locate(0x10284)) == "main"


def test_an_elf_that_no_hex_file_holds_is_loaded_beside_it(tmp_path):
    app, boot = app_elf(tmp_path / "app.elf"), boot_elf(tmp_path / "mcuboot.elf")
    image = combined.read(app, [signed_hex(tmp_path / "a.hex"), boot])
    assert stored(image) == [(0, BOOT), (0x10000, HEADER + APP + b"signature")]
    assert str(image.locate(0x10284)) == "main"
    assert str(image.locate(0x84)) == "boot_go in mcuboot"
    assert image.symbol("boot_go") is None
    assert image.symbol("mcuboot:boot_go").address == 0x80


def test_an_elf_of_another_build_is_refused(tmp_path):
    other = app_elf(tmp_path / "app.elf", APP[:-2] + b"\xff\xff")
    with pytest.raises(UsageError, match="has other bytes"):
        combined.read(signed_hex(tmp_path / "a.hex"), [other])


def test_two_hex_files_that_contradict_each_other_are_refused(tmp_path):
    one = written(tmp_path / "1.hex", hexfile.write([(0, b"one")]).encode())
    two = written(tmp_path / "2.hex", hexfile.write([(0, b"two")]).encode())
    with pytest.raises(UsageError, match=r"1\.hex and .*2\.hex sets the bytes at 0x00000000 twice"):
        combined.read(one, [two])


def test_a_build_folder_is_its_application(tmp_path):
    app = app_elf(tmp_path / "zephyr" / "zephyr.elf")
    assert combined.read(tmp_path).path == app
    assert combined.is_image(tmp_path)


def test_a_folder_with_a_merged_file_is_all_of_its_images(tmp_path):
    app_elf(tmp_path / "zephyr" / "zephyr.elf")
    boot_elf(tmp_path / "tfm" / "bin" / "bl2.elf")
    signed_hex(tmp_path / "zephyr" / "tfm_merged.hex", (0, BOOT))
    image = combined.read(tmp_path)
    assert stored(image)[0] == (0, BOOT)
    assert [one.name for one in image.beside] == ["bl2"]


def test_of_a_sysbuild_folder_the_default_domain_is_the_application(tmp_path):
    written(tmp_path / "domains.yaml", b"default: app\nbuild_dir: /b\n")
    app = app_elf(tmp_path / "app" / "zephyr" / "zephyr.elf")
    boot_elf(tmp_path / "mcuboot" / "zephyr" / "zephyr.elf")
    signed_hex(tmp_path / "merged.hex", (0, BOOT))
    image = combined.read(tmp_path)
    assert (image.path, image.name) == (app, "app")
    assert str(image.locate(0x84)) == "boot_go in mcuboot"


SYSBUILD = b"""default: app
build_dir: /b
domains:
  - name: mcuboot
    build_dir: /b/mcuboot
  - name: app
    build_dir: /b/app
"""


def test_of_a_sysbuild_folder_the_secure_firmware_lies_in_the_application_s_own(tmp_path):
    written(tmp_path / "domains.yaml", SYSBUILD)
    app = app_elf(tmp_path / "app" / "zephyr" / "zephyr.elf")
    boot_elf(tmp_path / "app" / "tfm" / "bin" / "tfm_s.elf")
    signed_hex(tmp_path / "merged.hex", (0, BOOT))
    image = combined.read(tmp_path)
    assert image.path == app
    assert [one.name for one in image.beside] == ["tfm_s"]


def test_a_file_that_only_the_application_s_build_merged_is_found_there(tmp_path):
    written(tmp_path / "domains.yaml", SYSBUILD)
    app_elf(tmp_path / "app" / "zephyr" / "zephyr.elf")
    signed_hex(tmp_path / "app" / "zephyr" / "tfm_merged.hex", (0, BOOT))
    assert stored(combined.read(tmp_path))[0] == (0, BOOT)


def test_a_sysbuild_that_merges_nothing_gives_bootloader_and_signed_application(tmp_path):
    written(tmp_path / "domains.yaml", SYSBUILD)
    app_elf(tmp_path / "app" / "zephyr" / "zephyr.elf")
    signed_hex(tmp_path / "app" / "zephyr" / "zephyr.signed.hex")
    boot_elf(tmp_path / "mcuboot" / "zephyr" / "zephyr.elf")
    image = combined.read(tmp_path)
    assert stored(image) == [(0, BOOT), (0x10000, HEADER + APP + b"signature")]
    assert [one.name for one in image.beside] == ["mcuboot"]


def test_a_signed_application_without_its_bootloader_s_build_is_the_application_alone(tmp_path):
    app_elf(tmp_path / "zephyr" / "zephyr.elf")
    signed_hex(tmp_path / "zephyr" / "zephyr.signed.hex")
    assert not combined.read(tmp_path).composed


def test_a_folder_without_an_application_is_not_an_image(tmp_path):
    assert not combined.is_image(tmp_path)
    with pytest.raises(UsageError, match="is a folder without"):
        combined.read(tmp_path)


def test_beside_a_merged_file_the_non_secure_elf_is_the_application(tmp_path):
    gateway = MadeSymbol("gateway", 0x9, 0, "func", None)
    rom = MadeSection("rom", 0x10000, bytes(ROOM) + APP, load=0x10000, executable=True)
    app = written(
        tmp_path / "b_app.elf", write_elf([rom], [gateway, MadeSymbol("_vector_start", 0x10200)])
    )
    boot_elf(tmp_path / "a_secure.elf")
    signed_hex(tmp_path / "merged.hex", (0, BOOT))
    image = combined.read(tmp_path)
    assert image.path == app
    assert [one.name for one in image.beside] == ["a_secure"]


def test_several_elves_without_a_non_secure_one_are_not_an_image(tmp_path):
    boot_elf(tmp_path / "one.elf")
    boot_elf(tmp_path / "other.elf")
    signed_hex(tmp_path / "merged.hex", (0, BOOT))
    assert not combined.is_image(tmp_path)


@pytest.mark.parametrize("data", [b":", b":00000001FF", b"\xff:", b""])
def test_a_file_that_holds_nothing_is_refused(tmp_path, data):
    with pytest.raises(HilError):
        combined.read(written(tmp_path / "odd.hex", data))


def test_the_elf_s_own_headers_are_not_a_part_of_the_image(tmp_path):
    data = bytearray(write_elf([MadeSection("rom", 0x10400, APP, load=0x10400)], []))
    at = data.index(APP)
    # The linker maps the page in which the headers lie, as TF-M's script makes it.
    struct.pack_into("<6I", data, 52, 1, 0, 0x10400 - at, 0x10400 - at, at + len(APP),
                     at + len(APP))  # fmt: skip
    (segment,) = combined.read(written(tmp_path / "tfm_s.elf", bytes(data))).segments
    assert (segment.load_address, segment.data) == (0x10400, APP)


def test_the_footprint_of_a_folder_lists_every_image_with_an_elf(tmp_path):
    app_elf(tmp_path / "zephyr" / "zephyr.elf")
    boot_elf(tmp_path / "tfm" / "bin" / "bl2.elf")
    signed_hex(tmp_path / "zephyr" / "tfm_merged.hex", (0, BOOT))
    result = CliRunner().invoke(footprint, [str(tmp_path), "--json", "-"])
    (flash, _) = json.loads(result.output)["beside"]["bl2"]["regions"]
    assert (flash["name"], flash["used"]) == ("FLASH", len(BOOT))
