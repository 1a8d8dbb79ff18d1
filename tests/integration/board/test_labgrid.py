"""Places of a real labgrid coordinator, started on loopback for the test."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import needs
import pytest

from harness.targets.board import labgrid
from harness.targets.board.policy import BoardUnavailable


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of labgrid's environment come first on PATH."""
    folder = Path(needs.require("labgrid")).parent
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def client(*arguments: str) -> str:
    command = ["labgrid-client", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture
def place(programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path) -> Iterator[str]:  # type: ignore[no-untyped-def]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("LG_COORDINATOR", address)
    command = ["labgrid-coordinator", "-l", address]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as coordinator:
        try:
            _answers(address)
            client("--place", "bench", "create")
            yield "bench"
        finally:
            coordinator.terminate()


def _answers(address: str) -> None:
    host, port = address.split(":")
    for _ in range(100):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("the coordinator did not start")


@pytest.mark.slow
def test_a_place_is_acquired_and_given_back(place: str) -> None:
    with labgrid.acquired(place):
        assert "acquired: None" not in client("--place", place, "show")
    assert "acquired: None" in client("--place", place, "show")


@pytest.mark.slow
def test_a_place_that_is_held_is_refused_in_the_clients_words(place: str) -> None:
    with (
        labgrid.acquired(place),
        pytest.raises(BoardUnavailable, match="already acquired"),
        labgrid.acquired(place),
    ):
        pytest.fail("held twice")


@pytest.mark.slow
def test_a_place_that_does_not_exist_is_refused_in_the_clients_words(place: str) -> None:
    with (
        pytest.raises(BoardUnavailable, match="matches nothing"),
        labgrid.acquired(f"{place}-of-nobody"),
    ):
        pytest.fail("held")
