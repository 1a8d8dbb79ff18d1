from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import needs
import pytest
from oracle import Oracle, Oracles


def pytest_configure(config: pytest.Config) -> None:
    marker = "litert_differs(*rows, reason): rows of a test that LiteRT is not asked for"
    config.addinivalue_line("markers", marker)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module, name: str
) -> Generator[None, object, object]:
    """``litert_differs`` names rows that exist."""
    made = yield
    if isinstance(made, list):  # not a class
        rows = {test.callspec.id for test in made if hasattr(test, "callspec")}
        if unknown := {row for test in made for row in _differing(test)} - rows:
            raise collector.CollectError(f"{name} has no row {', '.join(sorted(unknown))}")
    return made


def _differing(test: pytest.Item) -> set[str]:
    return {row for mark in test.iter_markers("litert_differs") for row in mark.args}


def _started(kind: str) -> Iterator[Oracle]:
    oracle = Oracle(kind)
    yield oracle
    oracle.close()
    if file := os.environ.get("TFLM_HIL_AGREED"):
        rows = [[*key, oracle.kind, count] for key, count in sorted(oracle.agreed.items())]
        Path(f"{file}.{oracle.kind}.{os.getpid()}").write_text(json.dumps(rows))


@pytest.fixture(scope="session")
def micro() -> Iterator[Oracle]:
    """The official interpreter of tflite-micro, for what TensorFlow Lite does in another way."""
    needs.require("tflite-micro")
    yield from _started("tflm")


@pytest.fixture(scope="session")
def _litert() -> Iterator[Oracle]:
    """TensorFlow Lite's own interpreter, with its reference kernels."""
    yield from _started("litert")


@pytest.fixture
def official(request: pytest.FixtureRequest, micro: Oracle) -> Oracles:
    """That of tflite-micro and, but for rows of ``litert_differs``, LiteRT as a second witness."""
    if hasattr(request.node, "callspec") and request.node.callspec.id in _differing(request.node):
        return [micro]
    return [micro, request.getfixturevalue("_litert")]
