from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_little

from harness import footprint
from harness.elf import Image
from harness.footprint.analysis import ram_regions
from harness.footprint.operators import REST, SHARED, UNREACHED, groups
from harness.footprint.tree import grow, walk


def test_an_operator_owns_code_that_only_its_registration_reaches(little: Image) -> None:
    report = footprint.analyse(little).operators
    conv, softmax = report.operators
    assert (conv.operator, softmax.operator) == ("CONV_2D", "SOFTMAX")
    names = {member.name.rpartition("::")[2].partition("(")[0] for member in conv.members}
    assert {"ConvPrepare", "ConvEval", "kOnlyConv", "Register_CONV_2D", "ParseConv2D"} <= names
    assert '"convolution went well"' in {member.name for member in conv.members}
    assert "SoftmaxEval" not in names
    assert softmax.ram == 4  # softmax_calls


def test_code_of_two_operators_is_shared_and_names_the_other(little: Image) -> None:
    conv, softmax = footprint.analyse(little).operators.operators
    assert [share.operators for share in conv.shares] == [("CONV_2D", "SOFTMAX")]
    shared = little.symbol("_ZN6tflite6SharedEi")
    assert shared is not None
    assert conv.shared == softmax.shared == shared.size


@pytest.mark.parametrize("image", ["little", "only_conv"])
def test_exclusive_shared_rest_and_unreached_are_the_whole_image(
    image: str, request: pytest.FixtureRequest
) -> None:
    found = footprint.analyse(request.getfixturevalue(image))
    report = found.operators
    counted = report.together + report.rest + report.unreached
    filler = sum(s.size for s in found.symbols if s.kind in ("padding", "gap")
                 and s.region == "FLASH")  # fmt: skip
    assert counted + filler == found.region("FLASH").used
    assert report.together == sum(c.exclusive for c in report.operators) + (
        report.operators[0].shared
    )


def test_without_an_operator_the_image_shrinks_by_its_exclusive_bytes(
    little: Image, only_conv: Image
) -> None:
    softmax = footprint.analyse(little).operators.operators[1]
    before, after = footprint.regions(little)[0].used, footprint.regions(only_conv)[0].used
    inlining = 64  # the resolver's Add() has one caller left, and moves into it
    assert abs(before - after - softmax.exclusive) <= inlining


def test_a_models_numbers_are_not_pointers(little: Image) -> None:
    # g_model holds words that equal the addresses of functions: the DWARF type says numbers.
    report = footprint.analyse(little).operators
    assert "g_model" not in {m.name for c in report.operators for m in c.members}
    assert report.rest > 0


def test_files_and_symbols_sum_to_every_region(mapped: Image) -> None:
    found = footprint.analyse(mapped)
    for region in found.regions:
        assert sum(f.sizes.get(region.name, 0) for f in found.files) == region.used
        assert sum(f.sizes.get(region.name, 0) for f in found.libraries) == region.used
        assert sum(s.size for s in found.symbols if s.region == region.name) == region.used
        assert sum(s.size for s in found.sections if s.region == region.name) == region.used


def test_a_template_belongs_to_its_header_and_a_vtable_to_its_class(little: Image) -> None:
    found = footprint.analyse(little)
    files = {Path(f.path).name: f.sizes.get("FLASH", 0) for f in found.files}
    assert files["little.h"] > 0 and files["kernels.cc"] > 0
    vtable = next(s for s in found.symbols if s.name.startswith("vtable for tflite::MicroMutable"))
    assert Path(vtable.file).name == "little.h"


def test_the_tree_of_files_counts_every_byte_once(little: Image) -> None:
    found = footprint.analyse(little)
    tree = grow(found.files)
    assert tree.sizes["FLASH"] == found.region("FLASH").used
    top = [node for depth, node in walk(tree, "FLASH") if depth == 0]
    assert sum(node.sizes.get("FLASH", 0) for node in top) == tree.sizes["FLASH"]
    leaves = [node for _, node in walk(tree, "FLASH") if not node.children]
    assert sum(node.sizes.get("FLASH", 0) for node in leaves) == tree.sizes["FLASH"]


def test_the_arena_is_named(little: Image) -> None:
    found = footprint.analyse(little)
    (arena,) = (m for m in found.ram if m.purpose == "arena")
    assert (arena.name, arena.bytes) == ("tensor_arena", 2048)


def test_a_model_copied_into_ram_is_named(tmp_path: Path) -> None:
    model = b"\x1c\0\0\0TFL3" + bytes(56)
    path = tmp_path / "copy.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True),
         MadeSection(".data", 0x2000_0000, model, load=16)],
        [MadeSymbol("g_model", 0x2000_0000, 64, section=1)],
    ))  # fmt: skip
    (copy,) = footprint.analyse(Image.from_elf(path)).ram
    assert (copy.purpose, copy.name, copy.bytes) == ("model copy", "g_model", 64)
    assert f"{zlib.crc32(model):08x}" in copy.note


def test_without_debug_information_files_are_not_guessed(
    tmp_path_factory: pytest.TempPathFactory, little: Image
) -> None:
    bare = footprint.analyse(
        Image.from_elf(compile_little(tmp_path_factory.mktemp("bare"), dwarf=""))
    )
    assert not any(Path(file.path).suffix for file in bare.files)
    assert any("no DWARF" in note for note in bare.notes)
    with_debug = footprint.analyse(little).operators.operators
    assert [c.exclusive for c in bare.operators.operators] == [c.exclusive for c in with_debug]


def test_the_document_has_the_keys_of_the_contract(little: Image) -> None:
    document = footprint.analyse(little).to_json()
    assert {"regions", "sections", "symbols", "files", "operators"} <= document.keys()
    assert document["regions"][0].keys() == {"name", "origin", "size", "used"}
    assert {"operator", "exclusive", "shared"} <= document["operators"][0].keys()


def test_an_operators_largest_members_stand_first(little: Image) -> None:
    for cost in footprint.analyse(little).operators.operators:
        order = [(-member.bytes, member.name) for member in cost.members]
        assert order == sorted(order)
        assert len({member.bytes for member in cost.members}) > 2
        assert sum(member.bytes for member in cost.members) == cost.exclusive


def test_every_byte_of_flash_is_in_one_group_the_largest_first(little: Image) -> None:
    report = footprint.analyse(little).operators
    found = groups(little, ram_regions(little))
    sizes = {group.name: group.bytes for group in found}
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    conv, softmax = report.operators
    assert sizes == {
        "CONV_2D": conv.exclusive, "SOFTMAX": softmax.exclusive, SHARED: conv.shared,
        REST: report.rest, **({UNREACHED: report.unreached} if report.unreached else {}),
    }  # fmt: skip
    assert {group.name for group in found if group.operator} == {"CONV_2D", "SOFTMAX"}
