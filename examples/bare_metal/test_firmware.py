"""The firmware against its model, to the bit: ``make && pytest``."""

from pathlib import Path

import numpy as np
import pytest

from harness import FirmwareFailed, Interpreter

HERE = Path(__file__).parent
ELF = "firmware.elf"
WINDOWS = 5


def test_the_scores_are_those_of_the_model(hil):
    model = Interpreter.from_file(HERE / "model.tflite")
    live = hil.session(ELF)
    for _ in range(WINDOWS):
        line = live.wait_for(r"^window ([-\d ]+) scores ([-\d ]+)$")
        window, scores = (np.array(line.group(n).split(), np.int8) for n in (1, 2))
        [expected] = model.invoke([window.reshape(1, 4)])
        assert scores.tolist() == expected.ravel().tolist()
    live.wait_for("^all windows done$")


def test_it_starts_again_after_a_reset(hil):
    live = hil.session(ELF)
    live.wait_for("^all windows done$")
    live.reset()
    live.wait_for("^window 0 0 0 0 ")


def test_it_says_nothing_behind_its_last_words(hil):
    live = hil.session(ELF)
    live.wait_for("^all windows done$")
    with pytest.raises(FirmwareFailed, match="it sleeps"):
        live.wait_for(".")


def test_it_fits(hil):
    assert hil.footprint(ELF).region("FLASH").used < 4096
