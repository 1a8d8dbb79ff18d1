"""The first error in the output of a build, in one line.

Compilers, linkers, CMake, Kconfig, devicetree compilers, Python scripts, ninja and west each have a
form of their own, and one error makes others: a failed compiler stops ninja, which stops CMake,
which stops west. The first that is not such a consequence is the cause.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_MOST = 400  # characters of a message

_PLACE = r"(?P<place>[^\s:][^:\n]*:\d+)"
#: GCC, Clang and the assembler; a driver and its parts have no line; dtc puts its word first.
_COMPILER = rf"^(?:{_PLACE}(?::\d+)?|(?:\S*/)?[\w.+-]+): (?:fatal )?[Ee]rror: (?P<text>.+)"
_DTC = r"^Error: (?P<place>[^\s:]+:\d+)\S* (?P<text>.+)"
#: ld's, with the source's line if there is debug information, else the object.
_UNDEFINED = (
    rf"^(?:\S*ld(?:\.\w+)?: )?(?:\S+\.o(?:bj)?:)?(?:{_PLACE}|(?P<object>\S[^\n]*?):\([^)\n]*\)):"
    r" (?P<text>(?:undefined reference to|multiple definition of) .+)"
)
_OVERFLOW = r"^\S*ld(?:\.\w+)?: (?P<text>region \S+ overflowed by .+)"
_LINKER = (
    r"^\S*ld(?:\.\w+)?: (?!warning:|\S+: warning:|.*: in function |.*will not fit in region)"
    r"(?:error: )?(?P<text>.*"
    r"(?:error:|cannot |undefined reference|uses VFP|syntax error|not found|conflict).*)"
)
_DEVICETREE = r"^devicetree error: (?P<text>.+)"
#: The message is the first paragraph below, and what it announces.
_CMAKE = (
    r"^CMake Error(?: at (?P<place>.+?:\d+)| in (?P<file>[^\n]+?))?(?: \(\w+\))?:\s+"
    r"(?P<text>(?:(?!Call Stack \().+(?:(?<=:)\n)?\n?)+)"
)
#: Of a script: its exception, or the text that it exits with.
_EXCEPTION = r"^(?P<text>(?:\w+\.)*\w*(?:Error|Exception): .+)"
_SCRIPT = r"^error: (?P<text>.+)"
_FIRST = [re.compile(one, re.MULTILINE) for one in (
    _UNDEFINED, _OVERFLOW, _COMPILER, _DTC, _LINKER, _DEVICETREE, _CMAKE, _EXCEPTION, _SCRIPT,
)]  # fmt: skip
#: What others say of an error: only if there is nothing else.
_LAST = [
    re.compile(one, re.MULTILINE)
    for one in (r"^ninja: error: (?P<text>.+)", r"^(?:FATAL )?ERROR: (?P<text>.+)")
]
_CONSEQUENCE = re.compile(
    r"ld returned \d+ exit status|command failed with return code|Configuring incomplete"
    r"|failed with return code|Aborting due to Kconfig warnings"
)
#: Kconfig ends because of a warning; a value that was not taken is not a reason to end.
_KCONFIG_ENDED = "Aborting due to Kconfig warnings"
_KCONFIG = re.compile(
    rf"^(?:{_PLACE}: )?warning: (?P<text>(?:(?!was assigned the value).+\n?)+)$", re.MULTILINE
)
_NOT_TAKEN = "was assigned the value"


def first_error(output: str) -> str:
    """One line, ``file:line: message`` if the tool names a place; the last line if none is known.

    It is "" for empty output.
    """
    if _KCONFIG_ENDED in output:
        before = output[: output.index(_KCONFIG_ENDED)]
        for found in _KCONFIG.finditer(before):
            if _NOT_TAKEN not in found["text"]:
                return _line(found)
    for patterns in (_FIRST, _LAST):
        causes = [match for pattern in patterns for match in _causes(pattern, output)]
        if causes:
            return _line(min(causes, key=lambda match: match.start()))
    lines = [line for line in output.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else ""


def _causes(pattern: re.Pattern[str], output: str) -> Iterator[re.Match[str]]:
    """The first match that is not a consequence of another error."""
    for found in pattern.finditer(output):
        if not _CONSEQUENCE.search(found["text"]):
            yield found
            return


def _line(found: re.Match[str]) -> str:
    groups = found.groupdict()
    place = groups.get("place") or groups.get("object") or groups.get("file")
    # CMake lists files in paragraphs of their own, behind a colon.
    paragraph = re.split(r"(?<!:)\n\s*\n", found["text"].strip(), maxsplit=1)[0]
    return _short(f"{place}: {paragraph}" if place else paragraph)


def _short(text: str) -> str:
    """One line of a text, cut if it is long."""
    return textwrap.shorten(text, _MOST, placeholder=" ...")
