"""What an image holds of a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import pytest
from ai_edge_litert import schema_py_generated as schema
from elf_writer import MadeSection, MadeSymbol, write_elf
from model_builder import Op, T, build
from networks import small_network

from harness.base import paths
from harness.elf import Image
from harness.elf.models import Held, HeldModel, another_given, held_model, incomplete_copy
from harness.model import Model

NETWORK = small_network()
OTHER = build(
    [T((1, 8), "int8", 0.1), T((1, 8), "int8", 1 / 256, -128)],
    [Op("SOFTMAX", [0], [1], ("Softmax", {"Beta": 1.0}))], [0], [1],
)  # fmt: skip
FILLER = b"\xa5" * 2000
#: TFLM's code compares the identifier of a model with this text.
CODE = FILLER + b"TFL3\0" + FILLER
#: Where a copy is cut: its next bytes are others.
CUT = 903
FIRST_ONLY = f"equals it in the first {CUT} of {NETWORK.size:,} bytes only"
ALTERED = "the image does not hold network: its copy "


def held(stored: bytes, model: Model = NETWORK) -> HeldModel:
    """What an image with these bytes in flash holds of ``model``."""
    sections = [MadeSection(".rodata", 0x100, stored, load=0x100)]
    image = Image(Path("made.elf"), write_elf(sections, []))
    return held_model(image, model)


def packed(change: Callable[[Any], object] = lambda _: None) -> bytes:
    """The network, changed, and written again by other code: no part is where it was."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(NETWORK.data)))
    change(model)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def flipped(part: bytes, at: int = 0) -> bytes:
    """The network with one bit of ``part`` flipped."""
    place = NETWORK.data.index(part) + at
    return NETWORK.data[:place] + bytes([NETWORK.data[place] ^ 4]) + NETWORK.data[place + 1 :]


def constant(index: int) -> bytes:
    return bytes(NETWORK.tensors[index].data)


def test_the_file_itself():
    assert held(CODE + NETWORK.data + FILLER) == HeldModel(Held.MODEL)


def test_the_same_model_written_by_another_tool():
    assert packed() != NETWORK.data
    found = held(packed())
    assert found.held is Held.MODEL
    assert (
        found.text
        == "the image's copy of network differs from the file in bytes that no kernel reads"
    )


def rename(model: Any) -> None:
    model.description = b"converted on another day"
    for tensor in model.subgraphs[0].tensors:
        tensor.name = b"renamed"


def test_names_and_metadata_do_not_count():
    assert held(packed(rename)).held is Held.MODEL


def change_constants(model: Any) -> None:
    for buffer in model.buffers[1:]:
        buffer.data = buffer.data[::-1]


def change_scale(model: Any) -> None:
    model.subgraphs[0].tensors[2].quantization.scale[0] = 0.5


def change_zero_point(model: Any) -> None:
    model.subgraphs[0].tensors[0].quantization.zeroPoint[0] = 4


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (flipped(constant(1)), "1 byte, in the weights of operator 0 (CONV_2D)"),
        (flipped(constant(8), 9), "1 byte, in the weights of operator 3 (FULLY_CONNECTED)"),
        (flipped(constant(4)), "1 byte, in the bias of operator 1 (DEPTHWISE_CONV_2D)"),
        (flipped(constant(6)), "1 byte, in input 1 of operator 2 (ADD)"),
        (packed(change_scale), "the scale (0.5, not 0.03) of the output of operator 0 (CONV_2D)"),
        (packed(change_zero_point), "the zero point (4, not -3) of the model's input"),
    ],
    ids=["weights", "more weights", "bias", "constant", "scale", "zero point"],
)
def test_other_values_of_the_same_graph(stored, text):
    assert held(CODE + stored + FILLER) == HeldModel(
        Held.OTHER_VALUES, f"{ALTERED}differs in {text}"
    )


def test_other_weights_everywhere():
    found = held(packed(change_constants))
    assert found.held is Held.OTHER_VALUES
    assert found.text.endswith(
        "bytes, in the weights of operator 0 (CONV_2D), the weights of operator 1 "
        "(DEPTHWISE_CONV_2D), the bias of operator 1 (DEPTHWISE_CONV_2D) and 2 more parts"
    )


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (flipped(b"TFL3"), "differs in 1 byte, the first at offset 4"),
        (NETWORK.data[:CUT], FIRST_ONLY),
        (NETWORK.data[:CUT] + FILLER, FIRST_ONLY),
        (NETWORK.data[:CUT] + NETWORK.data[CUT + 1 :] + FILLER,
         FIRST_ONLY),
    ],
    ids=["identifier", "end of flash", "cut off", "lost byte"],
)  # fmt: skip
def test_a_damaged_copy(stored, text):
    assert held(CODE + stored) == HeldModel(Held.DAMAGED, ALTERED + text)


def test_another_model_is_described():
    assert held(CODE + OTHER) == HeldModel(
        Held.ANOTHER, "the image holds another model (SOFTMAX; input int8 [1, 8]), not network"
    )


def test_another_model_of_the_project_is_named():
    data = (paths.models() / "digits_int8.tflite").read_bytes()
    assert held(data).text == "the image holds digits_int8.tflite, not network"


def test_one_of_two_models_is_enough():
    assert held(OTHER + FILLER + NETWORK.data).held is Held.MODEL


HELLO = (paths.models() / "hello_world_int8.tflite").read_bytes()
AT, BEHIND = 0x100, 0x100 + len(NETWORK.data) + 64


def root_at(address: int, data: bytes) -> int:
    """The address of the root table of the model ``data`` at ``address``."""
    return address + int.from_bytes(data[:4], "little")


@pytest.mark.parametrize(
    ("roots", "named"),
    [
        ([root_at(BEHIND, HELLO)], True),
        ([root_at(AT, NETWORK.data)], False),
        ([root_at(BEHIND, HELLO), root_at(AT, NETWORK.data)], False),  # two interpreters
        ([BEHIND], False),  # the address of something else
        ([0x2000_0000, root_at(BEHIND, HELLO)], False),  # a copy in RAM may be the model
        ([], False),
    ],
)
def test_another_model_that_interpreters_got_is_named(roots, named):
    stored = NETWORK.data.ljust(BEHIND - AT, b"\0") + HELLO
    symbols = [
        MadeSymbol("network_model", AT, len(NETWORK.data)),
        MadeSymbol("sine_model", BEHIND, len(HELLO)),
    ]
    sections = [MadeSection(".rodata", AT, stored, load=AT)]
    image = Image(Path("made.elf"), write_elf(sections, symbols))
    told = "the interpreter gets sine_model, which is not network" if named else ""
    assert another_given(image, roots, NETWORK) == told


@pytest.mark.parametrize("stored", [FILLER, CODE, NETWORK.data[:3]], ids=["none", "code", "stub"])
def test_an_image_without_a_model(stored):
    assert held(stored) == HeldModel(
        Held.NOTHING,
        "the image holds no .tflite that can be read; that it runs network rests on its outputs",
    )


def test_identifiers_without_end_are_not_all_looked_at():
    assert held(b"TFL3" * 50_000).held is Held.NOTHING


@pytest.mark.parametrize("size", [2, 4, 8])
def test_a_copy_with_reversed_words_is_named(size):
    data = NETWORK.data[: NETWORK.size // 8 * 8]
    words = [data[at : at + size][::-1] for at in range(0, len(data), size)]
    found = held(FILLER + b"".join(words) + FILLER)
    assert found == HeldModel(
        Held.DAMAGED, f"{ALTERED}has the bytes of each {8 * size}-bit word reversed"
    )


def in_ram(content: bytes, size: int) -> tuple[str, int] | None:
    """What of the model is in a variable of RAM with ``content`` and zeros."""
    symbols = [MadeSymbol("g_copy", 0x2000_0000, size, "object")]
    sections = [MadeSection(".rodata", 0x100, NETWORK.data, load=0x100)]
    image = Image(Path("made.elf"), write_elf(sections, symbols))
    return incomplete_copy(image, NETWORK, lambda _, count: content.ljust(count, b"\0")[:count])


@pytest.mark.parametrize("count", [4, 64, 1000])
def test_a_copy_in_ram_that_lacks_its_end_is_found(count):
    assert in_ram(NETWORK.data[:count], NETWORK.size + 16) == ("g_copy", count)


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (NETWORK.data, NETWORK.size),  # the whole model
        (b"", NETWORK.size),  # nothing yet
        (b"\1\2\3\4" * 8, NETWORK.size),  # something else
        (NETWORK.data[:4], NETWORK.size // 2),  # a variable for something else
    ],
)
def test_other_variables_in_ram_are_no_copies(content, size):
    assert in_ram(content, size) is None
