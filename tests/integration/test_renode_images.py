"""Each image of tests/firmware/renode has its outcome on the simulator and on a real Renode."""

import needs
import pytest
import renode_images

from harness.targets import open_target

IMAGES = {one.name: one for one in renode_images.images()}
each = pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("images")
    return lambda image: image.build(compiler, folder)


@each
def test_outcome_on_the_simulator(image, build):
    with open_target("simulator", build(image)) as session:
        assert image.outcome(session) == image.simulator


@each
def test_outcome_on_renode(image, build, server):
    for earlier in filter(None, [IMAGES.get(image.after)]):
        with open_target("renode", build(earlier), server=server) as session:
            earlier.outcome(session)
    with open_target("renode", build(image), server=server) as session:
        assert image.outcome(session) == image.renode
