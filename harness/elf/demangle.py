"""C++ symbol names as people write them, by the C++ runtime's own demangler (cxxfilt)."""

from __future__ import annotations

import re
from functools import cache

from harness.base.errors import EnvironmentMissing

_PREFIX = "_Z"
#: A reference to an earlier part of the name, or to a template argument (Itanium C++ ABI, 5.1.10).
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
#: References that repeat references grow a name exponentially: 300 characters can stand for
#: gigabytes. Names of firmware have at most 14; with 24, a name grows some six thousand times.
_MOST_REFERENCES = 24
_LONGEST = 2000
#: The demangler's prefixes of names that the compiler made ("vtable for ").
_MADE = re.compile(r"(?:[a-z][\w-]* )+for ")
#: Suffixes of a parameter list: qualifiers of a member function, a clone's suffix.
_BEHIND = re.compile(r"(?: const| volatile| &&?| \[[^\]]*\])+$")
_OPERATOR = re.compile(r"\boperator\b")
_OPENING, _CLOSING = "(<{[", ")>}]"


@cache
def demangle(name: str) -> str:
    """``name`` as c++filt prints it; as it stands if it is not mangled, or too tangled to unfold.

    Raises :class:`EnvironmentMissing` if the machine has no C++ runtime library.
    """
    if not name.startswith(_PREFIX) or _is_tangled(name):
        return name
    try:
        import cxxfilt  # noqa: PLC0415 - it loads a library, which C firmware does not need
    except Exception as error:  # cxxfilt.LibraryNotFound, which cannot be named before the import
        raise EnvironmentMissing(
            "C++ names cannot be read: this machine has no libstdc++",
            hint="install the package libstdc++6 (Debian) or libstdc++ (Alpine)",
        ) from error
    try:
        return str(cxxfilt.demangle(name))
    except cxxfilt.Error:
        return name


def _is_tangled(name: str) -> bool:
    return len(name) > _LONGEST or len(_REFERENCE.findall(name)) > _MOST_REFERENCES


@cache
def qualified(name: str) -> str:
    """The demangled name alone: no parameters, return type, clone suffix (``tflite::A<1u>::B``)."""
    plain = name.partition(".")[0]
    text = demangle(plain)
    if text == plain:
        return plain
    compiler_made = _MADE.match(text)
    if compiler_made is not None:
        return text
    text = _BEHIND.sub("", text)
    if text.endswith(")") and not text.endswith(("operator()", "(anonymous namespace)")):
        text = text[: _opening(text)]
    return text[_name_at(text) :]


def _opening(text: str) -> int:
    """The index of the bracket that the last character closes; ``len(text)`` if there is none."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == ")") - (text[index] == "(")
        if depth == 0:
            return index
    return len(text)


def _name_at(text: str) -> int:
    """Where the name starts after a return type: behind the last space outside of brackets.

    The name of an operator may hold a space itself (``operator new``), and so may the function
    around a local object (``A::f() const::x``).
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
