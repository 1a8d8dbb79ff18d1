"""Reading models: the content of a file, and errors for broken files."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st
from model_builder import Op, T, build
from operator_models import every_operator

from harness.base import paths
from harness.base.errors import BadModel, HilError
from harness.model import Model, schema
from harness.model.flatbuffer import Buffer, Malformed
from harness.reference import Interpreter

MODELS = sorted(paths.models().glob("*.tflite"))
SEEDS = [*(path.read_bytes() for path in MODELS), *every_operator()]


def _small() -> bytes:
    rng = np.random.default_rng(0)
    tensors = [
        T((1, 4, 4, 2), "int8", 0.5, 3, name="image"),
        T((3, 2, 2, 2), "int8", [0.1, 0.2, 0.3], 0, rng.integers(-9, 9, (3, 2, 2, 2))),
        T((1, 3, 3, 3), "int8", 0.25, -1),
        T((1, 27), "int8", 0.25, -1),
    ]
    conv = ("Conv2D", {"Padding": 1, "StrideW": 1, "StrideH": 1, "FusedActivationFunction": 3})
    operators = [
        Op("CONV_2D", [0, 1, -1], [2], conv, version=3),
        Op("RESHAPE", [2], [3], ("Reshape", {"NewShape": [1, 27]})),
    ]
    return build(tensors, operators, [0], [3], "a test")


def test_operators_tensors_and_options_are_read() -> None:
    model = Model.from_bytes(_small(), "small")
    assert (model.name, model.description, model.version) == ("small", "a test", 3)
    conv, reshape = model.operators
    assert (conv.index, conv.name, conv.custom, conv.version) == (0, "CONV_2D", False, 3)
    assert (conv.inputs, conv.outputs) == ((0, 1, -1), (2,))
    assert conv.options["padding"] == "VALID"
    assert conv.options["fused_activation_function"] == "RELU6"
    assert conv.options["dilation_w_factor"] == 1  # the schema's default
    assert reshape.options["new_shape"] == (1, 27)
    assert model.operator_names == ("CONV_2D", "RESHAPE")


def test_a_tensor_carries_its_quantization() -> None:
    model = Model.from_bytes(_small())
    (image,) = model.inputs
    assert (image.name, image.shape, image.dtype) == ("image", (1, 4, 4, 2), "int8")
    assert (image.scale, image.zero_point, image.constant) == (0.5, 3, False)
    weights = model.tensors[1]
    assert weights.constant
    assert weights.quantization is not None
    assert np.allclose(weights.quantization.scales, [0.1, 0.2, 0.3])
    assert weights.quantization.zero_points == (0, 0, 0)
    assert weights.data is not None
    assert len(weights.data) == 24


def test_the_file_is_identified_by_size_and_crc() -> None:
    data = _small()
    model = Model.from_bytes(data)
    assert (model.size, model.crc32) == (len(data), zlib.crc32(data))


def test_operator_names_come_once_in_the_order_of_use() -> None:
    tensors = [T((2,), "float32")] * 4
    operators = [Op("NEG", [0], [1]), Op("", [1], [2], custom="Atan"), Op("NEG", [2], [3])]
    model = Model.from_bytes(build(tensors, operators, [0], [3]))
    assert model.operator_names == ("NEG", "Atan")
    assert model.custom_operator_names == ("Atan",)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_the_models_of_the_repository_are_read(path: Path) -> None:
    model = Model.from_file(path)
    assert model.inputs
    assert model.outputs
    assert model.operators


# The schema's tables are held against the generated package, which nobody here wrote.


@pytest.mark.parametrize("number", range(len(schema.OPERATOR_NAMES)))
def test_operator_numbers_are_the_schemas(number: int) -> None:
    assert getattr(tflite.BuiltinOperator, schema.OPERATOR_NAMES[number], number) == number


def test_every_operator_of_the_generated_package_is_known() -> None:
    generated = {
        value: name
        for name, value in vars(tflite.BuiltinOperator).items()
        if isinstance(value, int)
    }
    for number, name in generated.items():
        assert schema.OPERATOR_NAMES[number] == name


def test_tensor_types_are_the_schemas() -> None:
    for name, value in vars(tflite.TensorType).items():
        if isinstance(value, int):
            assert schema.TENSOR_TYPES[value].upper() == name


def test_option_table_numbers_are_the_schemas() -> None:
    for name, value in vars(tflite.BuiltinOptions).items():
        if isinstance(value, int) and name != "NONE":
            assert f"{schema.OPTION_TABLES[value]}Options" == name


@pytest.mark.parametrize("table", schema.known_tables())
def test_option_fields_have_the_schemas_slots(table: str) -> None:
    """Each field, written by the generated package, is read back; the others keep defaults."""
    for _, field, kind, _ in schema.fields(table):
        name = "".join(part[:1].upper() + part[1:] for part in field.split("_"))
        b = flatbuffers.Builder(64)
        value, expected = _sample(b, kind)
        getattr(tflite, f"{table}OptionsStart")(b)
        getattr(tflite, f"{table}OptionsAdd{name}")(b, value)
        b.Finish(getattr(tflite, f"{table}OptionsEnd")(b))
        read = schema.options(table, Buffer(bytes(b.Output())).root())
        assert read[field] == expected, field
        defaults = schema.options(table, None)
        assert {k: v for k, v in read.items() if k != field} == {
            k: v for k, v in defaults.items() if k != field
        }


def _sample(b: object, kind: str) -> tuple[object, object]:
    """A value that is no default, as written and as read."""
    if kind == "[int32]":
        return b.CreateNumpyVector(np.array([7, 8], np.int32)), (7, 8)  # type: ignore[attr-defined]
    if kind == "name":
        return b.CreateString("seven"), "seven"  # type: ignore[attr-defined]
    return {
        "int32": (7, 7),
        "int8": (1, 1),
        "bool": (True, True),
        "float32": (0.5, 0.5),
        "activation": (3, "RELU6"),
        "padding": (1, "VALID"),
        "type": (9, "int8"),
        "mirror_mode": (1, "SYMMETRIC"),
    }[kind]


def test_the_defaults_of_the_schema_apply() -> None:
    assert schema.options("Add", None) == {
        "fused_activation_function": "NONE",
        "pot_scale_int16": True,
    }
    assert schema.options("Conv2D", None)["dilation_h_factor"] == 1


@pytest.mark.parametrize("table", schema.known_tables())
def test_a_field_without_a_default_of_its_own_is_zero_or_the_first_name(table: str) -> None:
    zero = {"bool": False, "float32": 0.0, "[int32]": None, "name": None, "activation": "NONE",
            "padding": "SAME", "type": "float32", "mirror_mode": "REFLECT"}  # fmt: skip
    read = schema.options(table, None)
    for _, field, kind, default in schema.fields(table):
        if not default:
            assert read[field] == zero.get(kind, 0)


def test_reading_a_model_imports_neither_numpy_nor_flatbuffers() -> None:
    code = (
        "import sys, harness.model;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'tflite', 'flatbuffers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Broken files


def test_a_missing_file_is_a_bad_model(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match="there is no file"):
        Model.from_file(tmp_path / "none.tflite")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 a zip file", "not a .tflite model"),
        (b"\x00\x00\x00\xf0TFL3", "points outside the file"),
        (struct.pack("<I4s", 8, b"TFL3") + b"\0" * 8, "version 0"),
    ],
)
def test_an_error_is_one_line(data: bytes, words: str) -> None:
    with pytest.raises(BadModel, match=words) as caught:
        Model.from_bytes(data, "x.tflite")
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith("x.tflite: ")


def _harmless(data: bytes) -> None:
    """Either the model is read and run, or it is refused in one line."""
    try:
        model = Model.from_bytes(data, "fuzz")
        interpreter = Interpreter(model)
        interpreter.invoke([np.zeros(t.shape, t.dtype) for t in model.inputs])
    except HilError as error:
        assert "\n" not in error.message
        assert len(error.message) < 1000


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_truncated_model_does_no_harm(path: Path) -> None:
    data = path.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 60)):
        _harmless(data[:size])


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_flipped_bits_do_no_harm(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 6))):
        bit = data.draw(st.integers(0, 8 * len(content) - 1))
        content[bit // 8] ^= 1 << bit % 8
    _harmless(bytes(content))


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_adversarial_words_do_no_harm(data: st.DataObject) -> None:
    """Whole words overwritten with the numbers that break readers."""
    content = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 4))):
        place = 4 * data.draw(st.integers(2, len(content) // 4 - 1))
        word = data.draw(
            st.sampled_from(
                [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, len(content), 1 << 20]
            )
        )
        content[place : place + 4] = struct.pack("<I", word)
    _harmless(bytes(content))


def test_overlapping_tables_cannot_make_a_small_file_large() -> None:
    """Thousands of tensors that share one huge shape vector."""
    count = 20_000
    shared = struct.pack("<I", count) + b"\1\0\0\0" * count
    body = bytearray(4)
    start = len(body)
    body += struct.pack("<HHH", 6, 8, 4) + b"\0\0"  # a vtable with one field
    table_at = len(body)
    body += struct.pack("<iI", table_at - start, 4)
    body += shared
    body[0:4] = struct.pack("<I", table_at)
    table = Buffer(bytes(body)).root()
    with pytest.raises(Malformed, match="overlap"):
        for _ in range(1000):
            table.vector(0, "int32")


def test_a_custom_operators_name_of_several_lines_is_shown_in_one() -> None:
    x = T((1,), "float32")
    data = build([x, x], [Op("", [7], [1], custom="Sign\n\x04")], [0], [1])
    with pytest.raises(BadModel) as refused:
        Model.from_bytes(data, "m")
    message = "m: broken model: an input of operator 0 ('Sign\\n\\x04') is tensor 7"
    assert refused.value.message.startswith(message)
