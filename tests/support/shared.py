"""Files that the workers of a test session share: made by the worker that needs them first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The file ``name``, which ``make`` writes to the path that it is given.

    Two workers that need it at the same moment both make it; each gets a whole file.
    """
    base = factory.getbasetemp()  # of this worker; the session's is above it
    session = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    path = session / "shared" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{os.getpid()}-{path.name}")
        make(temporary)
        temporary.replace(path)
    return path
