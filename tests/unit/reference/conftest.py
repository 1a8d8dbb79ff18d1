from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path

import needs
import pytest
from oracle import Oracle


def pytest_configure(config: pytest.Config) -> None:
    marker = "litert_differs(*rows, reason): rows of a test that are not LiteRT's"
    config.addinivalue_line("markers", marker)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs with each official interpreter; one with ``micro`` with tflite-micro's alone."""
    if "_oracle" in metafunc.fixturenames:
        kinds = ["tflm"] if "micro" in metafunc.fixturenames else ["tflm", "litert"]
        metafunc.parametrize("_oracle", kinds, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module, name: str
) -> Generator[None, object, object]:
    """Leave out the rows that ``litert_differs`` names."""
    made = yield
    if not isinstance(made, list):  # a class
        return made
    marks = [mark for test in made for mark in test.iter_markers("litert_differs")]
    rows = {f"litert-{row}" for mark in marks for row in mark.args}
    if not rows:
        return made
    if unknown := rows - {test.callspec.id for test in made}:
        raise collector.CollectError(f"{name} has no row {', '.join(sorted(unknown))}")
    return [test for test in made if test.callspec.id not in rows]


@pytest.fixture(scope="session")
def _oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    if request.param == "tflm":
        needs.require("tflite-micro")
    oracle = Oracle(request.param)
    yield oracle
    oracle.close()
    if file := os.environ.get("TFLM_HIL_AGREED"):
        rows = [[*key, oracle.kind, count] for key, count in sorted(oracle.agreed.items())]
        Path(f"{file}.{oracle.kind}.{os.getpid()}").write_text(json.dumps(rows))


@pytest.fixture
def official(_oracle: Oracle) -> Oracle:
    """The official interpreter of tflite-micro, and as a second witness TensorFlow Lite's own.

    LiteRT runs with its reference kernels. Rows of ``@pytest.mark.litert_differs`` are left out.
    """
    return _oracle


@pytest.fixture
def micro(_oracle: Oracle) -> Oracle:
    """The official interpreter of tflite-micro, for what TensorFlow Lite does in another way."""
    return _oracle
