"""The links of the pages that lead elsewhere: `python tests/links.py [--ask]`.

Lists them with the pages that they stand on, and says what is wrong with their form. With
``--ask`` each is asked for, which needs a network; MkDocs checks the links within the site.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"^(```|~~~).*?^\1|^(?:    .*\n)+|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(
    r"\]\(\s*<?(\w+://[^)\s>]*)|<(\w+://[^>\s]*)>|(?<![(<\"])\b(https?://[^\s)>\]]+)"
)
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}")
_PRIVATE = (".local", ".internal", ".lan", "example.com", "example.org")
_SECONDS = 20.0


def links(text: str) -> list[str]:
    """Addresses in a Markdown page, code left out."""
    found = (one for groups in _LINK.findall(_CODE.sub("", text)) for one in groups if one)
    return [address.rstrip(".,;:") for address in found]


def wrong(address: str) -> str:
    """What is wrong with the form of an address that everybody shall be able to open; ""."""
    parts = urlsplit(address)
    if parts.scheme != "https":
        return "not https"
    if parts.username or parts.port:
        return "names a user or a port"
    if not _HOST.fullmatch(parts.hostname or "") or str(parts.hostname).endswith(_PRIVATE):
        return "no public host"
    if re.search(r"utm_|[?&](?:ref|source)=", address):
        return "follows its reader"
    return ""


def answer(address: str) -> str:
    """What a server says of an address; "" where it has it."""
    try:
        with urlopen(Request(address, headers={"User-Agent": "links"}), timeout=_SECONDS):
            return ""
    except (URLError, TimeoutError) as error:
        return str(error)


def main(ask: bool) -> int:
    """Print every link and what is wrong with it; 1 where something is."""
    pages: defaultdict[str, set[str]] = defaultdict(set)
    for page in PAGES:
        for address in links(page.read_text(encoding="utf-8")):
            pages[address].add(page.relative_to(ROOT).as_posix())
    bad = 0
    for address, names in sorted(pages.items()):
        problem = wrong(address) or (answer(address) if ask else "")
        bad += bool(problem)
        print(f"{address}  ({', '.join(sorted(names))}){'  WRONG: ' + problem if problem else ''}")
    print(f"{len(pages)} links, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main("--ask" in sys.argv[1:]))
