"""Numbers in a device's text, bounded whatever it prints."""

from __future__ import annotations

import math
import re

_NUMBER = re.compile(
    r"(?P<mantissa>[-+]?\d{1,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,4})?)"
    r"(?:\*2\^(?P<power>[-+]?\d{1,3}))?",
    re.ASCII,
)


def number(text: str) -> float | None:
    """A printed number, decimal or ``mantissa*2^exponent``; None if the text is not a number.

    Infinity, NaN and what is too large for a float do not count as numbers.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match["mantissa"]) * 2.0 ** int(match["power"] or 0)
    return value if math.isfinite(value) else None


def integer(text: str | None) -> int | None:
    """A decimal integer of at most 20 digits; None for anything else."""
    if text is None or len(text) > 20 or not text.isascii():
        return None
    try:
        return int(text)
    except ValueError:
        return None
