"""``python -m MODULE`` in a process of its own, without the time that its imports take.

A server that has imported what such programs need forks a child for each call. The child has the
arguments, the folder, the environment and the search path of a new interpreter.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import forked_client

#: What the server imports; not the pytest plugin, whose assertions pytest rewrites at its import.
_IMPORTS = (
    "numpy", "pytest", "_pytest.pytester", "robot.run", "harness.cli", "harness.cli.run",
    "harness.case.run", "harness.case.live", "harness.case.plan", "harness.targets.simulator",
    "harness.reference", "harness.report.terminal", "harness.report.junit", "harness.history.keep",
    "harness.footprint.analysis", "harness.keywords.library", "harness.build.standalone",
    "harness.case.casefile", "harness.case.repeat", "harness.report.annotations",
    "harness.report.markdown", "harness.cli.history", "harness.history.check",
    "harness.simulator._native", "jinja2", "harness.build.zephyr",
)  # fmt: skip
#: The parts of the stand-ins and of boards that misbehave (tests/support), which tests start often.
_SUPPORT = (
    "misbehaving_board", "standins.common", "standins.jlink", "standins.nrfjprog",
    "standins.nrfutil", "standins.power", "standins.west",
)  # fmt: skip
_MESSAGE = 1 << 20
CLIENT = Path(forked_client.__file__)
_FOLDER = CLIENT.parent


class ForkingServer:
    """One server; the first use of :attr:`address` starts it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._ours = -1  # the server ends when this end of a pipe is closed
        self._starting = threading.Lock()

    @property
    def address(self) -> str:
        """The name of its socket, in the abstract namespace."""
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                self._start()
            return self._address

    def program(self, *arguments: str) -> list[str]:
        """A program that runs ``python -m ARGUMENTS``, a module first, in a fork of the server."""
        return [sys.executable, "-IS", str(CLIENT), self.address, *arguments]

    def interpreter(self, path: Path) -> Path:
        """``path``, a program that does so with the arguments ``-m MODULE ARGUMENTS``."""
        path.write_text(f'#!/bin/sh\nshift\nexec {shlex.join(self.program())} "$@"\n')
        path.chmod(0o755)
        return path

    def _start(self) -> None:
        self._address = f"tflm-hil-tests-{os.getpid()}-{time.monotonic_ns()}"
        theirs, self._ours = os.pipe()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{self._address}")
            listener.listen(16)
            passed = (listener.fileno(), theirs)
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
            self._process = subprocess.Popen(
                [sys.executable, __file__, *map(str, passed)], pass_fds=passed,
                stdin=subprocess.DEVNULL, env=environment, cwd="/",
            )  # fmt: skip
        os.close(theirs)

    def close(self) -> None:
        """End the server."""
        if self._process is not None:
            os.close(self._ours)
            self._process.wait()
        self._process = None


SERVER = ForkingServer()


def run_python(
    *arguments: str, cwd: str | Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m ARGUMENTS``; the result has what it printed as text."""
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open("rb") as nothing,
    ):
        fds = [nothing.fileno(), out.fileno(), err.fileno()]
        code = forked_client.ask(SERVER.address, list(arguments), str(cwd), dict(env), fds)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return subprocess.CompletedProcess(list(arguments), code, *texts)


def _serve(listener: socket.socket, parent: int) -> None:
    plugins = importlib.import_module("_pytest.config").default_plugins
    for name in (*_IMPORTS, *_SUPPORT, *(f"_pytest.{plugin}" for plugin in plugins)):
        importlib.import_module(name)
    own = [path for path in sys.path if path != str(_FOLDER)]
    gc.freeze()  # a child need not look at all of it, as pytest does at its end
    woken, waking = os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    links: dict[int, socket.socket] = {}  # process id of a child -> who waits for it
    while True:
        ready, _, _ = select.select([listener, parent, woken], [], [])
        if parent in ready:
            return
        if woken in ready:
            os.read(woken, _MESSAGE)
            _tell_ends(links)
        if listener in ready:
            link, _ = listener.accept()
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _become(link, own)
            links[pid] = link


def _tell_ends(links: dict[int, socket.socket]) -> None:
    """Send the exit codes of the children that have ended."""
    while links:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with links.pop(pid) as link, contextlib.suppress(OSError):
            link.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(link: socket.socket, own: list[str]) -> None:
    """Be the program that is asked for; never returns."""
    code = 1
    try:
        request, fds, _, _ = socket.recv_fds(link, _MESSAGE, 3)
        arguments, cwd, env = json.loads(request)
        link.send(str(os.getpid()).encode())
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.dup2(link.fileno(), 3, inheritable=False)
        os.closerange(4, 256)
        _end_with_the_client(3)
        _open_streams()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        tempfile.tempdir = None  # $TMPDIR says where it is
        module, *rest = arguments
        searched = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
        ours = any(name.partition(".")[0] == module for name in _SUPPORT)
        sys.path[:] = [str(_FOLDER) if ours else cwd, *searched, *own]
        importlib.invalidate_caches()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [module, *rest]
        if "." in module:  # runpy warns of a module that is imported already
            sys.modules.pop(module, None)
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


def _end_with_the_client(link: int) -> None:
    """SIGIO, which ends a process, comes when the other end of the connection is closed."""
    fcntl.fcntl(link, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(link, fcntl.F_SETFL, fcntl.fcntl(link, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([link], [], [], 0)[0]:  # it was closed before
        os._exit(1)


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
    _serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
