from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.base.errors import EnvironmentMissing
from harness.targets.renode import RenodeServer


@pytest.fixture(scope="module")
def server() -> Iterator[RenodeServer]:
    """A real Renode; skips with the reason where none is installed."""
    try:
        one = RenodeServer()
    except EnvironmentMissing as missing:
        pytest.skip(missing.message)
    with one:
        yield one
