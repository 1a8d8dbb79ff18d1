"""The host's side of the console, at its beginning."""

from __future__ import annotations

import pytest
from device import line

from harness.case.feed import Feeder, Tap
from harness.errors import FirmwareFailed
from harness.uart import Console


def feeder_of(session, console=None):
    tap = Tap(session, console or Console())
    return Feeder(tap, session.deadline(1.0))


def test_an_image_that_has_asked_already_is_not_waited_for(scripted):
    console = Console()
    console.feed(line(0, "ready"))
    session = scripted([])
    feeder_of(session, console).wait_ready()
    assert session.time == 0.0


def test_of_all_that_an_image_asked_for_the_last_alone_is_still_open(scripted):
    console = Console()
    console.feed(line(0, "ready") + line(1, "ready"))
    feeder = feeder_of(scripted([]), console)
    feeder.wait_ready()
    with pytest.raises(FirmwareFailed, match="did not ask for input"):
        feeder.wait_ready()


def test_an_image_that_has_not_asked_yet_is_waited_for(scripted):
    session = scripted([b"booting\n", line(0, "ready")])
    feeder_of(session).wait_ready()
    assert session.time == pytest.approx(2e-3)
