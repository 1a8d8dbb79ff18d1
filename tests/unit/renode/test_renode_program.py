from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.errors import EnvironmentMissing, TargetLost
from harness.targets.renode import find
from harness.targets.renode.server import RenodeProcess


def test_a_renode_that_is_missing_is_one_clear_error(cache, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentMissing, match="not installed"):
        find.find()


def test_a_named_path_that_does_not_exist_is_not_replaced_by_another(monkeypatch, program):
    monkeypatch.setenv("PATH", str(program().parent))
    with pytest.raises(EnvironmentMissing, match="is not a program"):
        find.find("/nowhere/renode")


@pytest.mark.parametrize("version", ["0.99.99", "1.9.0", "1.16.1"])
def test_versions_before_1_17_are_refused_with_what_installs_another(program, version):
    path = program(version)
    with pytest.raises(EnvironmentMissing) as caught:
        find.find(path)
    assert caught.value.message == f"{path} is Renode {version}, too old: 1.17.0 or later is needed"
    assert "doctor --install --with renode` installs 1.17.0" in caught.value.hint


@pytest.mark.parametrize("version", ["1.17.0", "1.17.1", "1.18.0", "2.0.0"])
def test_later_versions_are_taken(program, version):
    assert ".".join(map(str, find.find(program(version)).version)) == version


def test_what_is_wrong_in_a_version_is_among_its_warnings(program):
    told = " ".join(find.find(program("1.17.0")).warnings)
    assert all(word in told for word in ("PSPLIM", "SPSEL", "UNALIGN_TRP", "BKPT"))


def test_something_else_called_renode_is_refused(tmp_path):
    path = tmp_path / "renode"
    path.write_text("#!/bin/sh\necho hello\n")
    path.chmod(0o755)
    with pytest.raises(EnvironmentMissing, match="--version"):
        find.find(path)


def test_renode_that_ends_while_it_starts_is_reported_with_its_output(program):
    with pytest.raises(TargetLost, match="ended while it started: Cannot open an assembly"):
        RenodeProcess(find.find(program(mode="ends")))


def test_a_renode_that_never_answers_is_given_up(program):
    with pytest.raises(TargetLost, match="did not start: it printed nothing"):
        RenodeProcess(find.find(program(mode="silent")), patience=0.5)


def test_it_opens_no_port(program):
    process = RenodeProcess(find.find(program()))
    try:
        argv = (process.folder / "argv").read_text().splitlines()
        # On a console, and without a robot server, Renode listens on nothing.
        assert not [word for word in argv[1:] if "port" in word]
    finally:
        process.close()


def test_a_renode_that_dies_closes_the_wire_at_once(program):
    process = RenodeProcess(find.find(program()))
    try:
        os.kill(_pid(process.folder), signal.SIGKILL)
        begun = time.monotonic()
        with pytest.raises(TargetLost, match="it has ended"):
            process.link.command("version", timeout=30)
        assert time.monotonic() - begun < 10
    finally:
        process.close()


def test_closing_leaves_no_process_and_no_folder(program):
    process = RenodeProcess(find.find(program()))
    pid = _pid(process.folder)
    process.close()
    process.close()
    assert not process.folder.exists()
    assert _gone(pid)


def test_the_shell_has_a_silent_input_and_logging_is_synchronous(program):
    process = RenodeProcess(find.find(program()))
    try:
        argv = (process.folder / "argv").read_text().splitlines()
        assert "--console" in argv  # a hidden Monitor polls without end
        config = Path(argv[argv.index("--config") + 1])
        assert config.parent == process.folder
        assert "use-synchronous-logging = True" in config.read_text()
        if sys.platform == "linux":
            link = str(Path(f"/proc/{_pid(process.folder)}/fd/0").readlink())
            assert link.startswith("pipe:")
    finally:
        process.close()


def test_kill_9_of_the_harness_takes_renode_along(program):
    script = (
        "import time\nfrom harness.targets.renode import find\n"
        "from harness.targets.renode.server import RenodeProcess\n"
        f"p = RenodeProcess(find.find({str(program())!r}))\n"
        "print(p.folder, flush=True)\ntime.sleep(60)\n"
    )
    harness = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    folder = Path(harness.stdout.readline().strip())
    pid = _pid(folder)
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    harness.stdout.close()
    assert _gone(pid)
    assert _within(lambda: not folder.exists())


def _pid(folder: Path) -> int:
    return int(next(folder.glob("renode-*")).name.removeprefix("renode-"))


def _gone(pid: int) -> bool:
    def check() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        return False

    return _within(check)


def _within(check, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if check():
            return True
        time.sleep(0.02)
    return False
