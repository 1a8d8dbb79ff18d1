"""Counts in words."""


def count_of(number: int, noun: str) -> str:
    """``1 case``, ``1,200 cases``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
