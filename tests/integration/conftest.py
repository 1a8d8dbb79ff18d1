from __future__ import annotations

from collections.abc import Iterator

import needs
import pytest

from harness.targets.renode import RenodeServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of a running Renode."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.renode)


@pytest.fixture(scope="session")
def server() -> Iterator[RenodeServer]:
    """A real Renode, which takes five seconds to start."""
    needs.require("renode")
    with RenodeServer() as one:
        yield one
