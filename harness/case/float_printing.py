"""Whether an image's printf leaves out the floats that it is asked to print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from harness.base.findings import Finding, Kind
from harness.elf import Image
from harness.uart import Console

#: What some C libraries print in place of a float (picolibc, Zephyr's cbprintf).
_PLACEHOLDER = re.compile(r"\*float\*|%[-+ #0]?\d{0,2}(?:\.\d{1,2})?l?[fgeFGE]\b")
#: newlib-nano: printf's part for integers, and the one for floats, which is linked if asked for.
_NANO_INTEGERS, _NANO_FLOATS = "_printf_i", "_printf_float"
#: A string of the image that may be a format.
_TEXT = re.compile(rb"[\t\n\r\x1b -~]{2,200}\0")
_CONVERSION = re.compile(r"%[-+ #0]{0,5}[\d.*]{0,7}(?:hh?|ll?|[jztL])?([a-zA-Z%])")
_FLOATS, _INTEGERS = "fFgGeEaA", "diuxXo"
#: Behind a float that is left out and ends its format: the line's end, or the next name.
_NOTHING = r"(?=\s*(?:$|[,;)\]]|[A-Za-z_]\w*\s*[=:]))"
#: Most characters of a line that are compared with formats.
_WIDTH = 300


def missing_floats(console: Console, image: Image) -> Finding | None:
    """The first line with a float that was not printed, and what to change; None for none.

    newlib-nano prints nothing for a float: the line is one of the image's formats without it.
    """
    nano = image.symbol(_NANO_INTEGERS) is not None and image.symbol(_NANO_FLOATS) is None
    left_out = _formats_without_floats(image) if nano else ()
    for line in console.read_lines():
        if _PLACEHOLDER.search(line.text):
            what = "printf has no floats: CONFIG_CBPRINTF_FP_SUPPORT=y, or the library's option"
        elif any(pattern.search(line.text[:_WIDTH]) for pattern in left_out):
            what = "printf has no floats: link with -u _printf_float"
        else:
            continue
        message = f"{what} (line {line.number}: {line.text.strip()[:40]!r})"
        return console.timed(Finding(Kind.UNPARSED_VALUE, message, "printf", line.number))
    return None


@lru_cache(maxsize=4)  # a failed case asks in each of its further runs
def _formats_without_floats(image: Image) -> tuple[re.Pattern[str], ...]:
    """What the image's formats with floats print where floats are left out, line by line."""
    return tuple(_patterns(image))


def _patterns(image: Image) -> Iterator[re.Pattern[str]]:
    for segment in image.loaded:
        for match in _TEXT.finditer(segment.data):
            lines = re.split(r"[\r\n]+", match.group()[:-1].decode("ascii"))
            for number, text in enumerate(lines):
                kinds = [found[1] for found in _CONVERSION.finditer(text)]
                words = re.search("[A-Za-z]", _CONVERSION.sub("", text))
                if words and not set(_FLOATS).isdisjoint(kinds):
                    yield _without_floats(text, begins=number > 0, ends=number < len(lines) - 1)


def _without_floats(text: str, *, begins: bool, ends: bool) -> re.Pattern[str]:
    """A pattern of one line of a format; the line ``begins`` and ``ends`` with it, or goes on."""
    pattern, at = "^" if begins else "", 0
    for match in _CONVERSION.finditer(text):
        pattern += re.escape(text[at : match.start()]) + _printed(match[1])
        at = match.end()
    rest = text[at:]
    return re.compile(pattern + re.escape(rest) + (r"\s*$" if ends else "" if rest else _NOTHING))


def _printed(conversion: str) -> str:
    """A pattern of what newlib-nano without floats prints for a conversion."""
    if conversion in _FLOATS:
        return r"(?<![\d.]) *"
    if conversion in _INTEGERS:
        return r" *[-+]?[\da-fA-FxX]{1,24}"
    return "%" if conversion == "%" else ".{0,80}?"
