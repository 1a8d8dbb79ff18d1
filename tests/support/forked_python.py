"""``python -m MODULE`` in a process of its own, without the time that its imports take.

A server that has imported what such programs need forks a child for each call. The child has the
arguments, the folder, the environment and the search path of a new interpreter.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

#: What the server imports; not the pytest plugin, whose assertions pytest rewrites at its import.
_IMPORTS = (
    "numpy", "pytest", "_pytest.pytester", "robot.run", "harness.cli", "harness.cli.run",
    "harness.case.run", "harness.case.live", "harness.case.plan", "harness.targets.simulator",
    "harness.reference", "harness.report.terminal", "harness.report.junit", "harness.history.keep",
    "harness.footprint.analysis", "harness.keywords.library", "harness.build.standalone",
    "harness.case.casefile", "harness.case.repeat", "harness.report.annotations",
    "harness.report.markdown", "harness.cli.history", "harness.history.check",
    "harness.simulator._native", "jinja2",
)  # fmt: skip
_MESSAGE = 1 << 20


class ForkingServer:
    """One server; :func:`run_python` starts it with the first call."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(self, arguments: list[str], cwd: Path, env: Mapping[str, str], fds: list[int]) -> int:
        """The exit code of ``python -m ARGUMENTS``, negative for a signal."""
        link = self._started()
        request = json.dumps([arguments, str(cwd), dict(env)]).encode()
        assert len(request) < _MESSAGE, "the environment is too large for one message"
        socket.send_fds(link, [request], fds)
        answer = link.recv(64)
        assert answer, "the server of Python programs has ended"
        return int(answer)

    def fileno(self) -> int:
        """The descriptor of the connection."""
        return self._started().fileno()

    def _started(self) -> socket.socket:
        if self._socket is None or self._process is None or self._process.poll() is not None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * _MESSAGE)
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, env=environment, cwd="/",
            )  # fmt: skip
            theirs.close()
            self._socket = ours
        return self._socket

    def close(self) -> None:
        """End the server."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.wait()
        self._process = self._socket = None


SERVER = ForkingServer()
_ONE_AT_A_TIME = threading.Lock()


def run_python(
    *arguments: str, cwd: str | Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m ARGUMENTS``; the result has what it printed as text."""
    with (
        _ONE_AT_A_TIME,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open("rb") as nothing,
    ):
        fds = [nothing.fileno(), out.fileno(), err.fileno()]
        code = SERVER.run(list(arguments), Path(cwd), env, fds)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(list(arguments), code, *texts)


@contextlib.contextmanager
def lent() -> Iterator[int]:
    """The connection to the server, for a program that runs ``forked_client.py``, one at a time.

    The program inherits the descriptor, and has its number in ``FORKED_PYTHON``.
    """
    with _ONE_AT_A_TIME:
        yield SERVER.fileno()


def _serve(link: socket.socket) -> None:
    own = [path for path in sys.path if path != str(Path(__file__).parent)]
    plugins = importlib.import_module("_pytest.config").default_plugins
    for name in (*_IMPORTS, *(f"_pytest.{plugin}" for plugin in plugins)):
        importlib.import_module(name)
    gc.freeze()  # a child need not look at all of it, as pytest does at its end
    while True:
        request, fds, _, _ = socket.recv_fds(link, _MESSAGE, 3)
        if not request:
            return
        pid = os.fork()
        if not pid:
            link.close()
            _become(*json.loads(request), fds, own)
        for fd in fds:
            os.close(fd)
        _, status = os.waitpid(pid, 0)
        link.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(
    arguments: list[str], cwd: str, env: dict[str, str], fds: list[int], own: list[str]
) -> None:
    """Be ``python -m ARGUMENTS``; never returns."""
    code = 1
    try:
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.closerange(3, 256)
        _open_streams()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        searched = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
        sys.path[:] = [cwd, *searched, *own]
        importlib.invalidate_caches()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        module, *rest = arguments
        sys.argv = [module, *rest]
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            code = 0
        except SystemExit as stop:
            code = _code(stop)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _open_streams() -> None:
    """New streams: those of the server know whether its own files can be sought."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = open(  # noqa: SIM115 - it stays open as long as the process
            number, old.mode, encoding=old.encoding, errors=old.errors, closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return int(stop.code or 0)
    print(stop.code, file=sys.stderr)
    return 1


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
