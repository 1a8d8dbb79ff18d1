"""A console shown on a terminal while it arrives."""

from __future__ import annotations

import codecs
import re
from typing import TextIO

#: Control characters, with which a device could move a terminal's cursor or set its title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Echo:
    """Writes a console's bytes to a text stream, with control characters as escapes.

    A character that is split between two calls is shown with the second. Carriage returns are left
    out: consoles end their lines with CR LF.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def __call__(self, data: bytes) -> None:
        """Show ``data``."""
        text = self._decoder.decode(data).replace("\r", "")
        self._stream.write(_CONTROL.sub(_escaped, text))
        self._stream.flush()


def _escaped(match: re.Match[str]) -> str:
    return f"\\x{ord(match[0]):02x}"
