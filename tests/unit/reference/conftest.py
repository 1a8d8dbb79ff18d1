from __future__ import annotations

from collections.abc import Iterator

import pytest
from oracle import Oracle


def _started(kind: str) -> Iterator[Oracle]:
    oracle = Oracle(kind)
    if not oracle.installed:
        pytest.skip(f"the official interpreter {kind} is not installed")
    yield oracle
    oracle.close()


@pytest.fixture(scope="session")
def tflm() -> Iterator[Oracle]:
    """The official interpreter of tflite-micro with its reference kernels."""
    yield from _started("tflm")


@pytest.fixture(scope="session")
def litert() -> Iterator[Oracle]:
    """TensorFlow Lite's interpreter with its reference kernels: a second witness."""
    yield from _started("litert")
