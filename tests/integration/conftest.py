from __future__ import annotations

from collections.abc import Iterator

import needs
import pytest

from harness.targets.renode import RenodeServer


@pytest.fixture(scope="module")
def server() -> Iterator[RenodeServer]:
    """A real Renode."""
    needs.require("renode")
    with RenodeServer() as one:
        yield one
