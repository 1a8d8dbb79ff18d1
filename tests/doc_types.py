"""mypy --strict over the Python examples of the pages, as in a user's script.

The examples of a page are one module, build/doc_types/page_NAME.py, at the page's own line numbers.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = ROOT / "build" / "doc_types"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")


def module(page: str) -> str:
    """The examples of a page; its other lines, and outputs in a doctest, are empty."""
    lines = [""] * (page.count("\n") + 1)
    for block in _BLOCK.finditer(page):
        first = page.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        if any(line.startswith(">>> ") for line in code):
            code = [_PROMPT.sub("", line, count=1) if _PROMPT.match(line) else "" for line in code]
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def main() -> int:
    """Check all pages; the exit code of mypy, or 1 if no page has an example."""
    MODULES.mkdir(parents=True, exist_ok=True)
    files = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if _BLOCK.search(text):
            name = page.relative_to(ROOT).with_suffix("").as_posix().replace("/", "_")
            file = MODULES / f"page_{name.replace('-', '_')}.py"
            file.write_text(module(text), encoding="utf-8")
            files.append(str(file))
    print(f"{len(files)} pages with examples in Python")
    if not files:
        return 1
    command = [sys.executable, "-m", "mypy", "--strict", *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
