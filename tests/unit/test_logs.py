"""What the package logs reaches who watches, and nobody else."""

import logging

from harness.base import logs
from harness.base.errors import FlashFailed
from harness.targets.board.lab import Policy
from harness.targets.board.policy import attempt

LOG = logging.getLogger("harness.some.module")


def test_a_block_that_watches_gets_the_messages_of_every_module():
    seen: list[str] = []
    with logs.shown(seen.append):
        LOG.info("built in %.1f s", 0.5)
        LOG.debug("the tool's own words")
    LOG.info("later")
    assert seen == ["built in 0.5 s"]


def test_a_debug_handler_gets_tool_output_and_others_do_not():
    progress: list[str] = []
    everything: list[str] = []
    with logs.shown(everything.append, logging.DEBUG):
        with logs.shown(progress.append):
            LOG.info("one")
            LOG.debug("two")
        LOG.debug("three")
    assert progress == ["one"]
    assert everything == ["one", "two", "three"]


def test_without_a_handler_nothing_is_shown(capfd):
    LOG.info("unseen")
    assert capfd.readouterr() == ("", "")


def test_attempts_at_a_board_are_logged(capfd):
    failures = [FlashFailed("no probe")]

    def action() -> str:
        if failures:
            raise failures.pop()
        return "done"

    seen: list[str] = []
    with logs.shown(seen.append):
        assert attempt(action, Policy(retries=2, backoff=0)) == "done"
    assert seen == ["attempt 2 of 3, after: no probe"]
