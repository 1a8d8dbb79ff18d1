"""Chunks of a batch, which may run at the same time."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.reference.batch import in_chunks


@given(runs=st.integers(1, 200), chunk=st.integers(1, 70), cores=st.integers(1, 8))
def test_all_runs_come_once_in_order_and_no_chunk_is_too_large(
    runs: int, chunk: int, cores: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: cores)
        parts = in_chunks(runs, chunk, lambda part: list(range(runs))[part])
    assert [each for part in parts for each in part] == list(range(runs))
    assert all(1 <= len(part) <= chunk for part in parts)


def test_what_goes_wrong_in_one_chunk_is_raised() -> None:
    def run(part: slice) -> int:
        if part.start:
            raise ValueError(f"run {part.start}")
        return 0

    with pytest.raises(ValueError, match="run 3"):
        in_chunks(6, 3, run)
