"""Faults on Renode are told as on the simulator: kind, place, call stack, words."""

from __future__ import annotations

import re

import framed_images
import needs
import pytest

from harness.case.observe import faults_with_stacks
from harness.targets import Stop, open_target
from harness.targets.base import Fault

IMAGES = framed_images.images("faults")


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("faults")
    return lambda image: image.build(compiler, folder)


def faults_on(target, image, **options) -> tuple[Stop, list[Fault]]:
    with open_target(target, image, **options) as session:
        stop = session.run(None, session.deadline(1, guard=60))
        return stop, list(faults_with_stacks(session, image))


def words(fault: Fault) -> str:
    """The report without what only the simulator knows: blocks, and xPSR.GE; and the count."""
    text = re.sub(r"\n  last blocks.*?(?=\n  \S)", "", fault.report, flags=re.DOTALL)
    return re.sub(r"xpsr (...).|after \d+ instructions", r"\1", text)


def in_short(fault: Fault) -> str:
    """The fault without its callers: Renode does not show the other world's stack pointers.

    A jump into the other world has another place on each: its instruction on Renode, its block on
    the simulator.
    """
    where = "" if "INVEP" in fault.reason else fault.where
    place = f"{fault.world} {fault.image} {where} {fault.access}"
    return f"{fault.kind} ({fault.reason}): {fault.cause}; {place}"


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_faults_are_told_as_on_the_simulator(image, build, server):
    firmware = build(image)
    expected_stop, expected = faults_on("simulator", firmware)
    stop, found = faults_on("renode", firmware, server=server)
    assert expected, "the image does not fault"
    if image.differs:
        assert str(found[0]) == str(expected[0])
        return
    assert stop is expected_stop
    if image.worlds:
        assert list(map(in_short, found)) == list(map(in_short, expected))
        return
    assert list(map(str, found)) == list(map(str, expected))
    if not image.late:
        assert list(map(words, found)) == list(map(words, expected))
