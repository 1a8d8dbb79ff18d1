"""What depends on the revision of tflite-micro: the smallest arena, and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from elf_writer import MadeSection, write_elf

from harness.base import paths
from harness.base.expected import Expected
from harness.base.findings import Kind
from harness.build import generated, table
from harness.case.evidence import known_of
from harness.case.samples import as_built, sample_case
from harness.elf import Image

TABLE = table.load()
SAMPLE = replace(
    TABLE.samples["hello_world"],
    arena_minimum={"standalone": 640, "tflm@old": 1000, "tflm@new": 1100},
)
DATES = {"old": date(2024, 6, 27), "middle": date(2025, 1, 1), "new": date(2025, 2, 10)}
MADE = replace(TABLE, samples={"hello_world": SAMPLE}, tflite_micro=DATES)


@pytest.mark.parametrize(
    ("commit", "day", "revision"),
    [
        ("old4f3c", date(2026, 1, 1), "old"),  # the commit itself, whatever its date
        ("abc", date(2020, 1, 1), "old"),
        ("abc", date(2024, 10, 1), "old"),
        ("abc", date(2024, 12, 24), "new"),
        ("middle", date(2025, 1, 1), "new"),  # a revision without a figure of this sample
        ("abc", date(2026, 1, 1), "new"),
        ("", None, "new"),
    ],
)
def test_the_nearest_revision_with_a_figure_is_used(commit, day, revision) -> None:
    assert MADE.nearest(SAMPLE, commit, day) == revision


def test_a_sample_without_figures_has_no_nearest_revision() -> None:
    assert MADE.nearest(replace(SAMPLE, arena_minimum={}), "abc", date(2025, 1, 1)) == ""


def test_the_arena_is_that_of_the_revision_and_the_variant_names_it() -> None:
    fits = [MADE.variant("hello_world", "arena_fits", "tflm", one) for one in ("old", "new", "")]
    assert [one.arena for one in fits] == [1000, 1100, 1100]
    assert [one.minimum for one in fits] == ["tflm@old", "tflm@new", "tflm@new"]
    assert MADE.variant("hello_world", "arena_fits").arena == 640
    assert MADE.variant("hello_world", "exact", "tflm").minimum == ""


def test_every_figure_of_the_table_is_of_a_revision_with_a_date() -> None:
    for sample in TABLE.samples.values():
        for name in sample.arena_minimum:
            assert name == "standalone" or name.removeprefix("tflm@") in TABLE.tflite_micro


def image_of(
    revision: str, path: Path, sample: str = "hello_world", name: str = "arena_fits"
) -> Image:
    """An image that contains the identifier of the build with ``revision``."""
    variant = TABLE.variant(sample, name, "tflm", revision)
    model = (paths.models() / variant.sample.model).read_bytes()
    inputs = generated.inputs_of(variant.sample, paths.models())
    header = generated.config_header(variant, model, inputs)
    found = re.search(r'TFLM_HIL_BUILD "(\w+)"', header)
    assert found is not None
    data = bytes(64) + found[1].encode() + b"\0"
    path.write_bytes(
        write_elf([MadeSection(".text", 0x100, data, load=0x100, executable=True)], [])
    )
    return Image.from_elf(path)


@pytest.mark.parametrize("revision", TABLE.minima(TABLE.samples["hello_world"]))
def test_a_result_names_the_source_of_its_arena_figure(tmp_path: Path, revision) -> None:
    case = sample_case("hello_world", "arena_fits", builder="zephyr")
    known = known_of(case, image_of(revision, tmp_path / "a.elf"), None, ())
    arenas = {one.values for one in known.facts if (one.kind, one.field) == ("arena", "declared")}
    figure = TABLE.samples["hello_world"].arena_minimum[f"tflm@{revision}"]
    assert (figure,) in arenas
    (note,) = known.notes
    assert note.kind is Kind.APPROXIMATION
    assert f"{figure} B" in note.message
    assert revision in note.message


REFUSED = {("prepare_failed", "FULLY_CONNECTED"), ("allocation_failed", "")}
CNN_ON_37 = [
    ("exact", False, REFUSED),
    ("too_small", False, {("resolver_too_small", "LOGISTIC"), *REFUSED}),
    ("arena_fits", False, REFUSED),
    ("arena_one_byte_short", False, REFUSED),
    ("console", False, REFUSED),
    ("override", True, set()),  # the application's own kernel takes the model
    ("missing", False, {("missing_operator", "DEQUANTIZE"), ("allocation_failed", "")}),
    ("arena_too_small", False, {("arena_too_small", ""), ("allocation_failed", "")}),
]


@pytest.mark.parametrize(("name", "outputs", "findings"), CNN_ON_37)
def test_what_a_revision_refuses_is_expected_of_its_images(
    tmp_path: Path, name: str, outputs: bool, findings: set[tuple[str, str]]
) -> None:
    case = sample_case("digits_cnn", name, builder="zephyr")
    old = as_built(case, image_of("48613f7b", tmp_path / "old.elf", "digits_cnn", name))
    assert (old.expect.wants_outputs, set(old.expect.findings)) == (outputs, findings)
    new = as_built(case, image_of("2026-08", tmp_path / "new.elf", "digits_cnn", name))
    assert new == case


def test_a_result_names_the_revision_that_refuses_the_model(tmp_path: Path) -> None:
    case = sample_case("digits_cnn", "exact", builder="zephyr")
    image = image_of("48613f7b", tmp_path / "a.elf", "digits_cnn", "exact")
    (note,) = known_of(case, image, None, ()).notes
    assert "tflite-micro 48613f7b cannot run digits_cnn_int8.tflite" in note.message
    assert "FULLY_CONNECTED" in note.message


def test_expectations_of_a_case_s_own_stay(tmp_path: Path) -> None:
    case = sample_case("digits_cnn", "exact", builder="zephyr")
    case = replace(case, expect=Expected(False, (("fault", ""),)))
    image = image_of("48613f7b", tmp_path / "a.elf", "digits_cnn", "exact")
    assert as_built(case, image) == case


def test_a_declared_arena_needs_no_note(tmp_path: Path) -> None:
    case = sample_case("hello_world", "exact", builder="zephyr")
    assert known_of(case, None, None, ()).notes == ()


def git(folder: Path, *words: str, day: str) -> None:
    stamp = f"{day}T12:00:00Z"
    environment = {"GIT_COMMITTER_DATE": stamp, "GIT_AUTHOR_DATE": stamp, "HOME": str(folder),
                   "PATH": "/usr/bin:/bin"}  # fmt: skip
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, env=environment,
                   capture_output=True)  # fmt: skip


@pytest.mark.parametrize(
    ("day", "arena"), [("2024-07-01", 1092), ("2025-03-01", 1104), ("2026-09-01", 1068)]
)
def test_cmake_s_script_takes_the_date_of_the_module_s_commit(tmp_path: Path, day, arena) -> None:
    module, out = tmp_path / "tflite-micro", tmp_path / "config.h"
    module.mkdir()
    resolver = module / "tensorflow" / "lite" / "micro" / "micro_mutable_op_resolver.h"
    resolver.parent.mkdir(parents=True)
    resolver.write_text("TfLiteStatus AddFullyConnected(")
    git(module, "init", "-q", day=day)
    git(module, "commit", "-q", "--allow-empty", "-m", "a", day=day)
    arguments = ["--samples", paths.samples(), "--sample", "hello_world", "--header", out]
    arguments += ["--configuration", "arena_fits", "--runtime", "tflm", "--tflite-micro", module]
    command = [sys.executable, generated.__file__, *arguments]
    subprocess.run(command, check=True)
    assert f"#define TFLM_HIL_ARENA_BYTES {arena}\n" in out.read_text()
