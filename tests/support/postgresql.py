"""A PostgreSQL server for a test, on a loopback port, with its data in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from free_ports import free_port

_SECONDS = 60.0


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``; Debian keeps them out of PATH."""
    initdb = shutil.which("initdb")
    folders = [Path(initdb).resolve().parent] if initdb else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


class Server:
    """A server that can be killed and started again; ``url`` is that of its database."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._programs, self._root, self._data = folder, root, root / "data"
        user = _user()  # PostgreSQL refuses to run as root
        if user is not None:
            os.chown(root, user.pw_uid, user.pw_gid)
        self._as_user: dict[str, Any] = (
            {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        )
        subprocess.run(
            [folder / "initdb", "-D", self._data, "-A", "trust", "-U", "lab", "--no-sync"],
            check=True, capture_output=True, cwd=root, **self._as_user,
        )  # fmt: skip
        self._port = free_port()
        self.url = f"postgresql+pg8000://lab@127.0.0.1:{self._port}/postgres"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers; after a kill it recovers first."""
        self._process = subprocess.Popen(
            [self._programs / "postgres", "-D", self._data, "-p", str(self._port),
             "-h", "127.0.0.1", "-k", self._root, "-c", "fsync=off"],
            cwd=self._root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            **self._as_user,
        )  # fmt: skip
        until = time.monotonic() + _SECONDS
        ready = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        while time.monotonic() < until and self._process.poll() is None:
            if subprocess.run(ready, check=False, cwd=self._root).returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL did not start")

    def kill(self) -> None:
        """End all its processes at once, as a power failure does."""
        children = _children(self._process.pid)  # each has a session of its own
        for process in (self._process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._process.wait(_SECONDS)

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        self._process.wait(_SECONDS)


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    """A running server; it ends with the context."""
    root = Path(tempfile.mkdtemp(prefix="tflm-hil-pg-"))
    try:
        made = Server(folder, root)
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(entry.parent.name))
    return found


def _user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None
