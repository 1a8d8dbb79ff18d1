"""Builds the simulator's test firmwares, once a session; and a chip that needs none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bare_chip import BareChip, endless_loop
from exception_chip import both, exceptions  # noqa: F401
from firmwares import build  # noqa: F401
from gateway_chip import worlds  # noqa: F401
from gpio_port import p0  # noqa: F401
from system_control import masked  # noqa: F401
from two_worlds import two_worlds  # noqa: F401

from harness.elf import Image


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """An image that does nothing."""
    return endless_loop(tmp_path_factory.mktemp("waiting") / "waiting.elf")


@pytest.fixture
def chip(waiting: Image) -> Iterator[BareChip]:
    """A chip fresh from reset that runs it."""
    made = BareChip(waiting)
    yield made
    made.machine.close()
