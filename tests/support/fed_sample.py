"""A sample on the simulator that takes its inputs from the console."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import needs

from harness import targets
from harness.build.builders import build_one
from harness.elf import Image
from harness.targets.session import Session


@contextmanager
def fed_sample(sample: str) -> Iterator[Session]:
    """``sample`` with its inputs from the console; skips the test where it cannot be built."""
    needs.require("arm-none-eabi-gcc", "flatc")
    firmware = Image.from_elf(build_one(sample, "console"))
    with targets.open_target("simulator", firmware) as opened:
        yield opened
