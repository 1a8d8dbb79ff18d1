"""A PostgreSQL server for a test, on a loopback port, with its data in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SECONDS = 60.0


def programs() -> Path | None:
    """The folder of ``initdb`` and ``postgres``; Debian keeps them out of PATH."""
    initdb = shutil.which("initdb")
    folders = [Path(initdb).resolve().parent] if initdb else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """The URL of a running server's database; it ends with the context."""
    root = Path(tempfile.mkdtemp(prefix="tflm-hil-pg-"))
    data = root / "data"
    user = _user()  # PostgreSQL refuses to run as root
    if user is not None:
        os.chown(root, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    try:
        subprocess.run(
            [folder / "initdb", "-D", data, "-A", "trust", "-U", "lab", "--no-sync"],
            check=True, capture_output=True, cwd=root, **as_user,
        )  # fmt: skip
        port = _free_port()
        process = subprocess.Popen(
            [folder / "postgres", "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", root,
             "-c", "fsync=off"],
            cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user,
        )  # fmt: skip
        try:
            _wait_for(port, process)
            yield f"postgresql+pg8000://lab@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("PostgreSQL did not start")
