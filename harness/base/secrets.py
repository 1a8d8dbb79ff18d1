"""Passwords and tokens: hidden in all text that is stored or shown.

A secret is the password of a URL, or the value of a parameter, an option or an environment variable
whose name says so (``_WORDS``). Text is redacted where it comes into being (the command of a run,
an error, a call of a tool), and once more in what Robot and pytest report, because tests write to
it, too.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

#: The replacement of a secret.
HIDDEN = "***"
#: A name that holds one of these words has a secret value.
_WORDS = ("password", "passwd", "token", "secret", "apikey", "api_key", "api-key", "credential")
#: Characters of a secret that is hidden wherever it stands. A shorter one may be a part of other
#: words, and is hidden in its URL or beside its name only.
_SHORTEST = 6
#: Characters of a word that is searched for a URL.
_LONGEST_WORD = 4096

_NAME = rf"[\w.-]{{0,64}}(?:{'|'.join(_WORDS)})[\w.-]{{0,64}}"
_OPTION = rf"--?{_NAME}"
_ASSIGNMENT = rf"(-*{_NAME}[=:])(?!:)(.+)"
#: The password of a URL that is a word of its own: it may hold any character, unlike a port.
_URL_PASSWORD = r":/{1,2}[^\s/?#@:]*:(?!\d{1,5}(?:/|$))(.+)@"

_QUOTED = r""""[^"\n]*"|'[^'\n]*'"""
_HIDDEN = re.escape(HIDDEN)
_USER_INFO = r"""(?:[^\s"'<>/?#@]*+@)++"""
#: Forms of secrets in a text, and their replacements. Each takes linear time.
_URL_FORMS = (
    # https://TOKEN@host, https://user:password@host
    (rf"(https?://){_USER_INFO}", rf"\1{HIDDEN}@"),
    # scheme://user:password@host, and with a slash forgotten
    (rf"""(:/{{1,2}}[^\s"'<>/?#@:]*+:){_USER_INFO}""", rf"\1{HIDDEN}@"),
)
_NAMED_FORMS = (
    # ?password=VALUE, LAB_TOKEN=VALUE, --token=VALUE, token='VALUE'
    (rf"""((?<![\w.-])-*{_NAME}=)(?!=)(?:{_HIDDEN}|{_QUOTED}|[^\s&"'<>]++)""", rf"\1{HIDDEN}"),
    # 'password': 'VALUE'
    (rf"""((["']){_NAME}\2: ?)(?:{_QUOTED})""", rf"\1\2{HIDDEN}\2"),
    # --token VALUE
    (rf"""((?<![\w.-])--?{_NAME}\s+)(?:{_HIDDEN}|{_QUOTED}|(?!-)[^\s"'<>]++)""", rf"\1{HIDDEN}"),
)


def redacted(text: str) -> str:
    """``text`` with ``***`` in place of each secret.

    Secrets are found by their form (``://user:SECRET@``, ``password=SECRET``, ``--token SECRET``),
    and by their value if the environment or the command line of this process holds it.
    """
    return _redacted(text, _of_this_process()) if text else text


def _redacted(text: str, process: frozenset[str]) -> str:
    for secret in sorted(_known(text, process), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    forms = [*(_URL_FORMS if ":/" in text else ()), *(_NAMED_FORMS if _is_secret(text) else ())]
    for form, replacement in forms:
        text = _regex(form).sub(replacement, text)
    return text


def redacted_command(words: Sequence[str]) -> str:
    """The words of a command line, redacted, as a shell takes them."""
    shown = []
    process = _of_this_process()
    for option, word in zip(["", *words], words, strict=False):
        if _takes_secret(option) and not word.startswith("-"):
            shown.append(HIDDEN)
        elif assignment := _assignment(word):
            shown.append(assignment[1] + HIDDEN)
        else:
            shown.append(shlex.quote(_redacted(word, process)))
    return " ".join(shown)


def _known(text: str, process: frozenset[str]) -> set[str]:
    """The secrets of a process, in each spelling, and that of ``text`` if this is one word."""
    found = {*process}
    if " " not in text:
        found.update(_of_urls([text]))
    return {spelling for secret in found if _is_hidden(secret) for spelling in _spellings(secret)}


def _of_this_process() -> frozenset[str]:
    return _of_process(tuple(sys.argv), tuple(os.environ.items()))


@lru_cache(maxsize=1)  # a process asks again and again, and changes neither
def _of_process(
    arguments: tuple[str, ...], environment: tuple[tuple[str, str], ...]
) -> frozenset[str]:
    urls = _of_urls([*arguments, *(value for _, value in environment)])
    named = (value for name, value in environment if _is_secret(name))
    return frozenset((*_of_command(arguments), *named, *urls))


def _is_hidden(secret: str) -> bool:
    """Whether ``secret`` is hidden wherever it stands; a path (PASSWORD_STORE_DIR) is not."""
    # Path.exists raises OSError for a text that is too long.
    return len(secret) >= _SHORTEST and not os.path.exists(secret)  # noqa: PTH110


def _of_command(words: Sequence[str]) -> Iterator[str]:
    """The values of options, and of assignments such as Robot's ``--variable TOKEN:VALUE``."""
    for option, word in zip(["", *words], words, strict=False):
        if _takes_secret(option) and not word.startswith("-"):
            yield word
        elif assignment := _assignment(word):
            yield assignment[2]


def _of_urls(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if ":/" in word and (found := _regex(_URL_PASSWORD).search(word[:_LONGEST_WORD])):
            yield found[1]


def _spellings(secret: str) -> tuple[str, ...]:
    from urllib.parse import quote, unquote  # noqa: PLC0415 - slow to import, and rarely needed

    return secret, unquote(secret), quote(secret, safe="")


def _is_secret(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in _WORDS)


def _takes_secret(option: str) -> bool:
    return _is_secret(option) and _regex(_OPTION).fullmatch(option) is not None


def _assignment(word: str) -> re.Match[str] | None:
    return _regex(_ASSIGNMENT).fullmatch(word) if _is_secret(word) else None


@cache  # compiled when it is first needed: most commands end before
def _regex(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
