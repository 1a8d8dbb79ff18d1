"""Robot Framework keywords: a typed interface to the other rooms, without logic of its own."""

from harness.keywords.library import TflmHil

__all__ = ["TflmHil"]
