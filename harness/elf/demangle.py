"""Demangled C++ symbol names, from the C++ runtime's own demangler (cxxfilt)."""

from __future__ import annotations

import re
from functools import cache

from harness.base.errors import EnvironmentMissing

_PREFIX = "_Z"
#: A reference to an earlier part of the name, or to a template argument (Itanium C++ ABI, 5.1.10).
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
#: Most references in a name that is demangled. References to references expand exponentially: 300
#: characters to gigabytes, 24 references to 6,000 times the length. Firmware's names have at most
#: 14.
_MOST_REFERENCES = 24
#: The longest name that is demangled, in characters.
_LONGEST = 2000
#: The demangler's prefix of a name that the compiler generated ("vtable for ").
_GENERATED = re.compile(r"(?:[a-z][\w-]* )+for ")
#: Suffixes of a parameter list: qualifiers of a member function, a clone's suffix.
_SUFFIXES = re.compile(r"(?: const| volatile| &&?| \[[^\]]*\])+$")
_OPERATOR = re.compile(r"\boperator\b")
_OPENING, _CLOSING = "(<{[", ")>}]"


@cache
def demangle(name: str) -> str:
    """``name`` as c++filt prints it; unchanged if it is not mangled, or would expand too far.

    Raises :class:`EnvironmentMissing` if the machine has no C++ runtime library.
    """
    if not name.startswith(_PREFIX) or _expands_too_far(name):
        return name
    try:
        import cxxfilt  # noqa: PLC0415 - it loads a library that C firmware does not need
    except Exception as error:  # cxxfilt.LibraryNotFound, which cannot be named before the import
        raise EnvironmentMissing(
            "C++ names cannot be read: this machine has no libstdc++",
            hint="install the package libstdc++6 (Debian) or libstdc++ (Alpine)",
        ) from error
    try:
        return str(cxxfilt.demangle(name))
    except cxxfilt.Error:
        return name


def _expands_too_far(name: str) -> bool:
    return len(name) > _LONGEST or len(_REFERENCE.findall(name)) > _MOST_REFERENCES


@cache
def qualified(name: str) -> str:
    """The demangled name without parameters, return type, clone suffix (``tflite::A<1u>::B``)."""
    plain = name.partition(".")[0]
    text = demangle(plain)
    if text == plain:
        return plain
    if _GENERATED.match(text):
        return text
    text = _SUFFIXES.sub("", text)
    if text.endswith(")") and not text.endswith(("operator()", "(anonymous namespace)")):
        text = text[: _opening(text)]
    return text[_name_at(text) :]


@cache
def short_name(name: str) -> str:
    """The name for lines of text: without template arguments and anonymous namespaces."""
    text, depth, kept = qualified(name), 0, ""
    if _OPERATOR.search(text):  # operator<, operator->
        return text
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        kept += letter if not depth and letter != ">" else ""
    return kept.replace("(anonymous namespace)::", "")


def _opening(text: str) -> int:
    """The index of the bracket that the last character closes; ``len(text)`` if there is none."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return index
    return len(text)


def _name_at(text: str) -> int:
    """The index of the name, which follows a return type and the last space outside of brackets.

    Spaces in the name of an operator (``operator new``) and in the function around a local object
    (``A::f() const::x``) do not count.
    """
    operator = _OPERATOR.search(text)
    depth, start = 0, 0
    for index, letter in enumerate(text[: operator.start()] if operator else text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == " " and depth == 0 and not text.startswith("const::", index + 1):
            start = index + 1
    return start
