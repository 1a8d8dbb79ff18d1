"""Operator by operator, on a device whose kernels request tensors as TFLM's do."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from model_builder import Graph, Op, T, build_graphs
from subgraph_models import loop

from harness.base import paths
from harness.base.clock import Deadline
from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.case.layers import compare_with_device, device_inferences, dump_layers
from harness.elf import Image
from harness.model import Model
from harness.reference import Interpreter
from harness.reference.layers import table
from harness.targets import Stop

MODEL = Model.from_file(paths.models() / "hello_world_int8.tflite")
INVOKE, ASK, AFTER, KERNEL = 0x101, 0x201, 0x300, 0x400
TENSORS, ARENA, DIMENSIONS = 0x2000_0100, 0x2000_1000, 0x0001_2345
#: Where the planner put the computed tensors: the last one where the first one was.
PLACES = {0: ARENA, 7: ARENA + 64, 8: ARENA + 128, 9: ARENA + 64}


class Device:
    """Runs the model: each inference calls Invoke, each kernel asks for tensors and then writes.

    ``spoil`` changes what an operator writes; ``twice`` lets kernels ask for each tensor twice;
    ``asks`` are the tensors that the kernel of an operator asks for.
    """

    def __init__(
        self,
        inputs,
        spoil=lambda operator, data: data,
        twice=False,
        model=MODEL,
        places=PLACES,
        asks=lambda operator: (operator.inputs[0], operator.outputs[0]),
    ) -> None:
        self.asks = asks
        self.model, self.places = model, places
        self.registers = {"pc": 0, "lr": 0, "r0": 0, "r1": 0}
        self.memory = SimpleNamespace(read=self._read)
        self._bytes = bytearray(0x2000)
        for tensor, place in places.items():
            at = TENSORS - 0x2000_0000 + 12 * tensor
            struct.pack_into("<III", self._bytes, at, place, DIMENSIONS, 9)  # data, dims, type
        self._steps = self._program(inputs, spoil, twice)
        self.end = Stop.IDLE

    def _read(self, address, size):
        at = address - 0x2000_0000
        return bytes(self._bytes[at : at + size])

    def _put(self, tensor, data):
        at = self.places[tensor] - 0x2000_0000
        self._bytes[at : at + len(data)] = data

    def _program(self, inputs, spoil, twice):
        interpreter = Interpreter.from_model(self.model)
        for row in inputs:
            self._put(0, row.tobytes())
            layers = table(interpreter, [row]).layers
            yield {"pc": INVOKE & ~1, "lr": AFTER | 1}
            for operator, layer in zip(self.model.operators, layers, strict=True):
                for tensor in self.asks(operator):
                    for _ in range(1 + twice):
                        yield {"pc": ASK & ~1, "lr": KERNEL | 1, "r1": tensor}
                        yield {"pc": KERNEL, "r0": TENSORS + 12 * tensor}
                written = np.array(layer.expected)
                self._put(operator.outputs[0], spoil(operator.index, written).tobytes())
            yield {"pc": AFTER}

    def run_to_address(self, address, deadline):
        if self.registers["pc"] == address:
            return Stop.CONDITION
        for registers in self._steps:
            self.registers.update(registers)
            if self.registers["pc"] == address:
                return Stop.CONDITION
        return self.end

    def where(self):
        return "main at main.c:7"


@pytest.fixture
def image(tmp_path):
    """An ELF whose functions have these names."""

    def make(*symbols):
        path = tmp_path / "own.elf"
        text = MadeSection(".text", 0, bytes(0x800), load=0, executable=True)
        path.write_bytes(write_elf([text], list(symbols), entry=9))
        return Image.from_elf(path)

    return make


def function(name, address, kind="func"):
    return MadeSymbol(name, address, 8, kind)


INVOKES = function("_ZN6tflite16MicroInterpreter6InvokeEv", INVOKE)
ASKS = function("_ZN6tflite12MicroContext13GetEvalTensorEPK13TfLiteContexti", ASK)
#: Its output is a sum over this input and the two before.
MEMORY = Graph(
    [
        T((1, 1), "int8", 0.05),
        T((1, 1), "int8", 1.0, 0, [[1]]),
        T((1, 3), "int8", 1.0, 0, [[1, 2, 1]]),
        T((1,), "int32", 0.05, 0, [0]),
        T((1, 3), "int8", 0.05, variable=True),
        T((1, 1), "int8", 0.2),
    ],
    [Op("SVDF", [0, 1, 2, 3, 4], [5], ("SVDF", {"Rank": 1}))],
    [0],
    [5],
)
ROWS = [np.array([[value]], np.int8) for value in (-128, 3, 127)]


@pytest.fixture
def firmware(image):
    return image(INVOKES, ASKS)


def dump(device, firmware, **more):
    return dump_layers(device, firmware, MODEL, deadline=Deadline(1.0), **more)


#: Adds what another subgraph sets once: CALL_ONCE, ADD.
NUMBERS = [T((1,), "int8", 1.0)] * 2
ADD = Op("ADD", [0, 0], [1], ("Add", {}))
CALL = Op("CALL_ONCE", [], [], ("CallOnce", {"InitSubgraphIndex": 1}))
ONCE = [Graph(NUMBERS, [CALL, ADD], [0], [1]), Graph(NUMBERS, [ADD], [0], [1])]


class OnceDevice(Device):
    """Its first inference after a reset asks for tensors of another subgraph first."""

    def reset(self):
        self.registers["pc"] = 0
        self._steps = self._program(self.rows, None, None)

    def _program(self, inputs, spoil, twice):
        self.rows = inputs
        for number, row in enumerate(inputs):
            self._put(0, row.tobytes())
            yield {"pc": INVOKE & ~1, "lr": AFTER | 1}
            for table_of in ([TENSORS + 0x400] if number == 0 else []) + [TENSORS]:
                yield {"pc": ASK & ~1, "lr": KERNEL | 1, "r1": 0}
                yield {"pc": KERNEL, "r0": table_of}
            self._put(1, (row + row).tobytes())
            yield {"pc": AFTER}


def test_tensors_of_the_main_subgraph_are_read_though_another_one_runs_first(firmware):
    model = Model.from_bytes(build_graphs(ONCE), "once")
    rows = [np.array([value], np.int8) for value in (3, 5, 7)]
    device = OnceDevice(rows, model=model, places={0: ARENA, 1: ARENA + 64})
    read = device_inferences(device, firmware, model, 8, Deadline(1.0))
    assert [(one.inputs, one.outputs) for one in read] == [
        ((bytes([value]),), (bytes([2 * value]),)) for value in (3, 5, 7)
    ]


@pytest.mark.parametrize("twice", [False, True])
def test_each_operators_output_is_read_before_its_memory_is_used_again(firmware, twice):
    found = dump(Device(ROWS[:1], twice=twice), firmware)
    layers = table(Interpreter.from_model(MODEL), [ROWS[0]]).layers
    assert found.inputs == (ROWS[0].tobytes(),)
    assert found.earlier == ()
    assert dict(found.outputs) == {
        (node, 0): np.array(layer.expected).tobytes() for node, layer in enumerate(layers)
    }


def test_the_first_inference_is_read_by_default(firmware):
    assert dump(Device(ROWS), firmware).inputs == (ROWS[0].tobytes(),)
    third = dump(Device(ROWS), firmware, inference=2)
    assert third.inputs == (ROWS[2].tobytes(),)
    assert third.earlier == ((ROWS[0].tobytes(),), (ROWS[1].tobytes(),))


def compared(device, firmware, **more):
    interpreter = Interpreter.from_model(MODEL)
    return compare_with_device(device, firmware, interpreter, deadline=Deadline(1.0), **more)


def test_a_right_device_is_equal_in_every_layer_of_every_inference(firmware):
    for number in range(3):
        report = compared(Device(ROWS), firmware, inference=number)
        assert (report.equal, report.compared) == (True, 3)
    assert compared(Device(ROWS[:1]), firmware).equal


def test_a_stateful_model_gets_all_inputs_of_the_device(firmware):
    model = Model.from_bytes(build_graphs([MEMORY]), "svdf")
    places = {0: ARENA, 5: ARENA + 64}
    rows = [np.array([[value]], np.int8) for value in (60, -90, 20)]
    device = Device(rows, model=model, places=places)
    interpreter = Interpreter.from_model(model)
    interpreter.invoke([rows[2]])  # what it heard before is forgotten
    deadline = Deadline(1.0)
    assert compare_with_device(device, firmware, interpreter, inference=2, deadline=deadline).equal
    alone = Interpreter.from_model(model).invoke([rows[2]])[0]
    assert device.memory.read(places[5], 1) != alone.tobytes()


def off_by_one(operator, data):
    return data ^ np.int8(operator == 1)


def test_the_first_operator_that_differs_is_named(firmware):
    report = compared(Device(ROWS, spoil=off_by_one), firmware)
    assert report.first.operator.index == 1


def test_differences_within_the_tolerance_are_equal(firmware):
    assert compared(Device(ROWS, spoil=off_by_one), firmware, tolerance=1.0).equal
    assert not compared(Device(ROWS, spoil=off_by_one), firmware, tolerance=0.5).equal


def test_an_image_that_stops_earlier_is_reported_with_its_place(firmware):
    with pytest.raises(FirmwareFailed, match=r"MicroInterpreter::Invoke\(\) \(idle\); it is in ma"):
        dump(Device(ROWS), firmware, inference=3)


def test_an_operator_that_never_requests_its_output_belongs_to_another_model(firmware):
    other = Model.from_file(paths.models() / "digits_int8.tflite")
    device = Device([ROWS[0]] * 200)
    with pytest.raises(CheckFailed, match="never requested its output"):
        dump_layers(device, firmware, other, deadline=Deadline(1.0))


@pytest.mark.parametrize(
    ("symbols", "lacking"),
    [
        ((ASKS,), "tflite::MicroInterpreter::Invoke"),
        ((INVOKES,), "GetEvalTensor"),
        ((INVOKES, function("xGetEvalTensor", ASK)), "GetEvalTensor"),
        ((INVOKES, function("GetEvalTensor", ASK, "object")), "GetEvalTensor"),
    ],
)
def test_an_image_without_the_functions_to_stop_at_is_refused(image, symbols, lacking):
    with pytest.raises(UsageError, match=f"own.elf has no function {lacking}") as told:
        dump(Device(ROWS), image(*symbols))
    assert "link-time optimization" in told.value.hint


def test_of_two_functions_of_the_name_the_lower_one_is_taken(image):
    second = function("_ZN2my13GetEvalTensorEi", 0x501)
    assert dump(Device(ROWS[:1]), image(INVOKES, second, ASKS)).outputs


def test_a_model_with_subgraphs_is_refused_before_the_device_runs(image):
    model = Model.from_bytes(build_graphs(loop()), "loop")
    with pytest.raises(UsageError, match="loop has 3 subgraphs"):
        dump_layers(None, image, model, deadline=Deadline(1.0))


def single(asks):
    """The layers of a model of one operator, whose kernel asks for these tensors."""
    model = Model.from_bytes(build_graphs([MEMORY]), "svdf")
    places = {0: ARENA, 5: ARENA + 64}
    return Device([ROWS[0]], model=model, places=places, asks=asks), model


def test_a_kernel_may_request_its_output_first(firmware):
    device, model = single(lambda operator: (operator.outputs[0], operator.inputs[0]))
    found = dump_layers(device, firmware, model, deadline=Deadline(1.0))
    assert dict(found.outputs) == {(0, 0): device.memory.read(ARENA + 64, 1)}


def test_a_first_operator_that_never_requests_its_output_belongs_to_another_model(firmware):
    device, model = single(lambda operator: [operator.inputs[0]] * 300)
    with pytest.raises(CheckFailed, match=r"SVDF.* never requested its output"):
        dump_layers(device, firmware, model, deadline=Deadline(1.0))
