"""A model that remembers, fed frame by frame: what a device must give, and when it begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fed_sample import fed_sample

from harness import targets
from harness.base import paths
from harness.build.builders import build_one
from harness.case import Verdict, run_case
from harness.case.accuracy import accuracy
from harness.case.feed import Feeder
from harness.case.inputs import load_inputs
from harness.case.live import Live
from harness.case.samples import sample_case
from harness.case.tap import Tap
from harness.elf import Image
from harness.model import Model
from harness.reference import Interpreter
from harness.targets.session import Session
from harness.uart import Console, TensorKey

MODEL = paths.models() / "chime_int8.tflite"
FRAMES = np.load(paths.models() / "chime_test.npz")["int8"][:, None]  # (1000, 1, 1, 1, 16)
CHIME = 12  # frames in which the first chime begins and ends


@pytest.fixture
def session() -> Iterator[Session]:
    with fed_sample("chime") as opened:
        yield opened


def heard(session: Session, frames: np.ndarray) -> list[bytes]:
    """What a device that has just started gives for each frame."""
    tap, deadline = Tap(session, Console()), session.deadline(30, guard=60)
    feeder = Feeder(tap, deadline)
    feeder.wait_ready()
    for number, frame in enumerate(frames):
        feeder.infer(number, [frame.tobytes()])
    return [tap.console.tensors[TensorKey("output", n, 0)] for n in range(len(frames))]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("session")
def test_a_thousand_frames_equal_the_reference_to_the_bit(tmp_path: Path) -> None:
    """Every frame of the test set, one after the other; and right as often as the card says."""
    case = replace(sample_case("chime", "console"), rows=0)
    assert case.vectors is not None
    after = len(load_inputs(case.vectors, Model.from_file(MODEL)))  # follow the test set
    result = run_case(case, tmp_path)
    assert result.verdict is Verdict.PASS, result.reason
    assert (len(FRAMES), result.outputs_compared) == (1000, 3 * (1000 + after))
    (console,) = tmp_path.rglob("console.bin")
    assert accuracy(console, MODEL, case.vectors).equal


def test_a_restart_of_the_device_makes_it_forget_and_the_reference_too() -> None:
    firmware = Image.from_elf(build_one("chime", "exact"))
    case = sample_case("chime", "exact")
    with targets.open_target("simulator", firmware) as session, Live(case, session) as live:
        live.wait_for_inferences(CHIME)
        live.reset()
        live.wait_for_end()
        check = live.check_outputs()
        assert len(live.console.boots) == 2
    assert check.inferences >= CHIME + case.inferences
    assert (check.compared, check.mismatches) == (3 * check.inferences, 0)
    # A device that remembered would have given something else.
    frames = FRAMES[:CHIME]
    (whole,) = Interpreter.from_file(MODEL).invoke_batch([np.concatenate([frames, frames])])
    assert not np.array_equal(whole[CHIME:], whole[:CHIME])


def test_frames_in_another_order_are_not_the_same(session: Session) -> None:
    forwards, backwards = FRAMES[:CHIME], FRAMES[:CHIME][::-1]
    (wanted,) = Interpreter.from_file(MODEL).invoke_batch([backwards])
    obtained = heard(session, backwards)
    assert obtained == [scores.tobytes() for scores in wanted]
    (other,) = Interpreter.from_file(MODEL).invoke_batch([forwards])
    assert obtained != [scores.tobytes() for scores in other[::-1]]
