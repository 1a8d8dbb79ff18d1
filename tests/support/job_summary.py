"""JUnit files below a folder as one Markdown table, for a job's summary.

``python job_summary.py TITLE FOLDER``. A broken file is a row that says so.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as Tree
from collections.abc import Iterator
from pathlib import Path

_FAILURES_SHOWN = 20


def rows(folder: Path) -> Iterator[tuple[str, list[Tree.Element]]]:
    """Each JUnit file's name below ``folder`` with its test cases; none for a broken one."""
    for path in sorted(folder.rglob("*.xml")):
        try:
            root = Tree.parse(path).getroot()
        except Tree.ParseError:
            yield str(path.relative_to(folder)), []
            continue
        if root.tag in ("testsuite", "testsuites"):
            yield str(path.relative_to(folder)), list(root.iter("testcase"))


def failed(case: Tree.Element) -> bool:
    """Whether a test case failed or broke."""
    return case.find("failure") is not None or case.find("error") is not None


def summary(title: str, folder: Path) -> str:
    """The Markdown text."""
    lines = [f"## {title}", "", "| results | passed | failed | skipped |", "|---|---|---|---|"]
    names: list[str] = []
    results = list(rows(folder))
    for name, cases in results:
        bad = [case for case in cases if failed(case)]
        skipped = sum(case.find("skipped") is not None for case in cases)
        passed = len(cases) - len(bad) - skipped
        counts = f"{passed} | {len(bad)} | {skipped}" if cases else "no result | |"
        lines.append(f"| {name} | {counts} |")
        names += [f"* {name}: {case.get('name', '?')}" for case in bad]
    if not results:
        lines.append("| none: no job wrote a result | | | |")
    if names:
        lines += ["", "Failed:", "", *names[:_FAILURES_SHOWN]]
    if len(names) > _FAILURES_SHOWN:
        lines.append(f"* and {len(names) - _FAILURES_SHOWN} more")
    return "\n".join(lines)


if __name__ == "__main__":
    print(summary(sys.argv[1], Path(sys.argv[2])))
