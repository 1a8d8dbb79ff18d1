"""Keywords that talk with a running image and look into it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from harness.base.errors import FirmwareFailed, UsageError
from harness.case.case import Case
from harness.keywords.live import LiveSession

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")


@pytest.fixture
def session(build) -> Iterator[LiveSession]:
    """An image that prints "ready", takes 10,241 bytes, and prints "received"."""
    live = LiveSession()
    live.start(Case("receive", elf=build("receive").path))
    yield live
    live.close()


def test_a_line_that_is_written_is_what_the_image_reads(session: LiveSession) -> None:
    assert session.wait_for_line("ready") == "ready"
    session.write_line("x" * 10_240)
    assert session.wait_for_line("(rec)eived") == "rec"


def test_a_line_that_does_not_come_says_how_the_image_ended(session: LiveSession) -> None:
    session.wait_for_line("ready")
    with pytest.raises(FirmwareFailed, match="no line matched 'received'"):
        session.wait_for_line("received")


def test_memory_is_read_by_address_and_by_symbol(session: LiveSession) -> None:
    session.wait_for_line("ready")
    by_name = session.read_memory("vectors", 8)
    assert session.read_memory("0x0", 8) == by_name != bytes(8)
    with pytest.raises(UsageError, match="'nothing' is neither an address nor a symbol"):
        session.read_memory("nothing")


def test_a_reset_starts_the_image_again(session: LiveSession) -> None:
    session.wait_for_line("ready")
    session.reset_target()
    session.run_for(timedelta(milliseconds=5))
    assert session.wait_for_line("ready") == "ready"


def test_the_call_stack_names_who_waits(session: LiveSession) -> None:
    session.wait_for_line("ready")
    session.run_for(timedelta(milliseconds=1))
    assert "Main at receive.c" in session.call_stack()
