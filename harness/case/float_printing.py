"""Whether an image's printf leaves out the floats that it is asked to print."""

from __future__ import annotations

import re

from harness.base.findings import Finding, Kind
from harness.elf import Image
from harness.uart import Console

#: What some C libraries print in place of a float (picolibc, Zephyr's cbprintf).
_PLACEHOLDER = re.compile(r"\*float\*|%[-+ #0]?\d{0,2}(?:\.\d{1,2})?l?[fgeFGE]\b")
#: A name with a sign behind it and no value: ``x= y=``, ``x: , y: ``.
_NO_VALUE = re.compile(r"\w *[=:] *(?:[,;)\]] *)?(?:[A-Za-z_]\w* *[=:]|$)")
#: newlib-nano: printf's part for integers, and the one for floats, which is linked if asked for.
_NANO_INTEGERS, _NANO_FLOATS = "_printf_i", "_printf_float"


def missing_floats(console: Console, image: Image) -> Finding | None:
    """The first line with a float that was not printed, and what to change; None for none."""
    nano = image.symbol(_NANO_INTEGERS) is not None and image.symbol(_NANO_FLOATS) is None
    for line in console.read_lines():
        if _PLACEHOLDER.search(line.text):
            what = "printf has no floats: CONFIG_CBPRINTF_FP_SUPPORT=y, or the library's option"
        elif nano and _NO_VALUE.search(line.text):
            what = "printf has no floats: link with -u _printf_float"
        else:
            continue
        message = f"{what} (line {line.number}: {line.text.strip()[:40]!r})"
        return console.timed(Finding(Kind.UNPARSED_VALUE, message, "printf", line.number))
    return None
