"""Removed keywords: a test that uses one is told what to use instead."""

from __future__ import annotations

from harness.base.removed import removed
from robot import running


class RemovedKeywords:
    """A listener that replaces Robot's "No keyword with name ... found" for removed keywords."""

    ROBOT_LISTENER_API_VERSION = 3

    def start_invalid_keyword(
        self, data: object, implementation: running.KeywordImplementation, result: object
    ) -> None:
        """Sets the error of the call."""
        error = removed(f"keyword {implementation.name}")
        if error is not None:
            implementation.error = str(error)
