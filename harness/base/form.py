"""The version of the JSON documents that are written and read again (``harness/schemas``).

A new key keeps the version; a key that is renamed, removed or redefined needs a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.base.errors import UsageError
from harness.base.text import short

#: The current version.
FORMAT = 1


def formatted(document: Mapping[str, Any]) -> dict[str, Any]:
    """``document`` with its format version as the first key."""
    return {"format": FORMAT, **document}


def check_format(document: Mapping[str, Any], where: str) -> None:
    """Raise :class:`UsageError` for a document of another version; a missing version is 1."""
    version = document.get("format", FORMAT)
    if version != FORMAT:
        raise UsageError(
            f"{where} has format {short(version)}, this version of tflm-hil reads {FORMAT}",
            hint="update tflm-hil, or write the file again with this version",
        )
