"""A sample on the simulator that takes its inputs from the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness import targets
from harness.base.errors import EnvironmentMissing
from harness.build.builders import build_one
from harness.elf import Image
from harness.targets.base import Session


@contextmanager
def fed_sample(sample: str) -> Iterator[Session]:
    """``sample`` with its inputs from the console; skips the test where it cannot be built."""
    try:
        firmware = Image.from_elf(build_one(sample, "console"))
    except EnvironmentMissing as missing:
        pytest.skip(str(missing))
    with targets.open_target("simulator", firmware) as opened:
        yield opened
