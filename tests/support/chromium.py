"""A headless Chromium: a page after its scripts ran."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_SECONDS = 120


def program() -> str | None:
    """Chromium's path, or None."""
    return shutil.which("chromium")


def dom(page: Path | str, anchor: str = "", *, width: int = 1200, seconds: float = _SECONDS
        ) -> str:  # fmt: skip
    """The document of a local file, or of an address, after its scripts ran, as HTML."""
    done = _run(["--dump-dom", "--virtual-time-budget=20000", f"--window-size={width},900"],
                page, anchor, seconds)  # fmt: skip
    return done.stdout.decode("utf-8", "replace")


def _run(
    flags: list[str], page: Path | str, anchor: str, seconds: float = _SECONDS
) -> subprocess.CompletedProcess[bytes]:
    chromium = program()
    assert chromium is not None
    with tempfile.TemporaryDirectory(prefix="tflm-hil-chromium-") as home:
        return subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={home}/profile", *flags,
             (page if isinstance(page, str) else page.resolve().as_uri()) + anchor],
            capture_output=True, timeout=seconds, check=True, env=os.environ | {"HOME": home},
        )  # fmt: skip
