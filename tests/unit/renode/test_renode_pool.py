"""One Renode for all sessions of a run, one more only where two are open at once."""

from __future__ import annotations

import pytest
from fake_renode import Fault

from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.base.findings import Kind
from harness.targets import Elapsed, Stop, open_target
from harness.targets.opening import Targets
from harness.targets.renode import RenodePool, RenodeServer, find, server
from harness.targets.renode.link import MonitorError


@pytest.fixture
def renodes(fake, monkeypatch):
    """A pool whose servers are all of them connected to the fake."""
    monkeypatch.setattr(server, "RenodeServer", lambda _: RenodeServer(connect=fake.connect))
    with RenodePool() as one:
        yield one


def test_sessions_after_each_other_share_one_process(renodes, firmware):
    for _ in range(3):
        with open_target("renode", firmware, pool=renodes) as session:
            assert session.run(None, session.deadline(1)) is Stop.DEADLINE
    assert renodes.starts == 1


def test_a_second_open_session_gets_a_process_of_its_own(renodes, firmware):
    first = open_target("renode", firmware, pool=renodes)
    with first, open_target("renode", firmware, pool=renodes):
        assert renodes.starts == 2
    with open_target("renode", firmware, pool=renodes):
        assert renodes.starts == 2


def test_one_server_refuses_a_second_session_and_keeps_the_first(fake, firmware):
    with RenodeServer(connect=fake.connect) as server:
        with open_target("renode", firmware, server=server) as session:
            session.memory.write(0x20000000, b"mine")
            with pytest.raises(UsageError, match="runs another session"):
                open_target("renode", firmware, server=server)
            assert session.memory.read(0x20000000, 4) == b"mine"
        with open_target("renode", firmware, server=server):
            assert server.machines == 1


def test_a_machine_that_was_traced_is_not_used_again(fake, firmware):
    with RenodeServer(connect=fake.connect) as server:
        with open_target("renode", firmware, server=server) as session:
            session.profile()
        with open_target("renode", firmware, server=server):
            assert (server.machines, fake.clears) == (2, 2)


def test_a_machine_whose_firmware_faulted_is_not_used_again(fake, firmware):
    fake.script = [(1000, Fault(4, 0xFFFFFFFD, tuple(range(8)), on_psp=True))]
    with RenodeServer(connect=fake.connect) as server:
        with open_target("renode", firmware, server=server) as session:
            session.run(Elapsed(0.001), session.deadline(1))
            assert session.faults[0].kind == "MemManage"
        with open_target("renode", firmware, server=server):
            assert server.machines == 2


def test_a_machine_that_cannot_be_made_is_one_error_and_the_next_case_runs(fake, firmware):
    fake.refuses = "machine LoadPlatformDescription"
    with RenodeServer(connect=fake.connect) as server:
        with pytest.raises(MonitorError, match="Error E39"):
            open_target("renode", firmware, server=server)
        fake.refuses = ""
        with open_target("renode", firmware, server=server) as session:
            assert session.run(None, session.deadline(1)) is Stop.DEADLINE


def test_a_renode_that_dies_between_two_cases_is_started_again(fake, firmware):
    with RenodeServer(connect=fake.connect) as server:
        with open_target("renode", firmware, server=server):
            pass
        fake.dies_at_a_command = True
        with pytest.raises(TargetLost, match="lost the connection"):
            open_target("renode", firmware, server=server)
        fake.dies_at_a_command = False
        with open_target("renode", firmware, server=server) as session:
            assert session.run(None, session.deadline(1)) is Stop.DEADLINE
        assert server.starts == 2


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


def test_a_sleep_without_end_is_idle(fake, firmware):
    fake.script = [(1000, b"good night\r\n")]
    fake.idles_at = 5_000_000
    with (
        RenodeServer(connect=fake.connect) as server,
        open_target("renode", firmware, server=server) as session,
    ):
        assert session.run(None, session.deadline(10)) is Stop.IDLE
        assert session.counters.instructions == 320_000  # 5 ms; slept for the rest of the slice


def test_only_renode_has_a_pool():
    with Targets() as shared:
        assert shared.with_pool("simulator", {"a": 1}) == {"a": 1}
        options = shared.with_pool("renode", {"renode": "/x"})
        assert options["renode"] == "/x"
        assert options["pool"] is shared.with_pool("renode", {})["pool"]


def test_known_bugs_are_findings_of_every_session(fake, firmware):
    with RenodeServer(connect=fake.connect) as server:
        server.program = find.RenodeProgram("renode", (1, 17, 0), ("a bug of 1.17.0",))
        with open_target("renode", firmware, server=server) as session:
            notes = [one for one in session.findings if one.kind is Kind.APPROXIMATION]
    assert "a bug of 1.17.0" in [note.message for note in notes]
