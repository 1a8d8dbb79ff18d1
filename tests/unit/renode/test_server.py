"""One Renode for all sessions of a run, one more only where two are open at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_renode import DIES

from harness.base import platforms
from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.targets import Stop, open_target
from harness.targets.opening import Targets
from harness.targets.renode import RenodePool, RenodeServer, find, server
from harness.targets.renode.link import MonitorError

CONSOLE = platforms.board_table().console


@pytest.fixture
def one(fake):
    """A server."""
    with RenodeServer(connect=fake.connect) as renode:
        yield renode


@pytest.fixture
def pool(fake, monkeypatch):
    """A pool whose servers are all of them connected to the fake."""
    monkeypatch.setattr(server, "RenodeServer", lambda _: RenodeServer(connect=fake.connect))
    with RenodePool() as renodes:
        yield renodes


def serve(renode: RenodeServer, image, **options: bool) -> None:
    """A session that leaves its machine as it was."""
    renode.machine(image, 0, CONSOLE, **options)
    renode.release(reusable=True)


# -- machines -------------------------------------------------------------------------------------


def test_a_machine_serves_as_long_as_its_sessions_leave_it_reusable(one, firmware):
    for reusable, machines in ((True, 1), (True, 1), (False, 1), (True, 2), (True, 2)):
        one.machine(firmware, 0, CONSOLE)
        assert (one.machines, one.starts) == (machines, 1)
        one.release(reusable=reusable)


def test_a_machine_is_for_one_chip_and_one_security_state(one, firmware):
    other = replace(firmware, chip_name="nrf5340")
    for image, non_secure, machines in (
        (firmware, False, 1), (firmware, False, 1), (other, False, 2), (other, False, 2),
        (firmware, False, 3), (firmware, True, 4), (firmware, True, 4), (firmware, False, 5),
    ):  # fmt: skip
        serve(one, image, non_secure=non_secure)
        assert one.machines == machines


def test_a_machine_that_keeps_something_over_a_reset_is_replaced(fake, one, firmware):
    serve(one, firmware)
    fake.answers["recycle"] = ["left 0xe000ed8c"]
    serve(one, firmware)
    assert (one.machines, one.starts) == (2, 1)


def test_a_process_makes_fifty_machines(fake, one, firmware):
    fake.answers["recycle"] = ["left 0xe000ed8c"]
    for number in range(1, 102):
        serve(one, firmware)
        assert (one.machines, one.starts) == (number, 1 + (number > 50) + (number > 100))


def test_a_new_machine_is_saved_before_its_agent_begins(fake, one, firmware):
    serve(one, firmware)
    serve(one, firmware)
    calls = [call.partition("(")[0] for call in fake.calls]
    assert calls == ["save_initial_state", "load", "Agent", "recycle", "load", "Agent"]


def test_one_server_has_one_session(one, firmware):
    one.machine(firmware, 0, CONSOLE)
    with pytest.raises(UsageError, match="runs another session"):
        one.machine(firmware, 0, CONSOLE)
    one.release(reusable=True)
    one.machine(firmware, 0, CONSOLE)
    assert one.machines == 1


def test_files_of_an_image_do_not_stay(fake, one, firmware, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "here"))
    (tmp_path / "here").mkdir()
    serve(one, firmware)
    assert any(f"'{tmp_path}/here/image-" in call for call in fake.calls)
    assert not list((tmp_path / "here").iterdir())


# -- errors ---------------------------------------------------------------------------------------


def test_a_machine_that_cannot_be_made_is_one_error_and_the_next_case_runs(fake, one, firmware):
    fake.refuses = "machine LoadPlatformDescription"
    with pytest.raises(MonitorError, match="Error E39"):
        open_target("renode", firmware, server=one)
    fake.refuses = ""
    with open_target("renode", firmware, server=one) as session:
        assert session.run(None, session.deadline(1)) is Stop.DEADLINE
    assert one.starts == 1


@pytest.mark.parametrize("dies", ["mach create", "machine LoadPlatformDescription"])
def test_a_renode_that_dies_at_a_beginning_is_one_error_and_is_started_again(
    fake, one, firmware, dies
):
    fake.dies_at = dies
    with pytest.raises(TargetLost, match="lost the connection"):
        open_target("renode", firmware, server=one)
    fake.dies_at = ""
    with open_target("renode", firmware, server=one) as session:
        assert session.run(None, session.deadline(1)) is Stop.DEADLINE
    assert one.starts == 2


def test_a_renode_that_dies_in_a_case_is_started_again(fake, one, firmware):
    usual = fake.answers["run"]
    fake.answers["run"] = [DIES]
    with open_target("renode", firmware, server=one) as session, pytest.raises(TargetLost):
        session.run(None, session.deadline(1))
    fake.answers["run"] = usual
    with open_target("renode", firmware, server=one) as session:
        assert session.run(None, session.deadline(1)) is Stop.DEADLINE
    assert one.starts == 2


# -- the pool -------------------------------------------------------------------------------------


def test_sessions_after_each_other_share_one_process(pool, firmware):
    for _ in range(3):
        open_target("renode", firmware, pool=pool).close()
    assert pool.starts == 1


def test_a_second_open_session_gets_a_process_of_its_own(pool, firmware):
    with open_target("renode", firmware, pool=pool), open_target("renode", firmware, pool=pool):
        assert pool.starts == 2
    open_target("renode", firmware, pool=pool).close()
    assert pool.starts == 2


def test_a_closed_pool_has_ended_every_renode(pool, firmware):
    first, second = (open_target("renode", firmware, pool=pool) for _ in range(2))
    first.close()
    second.close()
    pool.close()
    for session in (first, second):
        with pytest.raises(TargetLost):
            session.memory.read(0, 4)


def test_a_missing_renode_is_looked_for_once(monkeypatch, tmp_path):
    asked = []

    def examine(path):
        asked.append(path)
        raise EnvironmentMissing("it is too old")

    monkeypatch.setattr(find, "examine", examine)
    program = tmp_path / "renode"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with RenodePool() as renodes:
        for _ in range(3):
            with pytest.raises(EnvironmentMissing, match="too old"):
                renodes.server(program)
    assert asked == [program]


def test_only_renode_has_a_pool():
    with Targets() as shared:
        assert shared.with_pool("simulator", {"a": 1}) == {"a": 1}
        options = shared.with_pool("renode", {"renode": "/x"})
        assert options["renode"] == "/x"
        assert options["pool"] is shared.with_pool("renode", {})["pool"]
