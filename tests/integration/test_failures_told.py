"""Images of public bug reports, and what each command says of them first.

tflite-micro#757 (a dynamic-range model), example-esp32-cam#6 (an arena that the heap does not
have), AI-on-the-edge-device#3220 (a damaged model).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bare_images import BareImages
from bare_interpreter import with_interpreter
from model_builder import Op, T, build

from harness.base.errors import CheckFailed, FirmwareFailed
from harness.base.expected import Expected
from harness.case import Case, CaseResult, run_case
from harness.case.live import Live
from harness.cli import main
from harness.elf import Image
from harness.footprint.arena import minimum
from harness.targets.simulator import open as open_simulator

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

NODE = "Node FULLY_CONNECTED (number 0) failed to prepare with status 1"
HYBRID = f"Hybrid models are not supported on TFLite Micro. {NODE}"
REFUSED = (
    "tflite-micro refuses dynamic-range models (operator 0 FULLY_CONNECTED: float32 with int8 "
    "weights, tensor 1 'dense/kernel')"
)
REMEDY = "convert with full integer quantization (a representative_dataset), or with none"
SAYS = "".join(
    f'say("{text}\\n");'
    for text in (*HYBRID.partition(" Node")[0:1], NODE, "AllocateTensors() failed")
)


def dense(weights: str) -> bytes:
    """A FULLY_CONNECTED with float activations."""
    values = np.ones((3, 4), weights)
    scale = None if weights == "float32" else 0.1
    tensors = [T((1, 4), "float32"), T((3, 4), weights, scale, 0, values, name="dense/kernel"),
               T((1, 3), "float32")]  # fmt: skip
    operator = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    return build(tensors, [operator], [0], [2])


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> BareImages:
    return BareImages(tmp_path_factory.mktemp("images"))


@pytest.fixture
def image(images: BareImages, tmp_path: Path) -> Callable[..., Path]:
    """An image with a model, and functions under the names of tflite-micro's."""

    def make(body: str, model: bytes = b"", allocates: str = "") -> Path:
        return with_interpreter(images, tmp_path, body, model, allocates)

    return make


INTERPRETS = "take(0, g_model, g_model, tensor_arena, sizeof tensor_arena); allocate();"


def run(elf: Path, folder: Path, **keys: object) -> CaseResult:
    given = {"scraper": r"/y=(?P<y>\d+)/", "expect": Expected(values=({"y": 1},))}
    case = Case("own", elf=elf, timeout=2.0, observe_after=0.1, **{**given, **keys})
    return run_case(case, folder)


# tflite-micro#757


def test_run_says_first_that_the_model_is_refused(image, tmp_path):
    (tmp_path / "m.tflite").write_bytes(dense("int8"))
    judgement = run(image(SAYS), tmp_path, model=tmp_path / "m.tflite").judgement
    assert judgement.reason.startswith(f"{REFUSED}; {HYBRID}")
    assert judgement.problems[:2] == (REFUSED, HYBRID)
    assert judgement.hint == REMEDY


def test_run_finds_the_model_in_the_image(image, tmp_path):
    judgement = run(image(SAYS, dense("int8")), tmp_path).judgement
    assert judgement.reason.startswith(f"{REFUSED}; {HYBRID}")


def test_run_says_it_of_an_image_that_prints_nothing_of_it(image, tmp_path):
    judgement = run(image('say("boot\\n");', dense("int8")), tmp_path).judgement
    assert judgement.reason.startswith(REFUSED)


def test_run_does_not_say_it_of_a_model_that_is_not_refused(image, tmp_path):
    judgement = run(image(SAYS, dense("float32")), tmp_path).judgement
    assert judgement.reason.startswith(HYBRID)


def test_run_does_not_say_it_of_an_image_that_computes_outputs(image, tmp_path):
    judgement = run(image('say("y=2\\n");', dense("int8")), tmp_path).judgement
    assert "refuses" not in judgement.reason


def test_arena_says_it_in_place_of_a_larger_arena(image):
    elf = image(INTERPRETS, dense("int8"), SAYS + "return 1;")
    with pytest.raises(FirmwareFailed) as failed:
        minimum(Image.from_elf(elf), open_simulator)
    assert failed.value.message == f"{elf.name} allocates with no arena: {REFUSED}: {HYBRID}"
    assert failed.value.hint == REMEDY


@pytest.mark.parametrize(
    ("printed", "hint"),
    [
        ("Failed to allocate tail memory. Requested: 512, available 12, missing: 500",
         "declare a larger arena; `tflm-hil arena IMAGE` then finds the smallest that works"),
        ("Failed to allocate tail memory. Requested: 512000, available 12, missing: 511988",
         "512,000 B are more than the chip's RAM: is the model in the image damaged?"),
        ("Didn't find op for builtin opcode 'SOFTMAX'",
         "`tflm-hil resolver check IMAGE MODEL` lists what the resolver lacks"),
        (NODE, "the operator refuses its tensors at any size of the arena"),
    ],
)  # fmt: skip
def test_the_hint_of_arena_follows_from_the_message(image, printed, hint):
    elf = image(INTERPRETS, dense("float32"), f'say("{printed}\\n"); return 1;')
    with pytest.raises(FirmwareFailed) as failed:
        minimum(Image.from_elf(elf), open_simulator)
    assert failed.value.message.endswith(f"its own arena of 2,048 B: {printed}")
    assert failed.value.hint == hint


@pytest.mark.parametrize(("weights", "code"), [("int8", 1), ("float32", 0)])
def test_generate_writes_the_header_and_does_not_pass(weights, code, tmp_path, capsys):
    (tmp_path / "m.tflite").write_bytes(dense(weights))
    written = str(tmp_path / "resolver.h")
    assert main(["resolver", "generate", str(tmp_path / "m.tflite"), "-o", written]) == code
    said, header = capsys.readouterr().err, Path(written).read_text()
    assert "AddFullyConnected" in header
    assert (f"m.tflite: {REFUSED}: {REMEDY}" in said) == bool(code)
    assert ("Not usable: tflite-micro refuses" in header) == bool(code)


def test_resolver_check_says_it_of_any_image(image, tmp_path, capsys):
    (tmp_path / "m.tflite").write_bytes(dense("int8"))
    elf = str(image(SAYS))
    assert main(["resolver", "check", elf, str(tmp_path / "m.tflite"), "--json", "-"]) == 1
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (document["verdict"], document["verdicts"]) == ("refused", ["refused", "cannot_tell"])
    assert document["problems"][0] == f"{REFUSED}: {REMEDY}"
    assert f"m.tflite: {REFUSED}" in said.err


def test_reference_says_it_in_place_of_a_kernel_of_ones_own(tmp_path, capsys):
    (tmp_path / "m.tflite").write_bytes(dense("int8"))
    assert main(["reference", str(tmp_path / "m.tflite")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"Error: {REFUSED}") or f"{REFUSED}: m.tflite" in said
    assert REMEDY in said


# example-esp32-cam#6

ARENA = "Couldn't allocate memory for tensor arena"
NO_HEAP = f'say("boot\\n"); say("{ARENA}\\n");'


def test_run_says_that_the_arena_cannot_be_had(image, tmp_path):
    judgement = run(image(NO_HEAP), tmp_path).judgement
    assert judgement.reason.startswith(ARENA)


def test_run_passes_an_image_that_goes_on_with_another_arena(image, tmp_path):
    body = f'{NO_HEAP} say("trying internal RAM\\n"); say("y=1\\n");'
    assert run(image(body), tmp_path).passed


def test_a_session_says_that_the_arena_cannot_be_had(image):
    case = Case("own", elf=image(NO_HEAP), timeout=2.0)
    with pytest.raises(FirmwareFailed, match=f"{ARENA}; pc is in"), Live.open(case) as live:
        live.wait_for("y=")
    with pytest.raises(CheckFailed, match=f"^{ARENA}"), Live.open(case) as live:
        live.wait_for("boot")
        live.run_for(0.1)


def test_init_says_that_the_arena_cannot_be_had(image, tmp_path, capsys):
    folder = tmp_path / "firmware"
    folder.mkdir()
    (folder / "fw.elf").write_bytes(image(NO_HEAP).read_bytes())
    main(["init", str(folder)])
    assert f"the image shows a failure, so nothing is expected: {ARENA}" in capsys.readouterr().out


# AI-on-the-edge-device#3220


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (2_097_152, "2,097,152 B are more than the chip's RAM: is the model in the image damaged?"),
        (65_536, "declare a larger arena; `tflm-hil arena IMAGE` then finds the smallest that "
                 "works"),
    ],
)  # fmt: skip
def test_the_hint_of_a_small_arena_follows_from_what_was_asked_for(image, tmp_path, asked, hint):
    said = f"Failed to allocate tail memory. Requested: {asked}, available 12, missing: {asked}"
    judgement = run(image(f'say("{said}\\n"); say("AllocateTensors() failed\\n");'), tmp_path)
    assert judgement.judgement.reason.startswith(said)
    assert judgement.judgement.hint == hint
