"""One Renode process: started headless in a folder of its own, never left behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.errors import TargetLost
from harness.targets.renode.find import RenodeProgram

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_POLL = 0.01
#: Where the log is flushed again and again, the logging thread may end up waiting on a queue
#: that nobody fills, and 10,000 messages later the emulation stands still for good.
_CONFIG = "[general]\nuse-synchronous-logging = True\n"


class RenodeProcess:
    """A running Renode and the port of its robot server.

    Renode removes other instances' ``renode-*`` folders from its temporary directory, so each
    process has a TMPDIR of its own. Its robot server listens on every interface and asks for no
    password; see docs/renode.md for how to fence it.
    """

    def __init__(self, program: RenodeProgram, *, port: int = 0, patience: float = 60.0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tflm-hil-renode-"))
        config = self.folder / "config"
        config.write_text(_CONFIG)
        # Without a window its shell polls a dummy without end, which costs a core; on a console it
        # waits for input, and the supervisor gives it a pipe that stays silent.
        command = [str(program.path), "--disable-xwt", "--console", "--plain", "--hide-log"]
        command += ["--config", str(config), "--robot-server-port", str(port)]
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", str(_SUPERVISOR), str(self.folder), *command],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self.port = self._wait_for_port(patience)
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """True while Renode runs."""
        return self._supervisor.poll() is None

    @property
    def output(self) -> str:
        """What Renode printed, for messages about its end."""
        path = self.folder / "output"
        return path.read_text(errors="replace") if path.is_file() else ""

    def _wait_for_port(self, patience: float) -> int:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            for path in self.folder.glob("renode-*/robot_port"):
                if (text := path.read_text().strip()).isdigit():
                    return int(text)
            if not self.alive:
                words = self.output.strip().splitlines()
                raise TargetLost(
                    f"Renode ended while it started: {words[-1] if words else 'it said nothing'}",
                    hint="start it by hand with --robot-server-port 0",
                )
            time.sleep(_POLL)
        raise TargetLost(f"Renode opened no robot server port within {patience:g} s")

    def close(self) -> None:
        """Kill Renode and remove its folder; safe to call twice."""
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()  # PR_SET_PDEATHSIG takes Renode along
            self._supervisor.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
