"""One Renode process, headless, in a folder of its own; both are removed with it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.base.errors import HilError, TargetLost
from harness.targets.renode.find import RenodeProgram
from harness.targets.renode.link import pipes

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
#: The scripts that run inside Renode, in the order in which they are read.
AGENT = tuple(
    Path(__file__).with_name(name)
    for name in ("agent_link.py", "agent_log.py", "agent_calls.py", "agent.py")
)
#: With asynchronous logging the logging thread can end up waiting for an empty queue, and after
#: 10,000 further messages the emulation blocks.
_CONFIG = "[general]\nuse-synchronous-logging = True\n"


class RenodeProcess:
    """A running Renode and the :attr:`link` to it.

    The link is a pair of pipes that Renode inherits: it opens no port. Renode removes other
    instances' ``renode-*`` folders from its temporary directory, and leaves a copy of its
    translation library there for each machine, so each process has a TMPDIR of its own.
    """

    def __init__(self, program: RenodeProgram, *, patience: float = 60.0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tflm-hil-renode-"))
        self.link, theirs = pipes()
        try:
            self._supervisor = self._start(program, theirs)
        except BaseException:
            self.link.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        try:
            self._wait(patience)
        except BaseException:
            self.close()
            raise

    def _start(self, program: RenodeProgram, theirs: tuple[int, int]) -> subprocess.Popen[bytes]:
        config, start = self.folder / "config", self.folder / "start.resc"
        config.write_text(_CONFIG)
        includes = [f"include {monitor_path(script)}\n" for script in AGENT]
        start.write_text("".join(includes) + 'python "serve({}, {})"\n'.format(*theirs))
        # Without a window Renode's shell polls a dummy for ever, which costs a core; on a console
        # it waits for input, here a pipe that stays silent. It opens no port unless it gets one.
        command = [str(program.path), "--disable-xwt", "--console", "--plain", "--hide-log"]
        command += ["--config", str(config), start.name]
        supervisor = [sys.executable, "-I", str(_SUPERVISOR), str(self.folder)]
        return subprocess.Popen(
            [*supervisor, ",".join(map(str, theirs)), *command],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=theirs,
        )

    def _wait(self, patience: float) -> None:
        try:
            self.link.ready(patience)
        except HilError as error:
            words = self.output.strip().splitlines()
            last = words[-1] if words else "it printed nothing"
            failure = "ended while it started" if self._ends(10.0) else "did not start"
            hint = "start it by hand with --console to see why"
            raise TargetLost(f"Renode {failure}: {last}", hint=hint) from error

    @property
    def alive(self) -> bool:
        """True while Renode runs."""
        return self._supervisor.poll() is None

    def _ends(self, seconds: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(seconds)
        return not self.alive

    @property
    def output(self) -> str:
        """The output of Renode, for messages about its end."""
        path = self.folder / "output"
        return path.read_text(errors="replace") if path.is_file() else ""

    def close(self) -> None:
        """Kill Renode and remove its folder; safe to call twice."""
        self.link.close()
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()  # PR_SET_PDEATHSIG takes Renode along
            self._supervisor.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def monitor_path(path: Path) -> str:
    """``path`` as Renode's Monitor reads one: blanks are escaped."""
    return "@" + str(path).replace(" ", "\\ ")
