from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.history.run import Occasion, Run, from_document
from harness.history.store import History


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "lab.db"


@pytest.fixture
def history(file):
    with History.open(str(file)) as opened:
        yield opened


@pytest.fixture
def run() -> Callable[[dict[str, Any]], Run]:
    """The run that a document of results tells of."""
    return lambda document: from_document(document, Occasion(0.0).updated_from(document))
