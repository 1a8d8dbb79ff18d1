"""Extracts the first error from the output of a build.

Compilers, linkers, CMake, Kconfig, devicetree compilers, Python scripts, ninja and west print
errors in different forms, and an error causes others: a failed compiler stops ninja, which stops
CMake, which stops west. The cause is the first error that is not such a consequence.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

_MAX_LENGTH = 400  # characters

_PLACE = r"(?P<place>[^\s:][^:\n]*:\d+)"
#: GCC, Clang and the assembler; errors of the driver, and in a macro of -D, have no line.
_COMPILER = (
    rf"^(?:{_PLACE}(?::\d+)?|(?P<file><[\w -]+>)|(?:\S*/)?[\w.+-]+): (?:fatal )?[Ee]rror: "
    r"(?P<text>.+)"
)
_DTC = r"^Error: (?P<place>[^\s:]+:\d+)\S* (?P<text>.+)"
#: Linker errors, with the line in the source if there is debug information, or the object.
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
#: The message is the following paragraph, and the next one if it ends with a colon.
_CMAKE = (
    r"^CMake Error(?: at (?P<place>.+?:\d+)| in (?P<file>[^\n]+?))?(?: \(\w+\))?:\s+"
    r"(?P<text>(?:(?!Call Stack \().+(?:(?<=:)\n)?\n?)+)"
)
#: A Python script: its exception, or its exit message.
_EXCEPTION = r"^(?P<text>(?:\w+\.)*\w*(?:Error|Exception): .+)"
_SCRIPT = r"^error: (?P<text>.+)"
_FIRST = [re.compile(one, re.MULTILINE) for one in (
    _UNDEFINED, _OVERFLOW, _COMPILER, _DTC, _LINKER, _DEVICETREE, _CMAKE, _EXCEPTION, _SCRIPT,
)]  # fmt: skip
#: Summaries of other errors, used only if there is nothing else.
_LAST = [
    re.compile(one, re.MULTILINE)
    for one in (r"^ninja: error: (?P<text>.+)", r"^(?:FATAL )?ERROR: (?P<text>.+)")
]
_CONSEQUENCE = re.compile(
    r"ld returned \d+ exit status|command failed with return code|Configuring incomplete"
    r"|failed with return code|Aborting due to Kconfig warnings"
)
#: Kconfig aborts because of a warning, but not because of a value that it did not accept.
_KCONFIG_ENDED = "Aborting due to Kconfig warnings"
_KCONFIG = re.compile(
    rf"^(?:{_PLACE}: )?warning: (?P<text>(?:(?!was assigned the value).+\n?)+)$", re.MULTILINE
)
_NOT_TAKEN = "was assigned the value"


def overflows(error: str) -> bool:
    """True for the first error of a link whose regions are too small."""
    return re.search(r"region \S+ overflowed by ", error) is not None


def space_hint(map_file: object) -> str:
    """The hint of such an error."""
    return f"`tflm-hil footprint {map_file}` shows what takes the space"


def first_error(output: str) -> str:
    """The first error as one line, ``file:line: message`` if the tool prints a location.

    It is the last line of the output if there is no known error, "" for empty output.
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
    # CMake lists files in a separate paragraph after a colon.
    paragraph = re.split(r"(?<!:)\n\s*\n", found["text"].strip(), maxsplit=1)[0]
    return _short(f"{place}: {paragraph}" if place else paragraph)


def _short(text: str) -> str:
    """``text`` as one line of limited length."""
    return textwrap.shorten(text, _MAX_LENGTH, placeholder=" ...")
