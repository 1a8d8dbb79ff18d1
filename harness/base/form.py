"""The form of the JSON documents that are written and read again (``harness/schemas``).

A key that is added leaves the version as it is; one that is renamed, removed, or has another
meaning makes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.base.errors import UsageError
from harness.base.text import short

FORMAT = 1


def formatted(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with the version of its form as the first key."""
    return {"format": FORMAT, **document}


def check_format(document: Mapping[str, Any], where: str) -> None:
    """Raise :class:`UsageError` for a document of another form; without a version it is 1."""
    version = document.get("format", FORMAT)
    if version != FORMAT:
        raise UsageError(
            f"{where} has format {short(version)}, this version of tflm-hil reads {FORMAT}",
            hint="update tflm-hil, or write the file again with this version",
        )
