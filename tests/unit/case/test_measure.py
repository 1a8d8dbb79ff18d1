"""Figures of a run, from its records and its ELF."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from device import Told, lines, told
from elf_writer import MadeSection, MadeSymbol, write_elf
from model_builder import Graph, Op, T, build_graphs
from run_figures import figures_of
from subgraph_models import stream

from harness.base import paths
from harness.base.errors import BadElf
from harness.base.platforms import chip_table
from harness.case.measure import (
    NO_OPERATOR,
    Measures,
    interpreter_ticks,
    library_of,
    operator_ticks,
    profiled,
    size_of,
    time_of,
)
from harness.case.result import OperatorTicks, Profiled, Size
from harness.elf import Image
from harness.elf.call_tree import CallNode, CallTree
from harness.elf.coverage import Coverage
from harness.elf.wrapped import wrap
from harness.model import Model
from harness.uart import Console

#: Of the firmware below, and of the chip.
SIZE = Size(72, 32, 1 << 20, 256 << 10)


def image(tmp_path, sections) -> Image:
    path = tmp_path / "own.elf"
    path.write_bytes(write_elf(sections, [MadeSymbol("main", 9, 8, "func")], entry=9))
    return Image.from_elf(path)


@pytest.fixture
def firmware(tmp_path):
    return image(tmp_path, [
        MadeSection(".text", 0, bytes(64), load=0, executable=True),
        MadeSection(".data", 0x2000_0000, bytes(8), load=64),
        MadeSection(".bss", 0x2000_0008, size=24),
    ])  # fmt: skip


def console(*records: Told) -> Console:
    made = Console()
    made.feed(lines(records))
    made.finish()
    return made


def inference(number: int, ticks: int, **fields: object) -> Told:
    return told("inference", index=number, ticks=ticks, **fields)


def op(number: int, operator: str, ticks: int, node: int = 0) -> Told:
    return told("op", inference=number, node=node, operator=operator, ticks=ticks)


def test_sizes_are_those_of_flash_and_ram(firmware):
    assert size_of(firmware) == SIZE


def test_a_hex_file_has_no_size(tmp_path):
    assert size_of(Image(tmp_path / "app.hex", wrap([(0, bytes(64))]))) is None


class Unplaced:
    """An image whose sections no region holds."""

    regions = ()

    @property
    def layout(self):
        raise BadElf("section .far lies nowhere")


def test_an_image_without_a_layout_has_no_size():
    assert size_of(Unplaced()) is None


def test_without_records_nothing_but_the_size_is_known(firmware):
    assert figures_of(firmware, console()) == Measures(SIZE)


def test_the_median_inference_is_in_instructions_on_a_target_that_counts_them(firmware):
    said = console(inference(0, 900), inference(1, 100), inference(2, 200), inference(3, 0))
    assert figures_of(firmware, said).instructions == 200
    assert figures_of(firmware, said).cycles is None
    assert figures_of(firmware, said, target="board").cycles == 200
    assert figures_of(firmware, said, target="board").instructions is None


def test_every_source_of_ticks_is_named_once(firmware):
    said = console(inference(0, 1, source="systick"), inference(1, 1), inference(2, 1))
    assert figures_of(firmware, said).ticks_source == "dwt,systick"


def test_the_last_arena_and_the_deepest_stack_count(firmware):
    said = console(
        told("arena", declared=10, used=5), told("arena", declared=3072, used=564),
        told("stack", name="main", used=1048), told("stack", name="idle", used=96),
    )  # fmt: skip
    found = figures_of(firmware, said)
    assert (found.arena_declared, found.arena_used, found.stack_used) == (3072, 564, 1048)


def test_nodes_of_one_operator_are_added_and_of_several_inferences_the_median_counts():
    said = console(
        *(op(0, "CONV_2D", 30), op(0, "CONV_2D", 12), op(0, "SOFTMAX", 5)),
        *(op(1, "CONV_2D", 30), op(1, "CONV_2D", 20), op(1, "SOFTMAX", 5)),
        *(op(2, "CONV_2D", 900), op(2, "CONV_2D", 1)),
    )
    assert operator_ticks(said) == (OperatorTicks("CONV_2D", 50), OperatorTicks("SOFTMAX", 5))


def test_ticks_outside_operators_are_the_median_of_what_is_left_of_each_inference():
    said = console(
        *(inference(0, 1100), op(0, "CONV_2D", 1000), op(0, "SOFTMAX", 3)),
        *(inference(1, 1092), op(1, "CONV_2D", 990), op(1, "SOFTMAX", 4)),
        *(inference(2, 1115), op(2, "CONV_2D", 1010), op(2, "SOFTMAX", 6)),
        inference(3, 9000),  # without its operators
    )
    assert interpreter_ticks(said) == 98
    assert interpreter_ticks(console(inference(0, 1100))) is None


def test_an_operator_is_of_the_type_of_its_first_output():
    model = Model.from_file(paths.models() / "hello_world_int8.tflite")
    beyond = len(model.operators)
    said = console(op(0, "FULLY_CONNECTED", 3), op(0, "ADD", 2, node=beyond))
    assert operator_ticks(said, "reference", model) == (
        OperatorTicks("FULLY_CONNECTED", 3, "reference int8"),
        OperatorTicks("ADD", 2, "reference"),
    )
    assert operator_ticks(said)[0].kernel == ""


def test_of_several_outputs_the_first_is_the_operators_type():
    tensors = [T((1,), "float32"), T((1,), "int8", 1.0), T((1,), "int32")]
    graph = Graph(tensors, [Op("CUSTOM", [0], [1, 2], custom="Own")], [0], [1, 2])
    model = Model.from_bytes(build_graphs([graph]), "two")
    assert operator_ticks(console(op(0, "Own", 3)), "x", model)[0].kernel == "x int8"


def test_an_operator_without_outputs_has_no_type():
    model = Model.from_bytes(build_graphs(stream()), "stream")
    node = next(one.index for one in model.operators if not one.outputs)
    said = console(op(0, "ASSIGN_VARIABLE", 3, node=node))
    assert operator_ticks(said, "reference", model)[0].kernel == "reference"


def test_operators_that_take_as_long_stand_by_their_names():
    said = console(op(0, "SOFTMAX", 5), op(0, "ADD", 5), op(0, "MUL", 6))
    assert [one.operator for one in operator_ticks(said)] == ["MUL", "ADD", "SOFTMAX"]


def test_the_library_of_kernels_follows_from_symbols(firmware, tmp_path):
    assert library_of(firmware, "standalone") == "standalone"
    assert library_of(firmware, "zephyr") == "reference"
    text = MadeSection(".text", 0, bytes(64), load=0, executable=True)
    for name, library in (("arm_convolve_s8", "cmsis-nn"), ("arm_mult_q15", "reference")):
        path = tmp_path / f"{name}.elf"
        path.write_bytes(write_elf([text], [MadeSymbol(name, 9, 8, "func")], entry=9))
        assert library_of(Image.from_elf(path), "prebuilt") == library
    for kind in ("object", "notype"):
        path.write_bytes(write_elf([text], [MadeSymbol("arm_convolve_s8", 8, 8, kind)], entry=9))
        assert library_of(Image.from_elf(path), "prebuilt") == "reference"


def test_a_time_is_shown_with_its_source():
    assert time_of(None, 64_000, chip_table()) == "1 ms (DWT cycles at 64 MHz)"
    assert (
        time_of(96_000, None, chip_table())
        == "at least 1.5 ms (one cycle an instruction at 64 MHz)"
    )
    assert time_of(None, None, chip_table()) == ""


NODES = (CallNode(0, "", 0), CallNode(0, "main", 30, 0x80), CallNode(1, "Eval", 20, 0x100),
         CallNode(2, "memcpy", 50, 0x200))  # fmt: skip
TRACED = Coverage(calls=CallTree(NODES))


@pytest.mark.parametrize(
    ("registrations", "coverage", "found"),
    [
        (["CONV_2D"], TRACED, (Profiled("CONV_2D", 70), Profiled(NO_OPERATOR, 30))),
        (["CONV_2D"], Coverage({"main": 3}), ()),
        (["CONV_2D"], None, ()),
        ([], TRACED, ()),
        ([], None, ()),
    ],
)
def test_code_below_an_operators_function_is_the_operators(registrations, coverage, found):
    image = SimpleNamespace(
        registrations=registrations, operator_functions={0x100: tuple(registrations)}
    )
    assert profiled(image, coverage) == found
