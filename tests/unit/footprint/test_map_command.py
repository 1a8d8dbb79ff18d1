"""``tflm-hil footprint`` of a map file, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from linked import BSS, DATA, NOINIT, Linked, link

from harness.cli import main


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Linked:
    needs.require("arm-none-eabi-gcc")
    return link(tmp_path_factory.mktemp("linked"), DATA, BSS, NOINIT)


@pytest.mark.parametrize(
    ("view", "row"),
    [("region", "RAM 0x20000000 2,792 65,536 4.26"), ("section", "RAM .bss 0x200000c0 2,300"),
     ("symbol", "RAM 2,000 object arena"), ("file", "libhelp.a/helper.o 28"),
     ("library", "libhelp.a 28 200"), ("ram", "arena arena 0x20000124 2,000")],
)  # fmt: skip
def test_every_view_that_a_map_has(
    view: str, row: str, linked: Linked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["footprint", str(linked.map_file), "--by", view]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith(row) for line in rows), rows


def test_by_default_regions_libraries_and_the_arena(
    linked: Linked, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["footprint", str(linked.map_file)]) == 0
    out = capsys.readouterr().out
    assert [line.rstrip() for line in out.splitlines() if line.startswith("By ")] == [
        "By region", "By library", "By ram",
    ]  # fmt: skip
    assert "note: from a map file: operators, source files, use of arena and stacks need" in out


def test_every_sum_of_the_document_is_that_of_the_region(linked: Linked, tmp_path: Path) -> None:
    output = tmp_path / "map.json"
    assert main(["footprint", str(linked.map_file), "--json", str(output)]) == 0
    document = json.loads(output.read_text())
    assert document["source"] == "map" and document["operators"] == []
    for region in document["regions"]:
        name = region["name"]
        assert sum(row.get(name, 0) for row in document["files"]) == region["used"]
        assert sum(row.get(name, 0) for row in document["libraries"]) == region["used"]
        for rows in ("symbols", "sections"):
            assert sum(r["size"] for r in document[rows] if r["region"] == name) == region["used"]


def test_a_map_without_regions_has_those_of_the_chip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs.require("clang")
    assert main(["footprint", str(link(tmp_path, DATA, BSS, NOINIT, linker="lld").map_file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "RAM 0x20000000 2,792 262,144" in out
    assert "note: the map file names no memory regions: those of the nRF9160 are assumed" in out


@pytest.mark.parametrize(
    "options",
    [["--measure"], ["--by", "operator"], ["--map", "{map}"], ["--also-load", "{elf}"]],
    ids=lambda options: options[0],
)
def test_what_needs_the_elf_says_so(
    options: list[str], linked: Linked, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"map": str(linked.map_file), "elf": str(linked.elf)}
    given = [option.format(**names) for option in options]
    assert main(["footprint", str(linked.map_file), *given]) == 2
    said = capsys.readouterr().err
    assert f"needs the ELF, and {linked.map_file} is a map file" in said


def test_maps_are_compared_with_maps_alone(
    linked: Linked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    larger = link(tmp_path, DATA, BSS, NOINIT, arena=2_100)
    before, after = str(linked.map_file), str(larger.map_file)
    assert main(["footprint", after, "--baseline", before]) == 0
    assert "arena RAM 2,000 2,100 +100 grew" in " ".join(capsys.readouterr().out.split())
    assert main(["footprint", after, "--baseline", str(linked.elf)]) == 2
    assert "cannot be compared with that of an ELF" in capsys.readouterr().err


def test_budgets_of_regions_are_checked_and_of_operators_cannot_be(
    linked: Linked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text("ram = 3000\n")
    assert main(["footprint", str(linked.map_file), "--budget", str(budget)]) == 0
    budget.write_text("ram = 3000\n[operators]\nADD = 10\n")
    assert main(["footprint", str(linked.map_file), "--budget", str(budget)]) == 1
    assert "a map file does not show operators" in capsys.readouterr().err


def test_a_text_called_map_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "fw.map").write_text("Speicherkonfiguration")
    assert main(["footprint", str(tmp_path / "fw.map")]) == 2
    assert "is not a map file of GNU ld or lld" in capsys.readouterr().err
