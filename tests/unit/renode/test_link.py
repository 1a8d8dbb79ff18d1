"""The link to Renode: answers, refusals, silence, and its end."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from harness.base.errors import TargetLost
from harness.targets.renode.link import AgentLink, MonitorError, pipes


class Renode:
    """The other end, as a test moves it: it answers before it is asked."""

    def __init__(self) -> None:
        self.link, (self._requests, self._answers) = pipes()

    def says(self, *parts: bytes) -> AgentLink:
        """The link, in which the next answers wait."""
        os.write(self._answers, b"".join(parts))
        return self.link

    def asked(self) -> bytes:
        return os.read(self._requests, 1 << 16)

    def ends(self) -> None:
        os.close(self._answers)
        os.close(self._requests)
        self._answers = self._requests = -1

    def close(self) -> None:
        self.link.close()
        if self._answers >= 0:
            self.ends()


@pytest.fixture
def renode() -> Iterator[Renode]:
    other = Renode()
    yield other
    other.close()


def in_hex(text: str) -> bytes:
    return text.encode().hex().encode()


def test_ready_waits_for_renodes_first_answer(renode):
    with pytest.raises(TargetLost, match=r"did not answer its start within 0.05 s"):
        renode.link.ready(0.05)
    renode.says(b"done\n").ready(5)


def test_output_of_a_monitor_command_is_its_answer(renode):
    link = renode.says(b"said " + in_hex("Grüße\n") + b"\n", b"said 74776F\n", b"done\n")
    assert link.command("mach create") == "Grüße\ntwo"
    assert renode.asked() == b"monitor mach create\n"


def test_answers_belong_to_requests_in_their_order(renode):
    link = renode.says(b"one 1\ndone\n", b"two 2\nthree 3\ndone\n")
    assert [link.call("run(1)"), link.call("run(2)")] == [["one 1"], ["two 2", "three 3"]]
    assert renode.asked() == b"agent run(1)\nagent run(2)\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_lines_come_however_their_bytes_are_cut(renode, monkeypatch, size):
    monkeypatch.setattr("harness.targets.renode.link._CHUNK", size)
    link = renode.says(b"one 1\ntwo 2\ndone\n")
    assert link.call("run(1)") == ["one 1", "two 2"]


def test_lines_are_passed_on_as_they_come_also_before_a_renode_is_lost(renode):
    link = renode.says(b"console 1 61\n", b"console 2 62\n", b"half a li")
    taken: list[str] = []

    def take(line: str) -> None:
        taken.append(line)
        if len(taken) == 2:
            renode.ends()

    with pytest.raises(TargetLost, match="lost the connection to Renode: it has ended"):
        link.call("run(1)", take=take)
    assert taken == ["console 1 61", "console 2 62"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n  No such command: boom  \nsome more\n", "No such command: boom"),
     ("", "no reason given")],
)  # fmt: skip
def test_message_of_a_refusal_is_its_first_line_and_the_link_is_as_good_as_before(
    renode, text, message
):
    link = renode.says(b"failed " + in_hex(text) + b"\n", b"done\n")
    with pytest.raises(MonitorError, match=f"^Renode: {message}$"):
        link.command("boom")
    assert link.command("help") == ""


def test_a_silent_renode_is_lost_and_its_late_answer_is_not_taken_for_the_next_one(renode):
    link = renode.says(b"console 1 61\n")
    with pytest.raises(TargetLost, match=r"did not answer agent run\(1\) within 0.05 s") as lost:
        link.call("run(1)", timeout=0.05)
    assert "raise the wall-clock guard" in lost.value.hint
    renode.says(b"done\n")
    with pytest.raises(TargetLost, match="broken off in the middle of an answer"):
        link.call("run(2)")


def test_an_answer_that_ctrl_c_breaks_off_is_not_taken_for_the_next_one(renode):
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    link = renode.says(b"console 1 61\ndone\n")
    with pytest.raises(KeyboardInterrupt):
        link.call("run(1)", take=interrupt)
    with pytest.raises(TargetLost, match="broken off"):
        link.call("run(2)")


def test_without_a_time_of_its_own_a_request_has_the_links(renode):
    renode.link.timeout = 0.05
    with pytest.raises(TargetLost, match=r"within 0.05 s"):
        renode.link.command("help")


def test_a_long_request_is_named_by_its_beginning(renode):
    with pytest.raises(TargetLost, match=f"did not answer agent {'x' * 54} within"):
        renode.link.call("x" * 10_000, timeout=0.05)
    assert renode.asked() == b"agent " + b"x" * 10_000 + b"\n"


def test_a_request_is_one_line(renode):
    with pytest.raises(ValueError, match="a request is one line"):
        renode.link.call("one\ntwo")
    assert renode.says(b"done\n").call("one") == []


def test_a_closed_link_takes_nothing_and_is_closed_again(renode):
    renode.link.close()
    renode.link.close()
    with pytest.raises(TargetLost, match="broken off"):
        renode.link.command("help")


def test_a_renode_that_has_ended_takes_no_request(renode):
    renode.ends()
    with pytest.raises(TargetLost, match="lost the connection to Renode: it has ended"):
        renode.link.command("help")


def test_bytes_that_are_not_text_are_kept_visible(renode):
    assert renode.says(b"line \xff\n", b"done\n").call("x") == ["line \\xff"]
