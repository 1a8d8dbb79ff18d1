"""A console as it comes, on a terminal."""

from __future__ import annotations

import codecs
import re
from typing import TextIO

#: Characters that a terminal would obey: a device must not move its cursor or set its title.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Echo:
    """Writes a console's bytes to a text stream, with control characters as escapes.

    A character that is cut between two parts is shown once it is whole. A carriage return is left
    out: consoles end their lines with both.
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
