"""The rule for names of boards and probes, which become file names."""

from __future__ import annotations

import re

from harness.errors import UsageError

#: Letters, digits, and a few signs that are no path separators; no leading dot or dash.
_NAME = re.compile(r"\w[\w .:+@-]{0,63}")
#: Short enough for a file name with ``.quarantine.json`` behind it.
_MOST_BYTES = 128
RULE = "1 to 64 letters, digits and .:+@_- or blanks, the first a letter or digit"


def is_name(text: str) -> bool:
    """True if ``text`` may be a board's name or a probe's serial number."""
    return bool(_NAME.fullmatch(text)) and len(text.encode("utf-8", "replace")) <= _MOST_BYTES


def checked(text: str, subject: str) -> str:
    """``text``. Raises :class:`UsageError`, which names ``subject``, if it breaks the rule."""
    if is_name(text):
        return text
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    raise UsageError(f"{subject} {shown!r} cannot be used", hint=f"{RULE}")
