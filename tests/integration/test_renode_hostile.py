"""Hostile images and their twins on Renode: judged as on the simulator, or as their row says.

What differs on Renode has ``renode`` in its row (tests/hostile), and is a row of differences.toml.
"""

from dataclasses import replace

import needs
import pytest
from hostile_images import hostile_images

from harness import run_case
from harness.base.findings import Kind
from harness.build.toolchain import Toolchain
from harness.targets.opening import Targets

IMAGES = hostile_images()
#: Seconds of virtual time at most: an image has said all by then.
SECONDS = 1.0
#: Options of a case that Renode has, too.
SHARED = ("power_on",)
each = pytest.mark.parametrize("image", IMAGES, ids=lambda one: f"{one.chapter}-{one.name}")


@pytest.fixture(scope="module")
def pools():
    """One Renode for all images."""
    needs.require("arm-none-eabi-gcc", "flatc", "renode")
    with Targets() as opened:
        yield opened


@pytest.fixture
def judged(pools, tmp_path):
    """The results of an image, or of its twin, on the simulator and on Renode."""

    def run(image, *, hostile):
        elf = image.build(Toolchain.find(), tmp_path, hostile=hostile)
        case = image.case_of(elf)
        case = replace(case, timeout=min(case.timeout, SECONDS))
        shared = {name: case.options[name] for name in SHARED if name in case.options}
        renode = replace(case.on("renode"), options=shared)
        return [
            run_case(one, tmp_path / one.target, pools=pools, on_error="record")
            for one in (case, renode)
        ]

    return run


def told(result):
    """The verdict, the first line of the reason, and the findings about the image."""
    seen = [one for one in result.evidence.findings if one.kind is not Kind.APPROXIMATION]
    findings = sorted((str(one.kind), one.subject) for one in seen)
    return str(result.verdict), result.judgement.reason, findings


@pytest.mark.renode
@each
def test_hostile_image_is_judged_as_on_the_simulator(image, judged):
    simulator, renode = map(told, judged(image, hostile=True))
    if not image.renode:
        assert renode == simulator
    elif image.renode == "pass":
        assert renode[0] == "pass"
    else:
        assert renode[0] == simulator[0]
        assert image.renode in renode[1]
        assert image.renode not in simulator[1]


@pytest.mark.renode
@each
def test_well_behaved_twin_is_judged_as_on_the_simulator(image, judged):
    simulator, renode = map(told, judged(image, hostile=False))
    assert renode == simulator
