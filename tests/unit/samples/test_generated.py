"""What builds generate from the table: header, arrays, Kconfig, and the scripts CMake calls."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from harness.base import paths
from harness.build import generated, table
from harness.build.generated import TableError
from harness.build.options import BuildOptions
from harness.build.standalone import image_source

TABLE = table.load()
MODEL = b"TFL3" * 5


def _header(sample: str, configuration: str, runtime: str = "standalone") -> str:
    variant = TABLE.variant(sample, configuration, runtime)
    return generated.config_header(variant, MODEL, None)


def _array(text: str, name: str) -> bytes:
    numbers = re.search(rf"{name}\[\d+\] = {{(.*?)}};", text, re.DOTALL)
    assert numbers is not None
    return bytes(int(number) for number in re.findall(r"\d+", numbers[1]))


def test_operators_are_added_in_the_tables_order() -> None:
    calls = re.findall(r"resolver\.(\w+)\(", _header("hello_world", "too_small_rev"))
    assert calls == ["AddSoftmax", "AddFullyConnected"]


def test_an_unchecked_header_counts_refusals_and_a_checked_one_stops_at_the_first() -> None:
    assert "return 1;" not in _header("hello_world", "unchecked")
    assert _header("hello_world", "checked").count("return 1;") == 3
    assert "#define TFLM_HIL_RESOLVER_CHECKED 1" in _header("hello_world", "checked")


def test_custom_operators_and_own_kernels_are_declared_and_passed() -> None:
    custom = _header("atan", "custom")
    assert "const TFLMRegistration* Register_Atan();" in custom
    assert 'resolver.AddCustom("Atan", Register_Atan())' in custom
    own = _header("hello_world", "override")
    assert "resolver.AddFullyConnected(Own_FULLY_CONNECTED())" in own


def test_the_header_names_the_model_by_size_and_crc() -> None:
    text = _header("digits", "exact")
    assert f"TFLM_HIL_MODEL_BYTES {len(MODEL)}u" in text
    assert f"0x{zlib.crc32(MODEL):08x}u" in text


def test_two_variants_never_share_a_build_identifier() -> None:
    pairs = [(sample.name, row.name) for sample, row in TABLE.pairs()]
    builds = {re.search(r'BUILD "(\w+)"', _header(*pair))[1] for pair in pairs}
    assert len(builds) == len(pairs)


@given(st.binary(min_size=1, max_size=300))
def test_the_model_array_holds_exactly_the_models_bytes(model: bytes) -> None:
    text = generated.data_source(model, None)
    assert _array(text, "g_model") == model
    assert "alignas(16)" in text


@given(
    st_numpy.arrays(
        dtype=st.sampled_from([np.int8, np.uint8, np.float32]),
        shape=st_numpy.array_shapes(min_dims=1, max_dims=4, max_side=5),
        elements={"allow_nan": False},
    )
)
def test_arrays_are_read_as_numpy_wrote_them(tmp_path_factory, array) -> None:
    path = tmp_path_factory.mktemp("npz") / "inputs.npz"
    np.savez_compressed(path, values=array)
    inputs = generated.read_array(path, "values")
    assert inputs.rows == len(array)
    assert inputs.data == array.tobytes()


def test_only_the_first_inputs_go_into_an_image() -> None:
    sample = TABLE.sample("digits")
    inputs = generated.inputs_of(sample, paths.models())
    assert (inputs.rows, inputs.row_bytes) == (sample.inferences, 64)


@pytest.mark.parametrize("damage", ["fortran", "missing", "short", "text"])
def test_an_unusable_array_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "inputs.npz"
    array = np.arange(12, dtype=np.int8).reshape(3, 4)
    buffer = io.BytesIO()
    np.save(buffer, np.asfortranarray(array) if damage == "fortran" else array)
    raw = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as archive:
        name = "other.npy" if damage == "missing" else "values.npy"
        archive.writestr(name, raw[:-1] if damage == "short" else raw)
    if damage == "text":
        path.write_text("not a zip")
    with pytest.raises(TableError):
        generated.read_array(path, "values")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    # -S: no site-packages, as where Zephyr's Python lacks this project's libraries. -I: not in the
    # package's parent folder either.
    command = [sys.executable, "-I", "-S", generated.__file__, "--samples", str(paths.samples())]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def test_the_program_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    header, data = tmp_path / "c.h", tmp_path / "d.cc"
    done = _run("--sample", "atan", "--configuration", "exact", "--runtime", "tflm",
                "--header", str(header), "--data", str(data))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'TFLM_HIL_RUNTIME "tflm"' in header.read_text()
    model = (paths.models() / "atan_float32.tflite").read_bytes()
    assert _array(data.read_text(), "g_model") == model


@pytest.mark.parametrize("pair", [("hello_world", "exact"), ("digits", "all"), ("atan", "custom")])
def test_the_program_writes_what_the_standalone_builder_compiles(
    pair: tuple[str, str], tmp_path: Path
) -> None:
    header, variant = tmp_path / "c.h", TABLE.variant(*pair)
    done = _run("--sample", pair[0], "--configuration", pair[1], "--runtime", "standalone",
                "--header", str(header))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert header.read_text() == image_source(variant, BuildOptions()).config


def test_a_file_that_has_its_text_is_not_written(tmp_path: Path) -> None:
    header = tmp_path / "c.h"
    for _ in range(2):
        assert _run("--sample", "atan", "--header", str(header)).returncode == 0
        os.utime(header, ns=(1, 1))
    assert header.stat().st_mtime_ns == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--sample", "atan", "--configuration", "luck"), "'luck'"),
        (("--sample", "nobody"), "there is no sample 'nobody'"),
        (("--sample", "atan", "--model", "/nowhere.tflite"), "/nowhere.tflite"),
    ],
)
def test_the_program_refuses_without_a_traceback(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = _run(*arguments, "--header", str(tmp_path / "c.h"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"), [("spare = [", "resolvers.toml"), ("spare = []\n", "'samples'")]
)
def test_a_broken_table_is_told_without_a_traceback(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "resolvers.toml").write_text(text)
    command = [sys.executable, "-I", "-S", generated.__file__, "--samples", str(tmp_path)]
    done = subprocess.run(
        [*command, "--sample", "atan", "--header", str(tmp_path / "c.h")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_operator_that_tflite_micro_lacks_is_named(tmp_path: Path) -> None:
    resolver = tmp_path / "tensorflow" / "lite" / "micro" / "micro_mutable_op_resolver.h"
    resolver.parent.mkdir(parents=True)
    resolver.write_text("  TfLiteStatus AddFullyConnected(\n  TfLiteStatus AddConv2D() {")
    arguments = ("--sample", "hello_world", "--runtime", "tflm", "--tflite-micro", str(tmp_path),
                 "--header", str(tmp_path / "c.h"), "--configuration")  # fmt: skip
    assert _run(*arguments, "exact").returncode == 0
    done = _run(*arguments, "person_detection")
    assert done.returncode == 1
    assert done.stderr == (
        f"error: tflite-micro in {tmp_path} lacks AVERAGE_POOL_2D, DEPTHWISE_CONV_2D, RESHAPE,"
        " SOFTMAX, which configuration person_detection of hello_world registers\n"
    )


def test_the_choice_of_a_configuration_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "resolver").write_text("too_small\n")
    header = tmp_path / "c.h"
    done = _run("--sample", "atan", "--header", str(header),
                "--configuration", f"@{tmp_path / 'resolver'}")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert 'TFLM_HIL_RESOLVER_NAME "too_small"' in header.read_text()
