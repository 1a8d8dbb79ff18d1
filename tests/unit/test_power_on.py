"""The pattern of RAM and registers at power-on."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import UsageError
from harness.base.power_on import DEFAULT_SEED, ZERO, name_of, pattern, seed_of, words

RAM, SIZE = 0x2000_0000, 0x4_0000


def test_no_byte_is_zero() -> None:
    assert 0 not in pattern(DEFAULT_SEED, RAM, SIZE)


def test_bytes_are_spread_evenly() -> None:
    counts = np.bincount(np.frombuffer(pattern(DEFAULT_SEED, RAM, SIZE), np.uint8), minlength=256)
    assert counts[2:].min() > 0.85 * SIZE / 256
    assert counts[2:].max() < 1.15 * SIZE / 256


def test_seeds_differ_in_nearly_every_word() -> None:
    one, other = (np.array(words(seed, RAM, SIZE // 4)) for seed in (1, 2))
    assert np.count_nonzero(one == other) < 3


def test_a_word_depends_on_its_address_alone() -> None:
    assert pattern(5, RAM + 8, 16) == pattern(5, RAM, 64)[8:24]


def test_the_pattern_is_the_same_in_every_release() -> None:
    assert words(1, RAM, 4) == (0xDA61_6DF9, 0xB945_CE91, 0x1C5C_EAF7, 0x4335_7FC8)


def test_zero_is_zeros() -> None:
    assert pattern(ZERO, RAM, 64) == bytes(64)


@pytest.mark.parametrize("text", ["1", "4294967295", "zero"])
def test_a_seed_is_a_number_or_zero(text: str) -> None:
    assert name_of(seed_of(text)) == text


@pytest.mark.parametrize("text", ["0", "-1", "4294967296", "", "both", "1.5", "²", "9" * 5000])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a seed"):
        seed_of(text)
