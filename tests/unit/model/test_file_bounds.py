"""Bounds of the values in a file, from both sides, and defaults of absent fields."""

from __future__ import annotations

import pytest
from spoilt_models import schema, spoilt

from harness.base.errors import BadModel
from harness.model import Model
from harness.model.schema import OPERATOR_NAMES, OPTION_TABLES, TENSOR_TYPES, TYPE_BITS


def read(change) -> Model:
    return Model.from_bytes(spoilt(change), "m")


def refused(change) -> str:
    with pytest.raises(BadModel) as caught:
        read(change)
    assert caught.value.message.startswith("m: broken model: ")
    return caught.value.message.removeprefix("m: broken model: ")


def weights_with(**values: object):
    """The weights' tensor with other members; ``data`` is that of its buffer."""

    def change(model) -> None:
        tensor = model.subgraphs[0].tensors[1]
        tensor.quantization = None
        if "data" in values:
            model.buffers[tensor.buffer].data = list(values["data"])
        for name, value in values.items():
            if name != "data":
                setattr(tensor, name, value)

    return change


def scales(*values: float):
    def change(model) -> None:
        model.subgraphs[0].tensors[1].quantization.scale = list(values)

    return change


def operator_with(**values: object):
    def change(model) -> None:
        for name, value in values.items():
            setattr(model.subgraphs[0].operators[0], name, value)

    return change


def code_with(**values: object):
    def change(model) -> None:
        for name, value in values.items():
            setattr(model.operatorCodes[0], name, value)

    return change


# the file


@pytest.mark.parametrize("version", [2, 4])
def test_only_version_3_of_the_schema_is_known(version: int) -> None:
    told = refused(lambda model: setattr(model, "version", version))
    assert told == f"schema version {version}, only 3 is known"


def test_a_model_without_a_subgraph_is_refused() -> None:
    assert refused(lambda model: setattr(model, "subgraphs", [])) == "it has no subgraph"


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"\x7fELF\1\1\1\0" + bytes(40), "it is an ELF image, not a model"),
        (b"\xff" * 48, "is it a complete, unmodified .tflite file?"),
        (b"PK\3\4" + bytes(40), "is it a complete, unmodified .tflite file?"),
        (b"", "is it a complete, unmodified .tflite file?"),
        (b"\0\0\0\xf0TFL3", "is it a complete, unmodified .tflite file?"),
    ],
)
def test_a_file_that_is_not_a_model_has_a_hint(data: bytes, hint: str) -> None:
    with pytest.raises(BadModel) as caught:
        Model.from_bytes(data, "m")
    assert caught.value.hint == hint


# operator codes


def test_an_absent_version_is_1() -> None:
    assert read(code_with(version=1)).operators[0].version == 1


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (9, 0, "FULLY_CONNECTED"),
        (127, 150, "GELU"),
        (0, 0, "ADD"),
        (-1, -1, "BUILTIN_-1"),
        (127, len(OPERATOR_NAMES) - 1, OPERATOR_NAMES[-1]),
        (127, len(OPERATOR_NAMES), f"BUILTIN_{len(OPERATOR_NAMES)}"),
        (127, 100_000, "BUILTIN_100000"),
    ],
)
def test_an_operators_number_is_the_larger_of_its_two(old: int, new: int, name: str) -> None:
    change = code_with(deprecatedBuiltinCode=old, builtinCode=new)
    (operator,) = read(change).operators
    assert (operator.name, operator.custom) == (name, False)


def test_a_custom_operators_name_ends_at_its_first_zero() -> None:
    change = code_with(deprecatedBuiltinCode=32, builtinCode=32, customCode="Atan\0more")
    (operator,) = read(change).operators
    assert (operator.name, operator.custom) == ("Atan", True)


# operators


@pytest.mark.parametrize("number", [1, 99])
def test_an_operator_has_one_of_the_codes(number: int) -> None:
    told = f"operator 0 has operator code {number} of 1"
    assert refused(operator_with(opcodeIndex=number)) == told


@pytest.mark.parametrize(
    ("role", "what", "least"),
    [("inputs", "an input", -1), ("outputs", "an output", 0), ("intermediates", "an inter", -1)],
)
def test_the_tensors_of_an_operator_are_there(role: str, what: str, least: int) -> None:
    for index in (least, 2):
        assert read(operator_with(**{role: [index]})).operators[0] is not None
    for index in (-99, least - 1, 3, 99):
        told = refused(operator_with(**{role: [index]}))
        assert told.startswith(what)
        assert told.endswith(f"is tensor {index}, but there are 3 tensors")


@pytest.mark.parametrize("role", ["inputs", "outputs"])
def test_the_tensors_of_a_subgraph_are_there(role: str) -> None:
    def change(index: int):
        return lambda model: setattr(model.subgraphs[0], role, [index])

    for index in (0, 2):
        assert getattr(read(change(index)), role)[0].index == index
    for index in (-99, -1, 3, 99):
        told = f"a subgraph's {role[:-1]} is tensor {index}, but there are 3 tensors"
        assert refused(change(index)) == told


def test_missing_fields_of_an_operator_are_empty() -> None:
    nothing = dict.fromkeys(("inputs", "outputs", "intermediates", "customOptions"))
    (operator,) = read(
        operator_with(**nothing, builtinOptions=None, builtinOptionsType=0)
    ).operators
    assert (operator.inputs, operator.outputs, operator.intermediates) == ((), (), ())
    assert (dict(operator.options), operator.custom_options) == ({}, b"")


def test_intermediate_tensors_and_custom_options_are_read() -> None:
    (operator,) = read(operator_with(intermediates=[1, -1], customOptions=[1, 2, 255])).operators
    assert operator.intermediates == (1, -1)
    assert operator.custom_options == b"\1\2\xff"


def test_options_are_those_of_the_table_that_the_file_names() -> None:
    kind = {name: number for number, name in OPTION_TABLES.items()}
    dense = read(operator_with(builtinOptionsType=kind["FullyConnected"])).operators[0]
    assert "weights_format" in dense.options
    added = read(operator_with(builtinOptionsType=kind["Add"])).operators[0]
    assert dict(added.options).keys() == {"fused_activation_function", "pot_scale_int16"}


@pytest.mark.parametrize("kind", [0, len(OPTION_TABLES) + 1])
def test_options_of_no_table_are_none(kind: int) -> None:
    assert dict(read(operator_with(builtinOptionsType=kind)).operators[0].options) == {}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (-1, "activation#-1"),
        (0, "NONE"),
        (5, "SIGN_BIT"),
        (6, "activation#6"),
        (99, "activation#99"),
    ],
)
def test_an_enumeration_is_shown_by_name_or_by_number(number: int, name: str) -> None:
    def change(model) -> None:
        model.subgraphs[0].operators[0].builtinOptions.fusedActivationFunction = number

    assert read(change).operators[0].options["fused_activation_function"] == name


# tensors


@pytest.mark.parametrize("rank", [0, 8])
def test_a_tensor_has_up_to_eight_dimensions(rank: int) -> None:
    tensor = read(weights_with(shape=[1] * rank, data=[7])).tensors[1]
    assert tensor.shape == (1,) * rank


@pytest.mark.parametrize("shape", [[1] * 9, [1] * 11, [-1], [3, -4]])
def test_a_shape_of_another_form_is_refused(shape: list[int]) -> None:
    assert refused(weights_with(shape=shape)) == f"tensor 1 ('t1') has the shape {shape}"


def test_of_a_long_shape_sixteen_sizes_and_of_a_long_name_64_characters_are_shown() -> None:
    told = refused(weights_with(shape=[1] * 20, name="n" * 80))
    assert told == f"tensor 1 ('{'n' * 64}') has the shape {[1] * 16}"


def test_a_size_may_be_0() -> None:
    def change(model) -> None:
        model.subgraphs[0].tensors[0].shape = [0, 4]

    tensor = read(change).tensors[0]
    assert (tensor.shape, tensor.elements, tensor.constant) == ((0, 4), 0, False)


def test_a_tensor_has_up_to_2_to_the_31_elements() -> None:
    def change(*shape: int):
        return lambda model: setattr(model.subgraphs[0].tensors[0], "shape", list(shape))

    assert read(change(1 << 30, 2)).tensors[0].elements == 1 << 31
    assert refused(change((1 << 30) + 1, 2)).endswith("has 2147483650 elements")


def test_a_tensors_type_is_known() -> None:
    for number in (0, len(TENSOR_TYPES) - 1):
        change = weights_with(type=number, shape=[0], buffer=0)
        assert read(change).tensors[1].dtype == TENSOR_TYPES[number]
    for number in (-99, -1, len(TENSOR_TYPES), 99):
        assert refused(weights_with(type=number)).endswith(f"has the unknown type {number}")


@pytest.mark.parametrize("number", [2, 99])
def test_a_tensors_buffer_is_there(number: int) -> None:
    assert refused(weights_with(buffer=number)).endswith(f"has buffer {number} of 2")


#: Bits of an element, by NumPy or by the type's own name.
BITS = {
    "float32": 32, "float16": 16, "int32": 32, "uint8": 8, "int64": 64, "bool": 8, "int16": 16,
    "complex64": 64, "int8": 8, "float64": 64, "complex128": 128, "uint64": 64, "resource": 32,
    "uint32": 32, "uint16": 16, "int4": 4, "bfloat16": 16, "int2": 2, "uint4": 4,
    "float8_e4m3fn": 8, "float8_e5m2": 8,
}  # fmt: skip


def test_every_type_of_a_fixed_size_is_known() -> None:
    assert TYPE_BITS.keys() == BITS.keys()


@pytest.mark.parametrize("elements", [3, 16])
@pytest.mark.parametrize("dtype", BITS)
def test_a_constant_has_as_many_bytes_as_its_elements_need(dtype: str, elements: int) -> None:
    number, needed = TENSOR_TYPES.index(dtype), -(-elements * BITS[dtype] // 8)
    for size in (needed - 1, needed, needed + 1):
        change = weights_with(type=number, shape=[elements], data=bytes(size))
        if size == needed:
            assert len(read(change).tensors[1].data) == size
        elif size:
            told = f"tensor 1 ('t1') needs {needed} bytes of data, its buffer has {size}"
            assert refused(change) == told


def test_strings_have_no_fixed_size() -> None:
    change = weights_with(type=TENSOR_TYPES.index("string"), shape=[3], data=bytes(99))
    assert len(read(change).tensors[1].data) == 99


def test_a_sparse_tensor_is_refused() -> None:
    for data in (bytes(12), bytes(6)):  # of all values, of those that are not 0
        sparse = weights_with(sparsity=schema.SparsityParametersT(), data=data)
        with pytest.raises(BadModel) as error:
            read(sparse)
        assert error.value.message.endswith("tensor 1 ('t1') is sparse, which TFLM does not read")
        assert error.value.hint == "convert without EXPERIMENTAL_SPARSITY"


def test_a_tensor_is_a_variable_by_its_flag() -> None:
    assert read(weights_with(isVariable=True)).tensors[1].variable is True
    assert read(weights_with()).tensors[1].variable is False


# buffers


@pytest.mark.parametrize(("offset", "size"), [(0, 12), (1, 12), (2, 0)])
def test_a_buffer_without_offset_or_size_is_empty(offset: int, size: int) -> None:
    def change(model) -> None:
        buffer = model.buffers[model.subgraphs[0].tensors[1].buffer]
        buffer.data, buffer.offset, buffer.size = None, offset, size

    assert read(change).tensors[1].data is None


def test_a_buffers_data_may_stand_anywhere_in_the_file() -> None:
    def change(model) -> None:
        buffer = model.buffers[model.subgraphs[0].tensors[1].buffer]
        buffer.data, buffer.offset, buffer.size = None, 2, 12

    data = spoilt(change)
    assert bytes(Model.from_bytes(data, "m").tensors[1].data) == data[2:14]


# quantization


@pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf")])
def test_a_scale_is_a_number_that_is_not_negative(value: float) -> None:
    assert refused(scales(0.1, value, 0.3)).endswith("has a scale that is negative or not finite")


def test_a_scale_may_be_0() -> None:
    assert read(scales(0.0, 0.5, 0.25)).tensors[1].quantization.scales == (0.0, 0.5, 0.25)


def test_a_zero_point_has_32_bits() -> None:
    ends = [-(1 << 31), (1 << 31) - 1, 0]

    def change(model) -> None:
        model.subgraphs[0].tensors[1].quantization.zeroPoint = ends

    assert read(change).tensors[1].quantization.zero_points == tuple(ends)


def test_a_tensor_of_several_scales_gives_the_first_one() -> None:
    def change(model) -> None:
        quantization = model.subgraphs[0].tensors[1].quantization
        quantization.scale, quantization.zeroPoint = [0.5, 0.25, 2.0], [1, 2, 3]
        quantization.quantizedDimension = 1

    tensor = read(change).tensors[1]
    assert (tensor.scale, tensor.zero_point, tensor.quantization.axis) == (0.5, 1, 1)


def test_a_tensor_without_quantization_has_neither_scale_nor_zero_point() -> None:
    tensor = read(weights_with()).tensors[1]
    assert (tensor.quantization, tensor.scale, tensor.zero_point) == (None, 0.0, 0)
