"""Each image of tests/firmware/releases has its outcome on the simulator and on a real Renode."""

import warnings

import needs
import pytest
import release_images

from harness.base.errors import EnvironmentMissing
from harness.targets import open_target

IMAGES = {one.name: one for one in release_images.images()}
each = pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)


class BelievedOtherwise(UserWarning):
    """An outcome that was believed, not measured, and is another."""


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("releases")
    return lambda image: image.build(compiler, folder)


@each
def test_outcome_on_the_simulator(image, build):
    with open_target("simulator", build(image)) as session:
        assert image.outcome(session) == image.simulator


@each
def test_outcome_on_renode(image, build, server, record_property):
    """A believed outcome that is another is reported: as a warning, and in the job's summary."""
    for earlier in filter(None, [IMAGES.get(image.after)]):
        with open_target("renode", build(earlier), server=server) as session:
            earlier.outcome(session)
    try:
        with open_target("renode", build(image), server=server) as session:
            seen = image.outcome(session)
    except EnvironmentMissing:
        seen = release_images.REFUSED
    if surprise := image.surprise(server.program.version, seen):
        record_property("believed", surprise)
        warnings.warn(surprise, BelievedOtherwise, stacklevel=1)
