"""A machine without a Renode, as a fixture: import it into a conftest."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.targets.renode import find


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Renode will be installed, on a machine that has none."""
    monkeypatch.setenv("TFLM_HIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RENODE", raising=False)
    monkeypatch.setattr(find, "USUAL_PLACES", ())
    return tmp_path / "cache" / "renode"
