"""A small archive in the form of Renode's releases, its row, and a place to install it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.targets.renode import find
from harness.targets.renode.archives import Archive

PROGRAM = b"#!/bin/sh\necho 'Renode v1.17.0.1'\n"
NAME = "renode-1.17.0.linux-portable.tar.gz"


def packed(program: bytes = PROGRAM, *, more: tuple[tarfile.TarInfo, ...] = ()) -> bytes:
    """An archive of Renode's form: one folder, which holds the program and a file beside it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data, mode in (("renode", program, 0o755), ("lib/core.so", b"core", 0o644)):
            entry = tarfile.TarInfo(f"renode_1.17.0-portable/{name}")
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        for entry in more:
            tar.addfile(entry)
    return buffer.getvalue()


def pinned(data: bytes, url: str = f"https://example.org/{NAME}", **more: object) -> Archive:
    """The row of an archive that holds ``data``."""
    digest = hashlib.sha256(data).hexdigest()
    return replace(
        Archive("Linux", "x86_64", url, digest, confirmed=4, size=len(data)),
        **more,  # type: ignore[arg-type]
    )


GOOD = packed()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Renode will be installed, on a machine that has none."""
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RENODE", raising=False)
    monkeypatch.setattr(find, "USUAL_PLACES", ())
    return tmp_path / "cache" / "renode"
