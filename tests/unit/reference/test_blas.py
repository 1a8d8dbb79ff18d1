"""The shared limit of BLAS to one thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import ThreadpoolController

from harness.reference.blas import SMALL, one_thread


@pytest.fixture
def _two_threads() -> Iterator[None]:
    """The library computes with two threads, whatever the machine has."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        yield


def _threads() -> set[int]:
    library = ThreadpoolController().select(user_api="blas")
    return {each["num_threads"] for each in library.info()}


@pytest.mark.usefixtures("_two_threads")
def test_small_products_do_not_limit_threads() -> None:
    before = _threads()
    with one_thread(SMALL):
        assert _threads() == before


@pytest.mark.usefixtures("_two_threads")
def test_the_last_user_restores_the_thread_limit() -> None:
    before = _threads()
    with one_thread(SMALL + 1):
        assert _threads() == {1}
        with one_thread(SMALL + 1):
            assert _threads() == {1}
        assert _threads() == {1}
    assert _threads() == before


@pytest.mark.usefixtures("_two_threads")
def test_an_error_restores_the_thread_limit() -> None:
    before = _threads()
    with pytest.raises(ValueError, match="wrong"), one_thread(SMALL + 1):
        raise ValueError("wrong")
    assert _threads() == before


@pytest.mark.usefixtures("_two_threads")
def test_the_first_user_may_end_before_the_last() -> None:
    before = _threads()
    first, last = one_thread(SMALL + 1), one_thread(SMALL + 1)
    first.__enter__()
    last.__enter__()
    first.__exit__(None, None, None)
    assert _threads() == {1}
    last.__exit__(None, None, None)
    assert _threads() == before
