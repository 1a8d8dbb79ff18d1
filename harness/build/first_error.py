"""Extracts the first error from the output of a build.

Compilers, linkers, CMake, Kconfig, devicetree tools, Python scripts, ninja and west print their
messages in a few forms. An error causes others: a failed compiler stops ninja, which stops CMake,
which stops west. The cause is the first error that is not such a consequence. If no message has a
known form, it is what the failed command printed.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile

_MAX_LENGTH = 400  # characters
_MAX_LINES = 200  # of one message

_PLACE = r"(?P<place>[^\s:][^:\n]*:\d+)"
_LD = r"(?:\S*/)?(?:[\w-]+-)?ld(?:\.\w+)?:"


@dataclass(frozen=True)
class _Message:
    """An error, or a warning of Kconfig; ``place`` is file and line, the object, or ""."""

    text: str
    place: str = ""
    warning: bool = False

    def __str__(self) -> str:
        return _short(f"{self.place}: {self.text}" if self.place else self.text)


# --------------------------------------------------------------- which lines belong to a message


def _nothing(_lines: Iterable[str]) -> Iterator[str]:
    return iter(())


def _paragraph(lines: Iterable[str]) -> Iterator[str]:
    """The lines up to a blank one, and the next paragraph if this one is an underlined title."""
    title = False
    for line in lines:
        if set(line) == {"="}:
            title = True
        elif line.strip():
            yield line
        elif not title:
            return
        else:
            title = False


def _indented(lines: Iterable[str]) -> Iterator[str]:
    """CMake's message: the first paragraph, and the next one if it ends with a colon."""
    last = ":"
    for line in lines:
        if line.strip() and line.startswith("  "):
            last = line
            yield line
        elif line.strip() or not last.endswith(":"):
            return


# ------------------------------------------------------------------------------------- the forms


@dataclass(frozen=True)
class _Form:
    """How a tool prints a message: its first line, and which of the next lines belong to it."""

    first: re.Pattern[str]
    more: Callable[[Iterable[str]], Iterator[str]]

    def read(self, lines: Sequence[str], number: int) -> _Message | None:
        """The message that begins at line ``number``."""
        found = self.first.match(lines[number])
        if found is None:
            return None
        groups = found.groupdict()
        text = _joined([groups["text"], *self.more(_following(lines, number))])
        place = groups.get("place") or groups.get("name") or ""
        return _Message(text, place, warning=bool(groups.get("warning")))


_FORMS = [_Form(re.compile(first), more) for first, more in (
    # Linkers, with the line of the source if there is debug information, else the object.
    (rf"(?:{_LD} )?(?:\S+\.o(?:bj)?\)?:)?(?:{_PLACE}|(?P<name>\S.*?):\([^()]*\)):"
     r" (?P<text>(?:undefined reference to|multiple definition of) .+)", _nothing),
    (rf"{_LD}(?! (?:(?i:warning|note): |\S+: warning: |.*: in function |.*will not fit in region"
     rf"|skipping incompatible )) ?(?:error: )?(?:{_PLACE}: )?(?P<text>.+)", _nothing),
    # Compilers, assemblers, the preprocessor. Macros of -D have no line.
    (rf"(?:{_PLACE}(?::\d+)?|(?P<name><[\w -]+>)): (?:fatal )?[Ee]rror: (?P<text>.+)", _nothing),
    # Kconfig, and its warnings; other Python scripts that end with a message.
    (rf"\S*kconfig\.py: (?:{_PLACE}: )?(?:error: )?(?P<text>.+)", _paragraph),
    (rf"(?:{_PLACE}: )?(?P<warning>warning): (?P<text>.+)", _paragraph),
    (r"\S+\.py: error: (?P<text>.+)", _paragraph),
    # Devicetrees: Zephyr's parser, and dtc.
    (rf"devicetree error: (?:{_PLACE} \(column \d+\): )?(?P<text>.+)", _paragraph),
    (r"(?:Error: )?(?P<place>[^\s:]+:\d+)\.[\d.-]+:? (?!Warning )(?:ERROR \(\w+\): )?(?P<text>.+)",
     _nothing),
    (r"CMake Error(?: at (?P<place>.+?:\d+)| in (?P<name>.+?))?(?: \(\w+\))?: ?(?P<text>.*)",
     _indented),
    (r"(?P<text>No (?:board|shield) named \S+ found)", _nothing),
    # Any other tool that says its name, or not.
    (r"[\w.+/ -]+: (?:fatal )?error: (?P<text>.+)", _nothing),
    (r"(?:error|(?:FATAL )?ERROR): (?P<text>.+)", _paragraph),
)]  # fmt: skip

_CONSEQUENCE = re.compile(
    r"ld returned \d+ exit status|failed with return code|Configuring incomplete"
    r"|Invalid (?:BOARD|SHIELD); see above|failed command indexes|exited with status \d"
    r"|rebuilding 'build.ninja'|subcommand failed"
)
#: Kconfig ends because of warnings, but not because of these.
_KCONFIG_ENDS = "Aborting due to Kconfig warnings"
_HARMLESS = re.compile(
    r"was assigned the value|was selected \(set =y\)|symbol \w+ is enabled|set more than once"
)
#: Status lines of CMake, ninja and west; no message goes on behind them.
_STATUS = re.compile(r"-- |\[\d+/\d+\] |FAILED: |ninja: |CMake |Call Stack |FATAL ERROR: ")
_FAILED = re.compile(r"FAILED: (?:\[\S+\] )?(?P<target>.*\S)")

#: GCC prints the uses of a macro behind an error, and those of a template before it.
_EXPANSION = re.compile(rf"{_PLACE}(?::\d+)?: note: in expansion of macro \W(?P<macro>\w+)")
_REQUIRED = re.compile(rf"{_PLACE}(?::\d+)?:   required from here")
#: CMake's call stack, the outermost call last. Files of the application have relative paths.
_CALL = re.compile(r"  (?P<place>[^/\s][^:]*:\d+) \((?!(?:find_package|include)\))\w+\)")
_TEMPORARY = re.compile(r"\S*/cc\w{6}\.s:\d+")
_DIAGNOSTIC = re.compile(r"[^:]+:\d+(?::\d+)?: (?:fatal )?(?:error|warning): ")

#: The devicetree is parsed as one file: preprocessed overlays, with an empty file at the end.
_OVERLAY = "-- Found devicetree overlay: "
_EMPTY_FILE = re.compile(r".*/misc/empty_file\.c:\d+")
_WHOLE_TREE = re.compile(r" in '?[^\s']*/(?:misc/empty_file\.c|zephyr\.dts\.pre(?:\.tmp)?)\b'?")

_FRAME = re.compile(r'  File "(?P<file>.+)", line (?P<line>\d+)')
_CHAINED = re.compile(r"During handling of the above|The above exception was")
_LIBRARY = re.compile(
    r"<frozen |/lib/python3|/(?:site|dist)-packages/|\.pyx$|/scripts/(?:kconfig|dts)/"
)

#: Kconfig's messages list all definitions of a symbol, and end with advice, or in what it prints to
#: its other stream.
_DEFINITIONS = re.compile(r" \(defined at (?P<places>[^()]*)\)")
_ADVICE = re.compile(
    r"(?: See https?://docs\.zephyrproject\.org/| Check that environment variables "
    r"| ?Parsing /| ?(?:Loaded|Merged) configuration ').*"
)


def overflows(error: str) -> bool:
    """True for the first error of a link whose regions are too small."""
    return re.search(r"region \S+ overflowed by ", error) is not None


def space_hint(map_file: object) -> str:
    """The hint of such an error."""
    return f"`tflm-hil footprint {map_file}` shows what takes the space"


def first_error(output: str) -> str:
    """The first error as one line, ``file:line: message`` if the tool prints a location.

    Without a message of a known form it is the first line that the failed command printed, or the
    last line of the output; "" for empty output.
    """
    lines = output.splitlines()
    ending: _Message | None = None  # the first warning that ends Kconfig
    for number, line in enumerate(lines):
        if line.startswith("-- "):  # another tool has been run
            ending = None
        message = _message(lines, number)
        if message is None or _CONSEQUENCE.search(message.text):
            continue
        if message.warning:
            if ending is None and not _HARMLESS.search(message.text):
                ending = message
        elif _KCONFIG_ENDS not in message.text:
            return str(_where_written(message, lines, number))
        elif ending is not None:
            return str(ending)
    return _short(_printed(lines))


def _message(lines: Sequence[str], number: int) -> _Message | None:
    """The message that begins at line ``number``."""
    if _FRAME.match(lines[number]):
        return _exception(lines, number)
    return next((found for form in _FORMS if (found := form.read(lines, number))), None)


def _exception(lines: Sequence[str], number: int) -> _Message | None:
    """The exception of a traceback, the last one of a chain, which says most.

    Its place is the last frame that is not in a library.
    """
    block = [lines[number], *_following(lines, number)]
    chained = [at for at, line in enumerate(block) if _CHAINED.match(line)]
    block = block[chained[-1] + 1 :] if chained else block
    for at, line in enumerate(block):
        if line.strip() and not line.startswith((" ", "Traceback")):
            frames = [found for found in map(_FRAME.match, block[:at]) if found]
            own = [found for found in frames if not _LIBRARY.search(found["file"])]
            place = f"{own[-1]['file']}:{own[-1]['line']}" if own else ""
            return _Message(_joined(_paragraph(block[at:])), place)
    return None


def _where_written(message: _Message, lines: Sequence[str], number: int) -> _Message:
    """The message with the place where the user wrote the error, if it is found elsewhere.

    An error in a macro is that of the line with the macro, and one in a function of Zephyr's CMake
    that of its call. An error in inline assembly is found in a temporary file. An overlay that is
    not closed fails behind the last one.
    """
    caller = _CALL.match(_outermost_call(lines, number))
    if caller:
        return replace(message, place=caller["place"])
    notes = takewhile(lambda line: not _DIAGNOSTIC.match(line), _following(lines, number))
    uses = [found for found in map(_EXPANSION.match, notes) if found]
    if uses:
        return replace(
            message, text=f"{message.text} (macro {uses[-1]['macro']})", place=uses[-1]["place"]
        )
    required = _REQUIRED.match(lines[number - 1]) if number else None
    if required:
        return replace(message, text=f"{message.text} (required from {required['place']})")
    failed = [found for found in map(_FAILED.match, lines[:number]) if found]
    if failed and _TEMPORARY.match(message.place):
        return replace(message, place=failed[-1]["target"])
    overlays = [line for line in lines[:number] if line.startswith(_OVERLAY)]
    if overlays and _EMPTY_FILE.match(message.place):
        return replace(message, place=overlays[-1].removeprefix(_OVERLAY))
    return message


def _outermost_call(lines: Sequence[str], number: int) -> str:
    """The last line of the call stack of CMake's message at line ``number``."""
    if not lines[number].startswith("CMake Error"):
        return ""
    rest = lines[number + 1 : number + _MAX_LINES]
    own = takewhile(lambda line: not line.startswith(("CMake ", "-- ")), rest)
    stack = dropwhile(lambda line: not line.startswith("Call Stack"), own)
    return ([line for line in stack if line.strip()] or [""])[-1]


def _printed(lines: Sequence[str]) -> str:
    """The first line that a failed command printed, or the last one before the consequences."""
    for number, line in enumerate(lines):
        failed = _FAILED.match(line)
        if failed:
            command, *printed = [*_following(lines, number), ""]
            silent = f"{failed['target']}: {command.rpartition('&& ')[2]} failed"
            return next(filter(str.strip, printed), silent)
    words = [line for line in lines if line.strip()]
    before = takewhile(lambda line: not _CONSEQUENCE.search(line), words)
    said = [line for line in before if not _STATUS.match(line)]
    return (said or words or [""])[-1]


def _following(lines: Sequence[str], number: int) -> Iterator[str]:
    """The lines behind line ``number``, up to a status line."""
    rest = lines[number + 1 : number + _MAX_LINES]
    return takewhile(lambda line: not _STATUS.match(line), rest)


def _joined(lines: Iterable[str]) -> str:
    """Wrapped lines as one; Python's textwrap breaks lines behind hyphens, too."""
    return re.sub(r"(\w-)?\n", lambda end: end[1] or " ", "\n".join(map(str.strip, lines))).strip()


def _short(text: str) -> str:
    """``text`` as one line of limited length."""
    text = _WHOLE_TREE.sub("", _ADVICE.sub("", _DEFINITIONS.sub(_own_definitions, text)))
    return textwrap.shorten(text, _MAX_LENGTH, placeholder=" ...")


def _own_definitions(found: re.Match[str]) -> str:
    """A symbol may be defined in many files: those outside Zephyr, which have absolute paths."""
    places = found["places"].split(", ")
    own = [place for place in places if place.startswith("/")] if len(places) > 1 else places
    return f" (defined at {', '.join(own)})" if own else ""
