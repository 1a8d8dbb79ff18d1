"""Images end, and hang, on Renode as on the simulator."""

from __future__ import annotations

import framed_images
import needs
import pytest

from harness.case.endings import at_rest
from harness.case.observe import is_stuck
from harness.targets import open_target

#: Seconds of the target's time; a handler that executes for most of them is stuck.
SECONDS, STUCK = 0.5, 0.3


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("ends")
    return lambda image: image.build(compiler, folder)


def end_on(target, image, **options):
    """How the image ends: why the run stopped, the core's rest, a stuck handler, the console."""
    with open_target(target, image, **options) as session:
        stop = session.run(None, session.deadline(SECONDS, guard=60))
        stuck = is_stuck(stop, session.handler_seconds or 0.0, STUCK)
        return str(stop), at_rest(session, stop), stuck, session.read()


@pytest.mark.parametrize("image", framed_images.images("ends"), ids=lambda image: image.name)
def test_the_end_is_that_on_the_simulator(image, build, server):
    firmware = build(image)
    assert end_on("renode", firmware, server=server) == end_on("simulator", firmware)
