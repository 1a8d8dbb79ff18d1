"""The link to Renode: answers, refusals, silence, and its end."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from harness.base.errors import TargetLost
from harness.targets.renode.link import AgentLink, MonitorError, pipes


class Renode:
    """The other end: answers each request as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.link, (self._requests, self._answers) = pipes()
        self.asked: list[bytes] = []
        self.says: Callable[[bytes], list[bytes]] = lambda request: [b"done\n"]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def say(self, data: bytes) -> None:
        os.write(self._answers, data)

    def _serve(self) -> None:
        with os.fdopen(self._requests, "rb") as requests:
            for request in requests:
                self.asked.append(request)
                for part in self.says(request):
                    if not part:
                        os.close(self._answers)
                        return
                    os.write(self._answers, part)
                    time.sleep(0.01)

    def end(self) -> None:
        self.link.close()
        self._thread.join(5)


@pytest.fixture
def renode() -> Iterator[Renode]:
    other = Renode()
    yield other
    other.end()


def said(text: str) -> bytes:
    return f"said {text.encode().hex()}\n".encode()


def test_ready_waits_for_renodes_first_line(renode):
    with pytest.raises(TargetLost, match=r"did not answer its start within 0.05 s"):
        renode.link.ready(0.05)
    again = Renode()
    threading.Timer(0.1, again.say, [b"done\n"]).start()
    again.link.ready(5)
    again.end()


def test_output_of_a_monitor_command_is_its_answer(renode):
    renode.says = lambda request: [said("Grüße\n"), said("two\n"), b"done\n"]
    assert renode.link.command("mach create") == "Grüße\ntwo\n"
    assert renode.asked == [b"monitor mach create\n"]


def test_the_lines_of_an_answer_come_however_their_bytes_are_cut(renode):
    renode.says = lambda request: [b"on", b"e 1\ntwo", b" 2\ndo", b"ne\n"]
    assert renode.link.call("run(1)") == ["one 1", "two 2"]
    assert renode.link.call("run(2)") == ["one 1", "two 2"]
    assert renode.asked == [b"agent run(1)\n", b"agent run(2)\n"]


def test_lines_are_given_as_they_come_also_before_a_renode_is_lost(renode):
    renode.says = lambda request: [b"console 1 61\n", b"console 2 62\n", b""]
    taken = []
    with pytest.raises(TargetLost, match="lost the connection to Renode: it has ended"):
        renode.link.call("run(1)", take=taken.append)
    assert taken == ["console 1 61", "console 2 62"]


def test_message_of_a_refusal_is_its_first_line(renode):
    words = b"\n  No such command: boom  \nsome more\n".hex().encode()
    renode.says = lambda request: [b"failed " + words + b"\n"]
    with pytest.raises(MonitorError, match=r"^Renode: No such command: boom$"):
        renode.link.command("boom")
    renode.says = lambda request: [b"failed \n"]
    with pytest.raises(MonitorError, match=r"^Renode: no reason given$"):
        renode.link.command("boom")
    renode.says = lambda request: [b"done\n"]
    assert renode.link.command("help") == ""  # the wire is as good as before


def test_a_silent_renode_times_out_and_closes_the_link(renode):
    renode.says = lambda request: [b"console 1 61\n"]
    started = time.monotonic()
    with pytest.raises(TargetLost, match=r"did not answer agent run\(1\) within 0.1 s") as lost:
        renode.link.call("run(1)", timeout=0.1)
    assert 0.1 <= time.monotonic() - started < 5
    assert "raise the wall-clock guard" in lost.value.hint
    with pytest.raises(TargetLost, match="broken off in the middle of an answer"):
        renode.link.call("run(2)")


def test_without_a_time_of_its_own_a_request_has_the_links(renode):
    renode.link.timeout = 0.05
    renode.says = lambda request: []
    with pytest.raises(TargetLost, match=r"within 0.05 s"):
        renode.link.command("help")


def test_a_long_request_is_named_by_its_beginning(renode):
    renode.says = lambda request: []
    with pytest.raises(TargetLost) as lost:
        renode.link.call("x" * 100_000, timeout=0.5)
    assert f"did not answer agent {'x' * 54} within" in lost.value.message
    assert renode.asked == [b"agent " + b"x" * 100_000 + b"\n"]


def test_a_request_is_one_line(renode):
    with pytest.raises(ValueError, match="a request is one line"):
        renode.link.call("one\ntwo")
    assert renode.link.call("one") == []


def test_a_closed_link_takes_nothing_and_is_closed_again():
    link, theirs = pipes()
    link.close()
    link.close()
    with pytest.raises(TargetLost, match="broken off"):
        link.command("help")
    for descriptor in theirs:
        os.close(descriptor)


def test_closed_requests_pipe_means_renode_has_ended():
    link, theirs = pipes()
    for descriptor in theirs:
        os.close(descriptor)
    with pytest.raises(TargetLost, match="lost the connection to Renode: it has ended"):
        link.command("help")
    link.close()


def test_bytes_that_are_not_text_are_kept_visible(renode):
    renode.says = lambda request: [b"line \xff\n", b"done\n"]
    assert renode.link.call("x") == ["line \\xff"]
    assert isinstance(renode.link, AgentLink)
