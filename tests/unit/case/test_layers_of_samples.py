"""The first operator that goes wrong, found in images that run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness import targets
from harness.base import paths
from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.build.standalone import build_standalone
from harness.case.layers import compare_with_device, dump_layers
from harness.cli import cli
from harness.elf import Image
from harness.model import Model
from harness.reference import Interpreter

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
MODELS = {
    "hello_world": "hello_world_int8",
    "hello_world_float": "hello_world_float32",
    "digits": "digits_int8",
    "digits_cnn": "digits_cnn_int8",
    "residual": "residual_int8",
    "chime": "chime_int8",
    "atan": "atan_float32",
}


def model_of(sample: str) -> Path:
    return paths.models() / f"{MODELS[sample]}.tflite"


def image(sample: str, resolver: str = "exact") -> Image:
    return Image.from_elf(build_standalone(sample, resolver).elf)


@pytest.fixture
def broken_digits() -> Iterator[tuple[object, Image, int]]:
    """The digits sample with one filter of its third convolution spoilt in flash."""
    firmware, model = image("digits"), Model.from_file(model_of("digits"))
    operator = [one for one in model.operators if one.name == "CONV_2D"][2]
    weights = bytes(model.tensors[operator.inputs[1]].data or b"")
    symbol = firmware.symbol("g_model")
    assert symbol is not None
    with targets.open_target("simulator", firmware) as session:
        stored = session.memory.read(symbol.address, model.size)
        at = stored.index(weights)
        spoilt = bytes(byte ^ 0x40 for byte in weights[:64])
        session.memory.write(symbol.address + at, spoilt)
        yield session, firmware, operator.index


@pytest.mark.parametrize("sample", MODELS)
def test_every_layer_of_every_sample_equals_the_reference(sample: str) -> None:
    firmware = image(sample)
    with targets.open_target("simulator", firmware) as session:
        report = compare_with_device(
            session,  # type: ignore[arg-type]
            firmware,
            Interpreter.from_file(model_of(sample)),
            inference=1,
            deadline=session.deadline(10),
        )
    assert report.equal, str(report)
    assert report.compared == len(report.layers)


def test_the_operator_with_the_spoilt_weights_is_named(broken_digits) -> None:  # type: ignore[no-untyped-def]
    session, firmware, culprit = broken_digits
    interpreter = Interpreter.from_file(model_of("digits"))
    report = compare_with_device(session, firmware, interpreter, deadline=session.deadline(10))
    first = report.first
    assert first is not None
    assert (first.operator.index, first.operator.name) == (culprit, "CONV_2D")
    assert first.own_fault
    assert all(
        layer.own_fault is False for layer in report.layers if layer.differs and layer is not first
    )
    assert f"first diverging layer: operator {culprit}" in str(report)


def test_a_kernel_of_the_application_is_seen_like_any_other() -> None:
    firmware = image("digits", "override")
    with targets.open_target("simulator", firmware) as session:
        model = Model.from_file(model_of("digits"))
        dump = dump_layers(session, firmware, model, deadline=session.deadline(10))  # type: ignore[arg-type]
    assert sorted(dump.outputs) == [(one.index, 0) for one in model.operators]


def test_an_image_that_runs_another_model_is_reported() -> None:
    firmware, other = image("digits"), Model.from_file(model_of("residual"))
    with (
        targets.open_target("simulator", firmware) as session,
        pytest.raises((CheckFailed, FirmwareFailed)),
    ):
        dump_layers(session, firmware, other, deadline=session.deadline(10))  # type: ignore[arg-type]


def test_an_image_that_fails_before_its_first_inference_is_reported() -> None:
    firmware, model = image("digits", "missing"), Model.from_file(model_of("digits"))
    with (
        targets.open_target("simulator", firmware) as session,
        pytest.raises(FirmwareFailed, match="Invoke"),
    ):
        dump_layers(session, firmware, model, deadline=session.deadline(10))  # type: ignore[arg-type]


def test_a_stripped_image_is_refused_with_the_reason(tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.elf"
    command = ["arm-none-eabi-strip", "-o", str(stripped), str(image("hello_world").path)]
    subprocess.run(command, check=True)
    firmware, model = Image.from_elf(stripped), Model.from_file(model_of("hello_world"))
    with (
        targets.open_target("simulator", firmware) as session,
        pytest.raises(UsageError, match="no function"),
    ):
        dump_layers(session, firmware, model, deadline=session.deadline(10))  # type: ignore[arg-type]


def test_the_command_prints_a_line_for_each_operator_and_writes_json(tmp_path: Path) -> None:
    file = tmp_path / "layers.json"
    done = CliRunner().invoke(cli, ["layers", "hello_world", "--json", str(file)])
    assert done.exit_code == 0, done.output
    assert done.output.count("FULLY_CONNECTED") == 3
    assert "all 3 dumped layers equal" in done.output
    assert json.loads(file.read_text())["equal"] is True


@pytest.mark.slow
@pytest.mark.needs("renode")
def test_renode_gives_the_same_layers_as_the_simulator() -> None:
    firmware, model = image("digits"), Model.from_file(model_of("digits"))
    dumps = []
    for target in ("simulator", "renode"):
        with targets.open_target(target, firmware) as session:
            dumps.append(
                dump_layers(session, firmware, model, deadline=session.deadline(10))  # type: ignore[arg-type]
            )
    assert dumps[0] == dumps[1]


def test_a_dump_holds_the_inputs_of_the_inferences_before_it() -> None:
    firmware, model = image("digits"), Model.from_file(model_of("digits"))
    seen = []
    for number in range(3):
        with targets.open_target("simulator", firmware) as session:
            deadline = session.deadline(10)
            dump = dump_layers(session, firmware, model, inference=number, deadline=deadline)  # type: ignore[arg-type]
        assert dump.earlier == tuple(seen)
        seen.append(dump.inputs)
    assert len(set(seen)) == 3
