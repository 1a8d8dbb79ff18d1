"""Robot Framework keywords: thin, typed, documented, no logic of their own."""

from harness.keywords.library import TflmHil

__all__ = ["TflmHil"]
