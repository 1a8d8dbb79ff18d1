from collections.abc import Callable
from pathlib import Path

import pytest

from harness.uart import Console, scraper

TRANSCRIPTS = Path(__file__).parents[2] / "data" / "transcripts"


@pytest.fixture
def scrape() -> Callable[..., Console]:
    """A finished console that read `text` with the scraper of that name."""

    def read(name: str, text: str | bytes) -> Console:
        console = Console([scraper(name)])
        console.feed(text if isinstance(text, bytes) else text.encode())
        console.finish()
        return console

    return read


@pytest.fixture
def transcript(scrape) -> Callable[..., Console]:
    def read(name: str, scraper_name: str = "hello_world") -> Console:
        return scrape(scraper_name, (TRANSCRIPTS / f"{name}.log").read_bytes())

    return read
