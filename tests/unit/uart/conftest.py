from collections.abc import Callable
from pathlib import Path

import pytest

from harness.uart import Console, scraper

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"


@pytest.fixture
def transcript() -> Callable[..., Console]:
    def read(name: str, scraper_name: str = "hello_world") -> Console:
        console = Console([scraper(scraper_name)])
        console.feed((TRANSCRIPTS / f"{name}.log").read_bytes())
        console.finish()
        return console

    return read
