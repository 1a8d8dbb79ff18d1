"""Results as a self-contained HTML page; its script filters and sorts cases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness.case.columns import columns
from harness.case.result import CaseResult, Verdict
from harness.history.run import Occasion
from harness.report.coverage import Share, lines_run, profile
from harness.report.pages import asset, environment
from harness.report.problems import ValuePair, problem_lines, value_pairs
from harness.report.treemap import Box, of_image

if TYPE_CHECKING:
    from markupsafe import Markup

#: Line numbers in a problem: ``(console line 3)``, ``(2 times, console lines 3, 9)``.
_CONSOLE_LINES = re.compile(
    r"(?<=\bconsole line )\d{1,9}\b|(?<=\bconsole lines )\d{1,9}(?:, \d{1,9})*\b"
)
#: Number of lines shown from the beginning and the end of a long transcript.
_HEAD, _TAIL = 120, 60


@dataclass(frozen=True)
class Row:
    """A line of a transcript; ``noted`` if a finding refers to it.

    ``unread``: it has numbers that were compared with nothing. ``number`` counts from 1; it is 0
    for the line that replaces omitted ones.
    """

    text: str
    noted: bool = False
    number: int = 0
    unread: bool = False


@dataclass(frozen=True)
class Link:
    """A link to a file of a case, relative to the page."""

    text: str
    href: str


@dataclass(frozen=True)
class About:
    """The content of a page besides the results.

    ``folder`` is the folder of the page, for relative links. ``log`` is Robot's log; ``tests`` are
    the ids of tests in it, by index of the result, from 0.
    """

    run: Occasion | None = None
    folder: Path | None = None
    log: str = ""
    tests: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CaseSection:
    """The section of a case."""

    index: int
    result: CaseResult
    problems: Sequence[str]
    transcript: Sequence[Row]
    profile: Sequence[Share] = ()
    operators: Sequence[Share] = ()
    links: Sequence[Link] = ()
    treemap: Sequence[Box] = ()
    profiled: Sequence[Share] = ()
    pairs: Sequence[ValuePair] = ()
    details: str = ""  # without the lines of ``pairs``

    def linked(self, problem: str) -> Markup:
        """A problem as HTML, with its console line numbers as links to these lines."""
        from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2, see pages.py

        shown = {row.number for row in self.transcript}

        def link(number: re.Match[str]) -> str:
            if int(number[0]) not in shown:
                return number[0]
            return f'<a href="#case-{self.index}-line-{number[0]}">{number[0]}</a>'

        text = Markup.escape(problem)
        return Markup(_CONSOLE_LINES.sub(lambda lines: re.sub(r"\d+", link, lines[0]), str(text)))


def html(results: Sequence[CaseResult], about: About | None = None) -> str:
    """The page: a summary, a table, and a section for each case, failures first."""
    about = about or About()
    template = environment(lines_run=lines_run).get_template("run.html")
    counts = {verdict.value: 0 for verdict in Verdict}
    for result in results:
        counts[result.judgement.verdict.value] += 1
    sections = [_section(index, result, about) for index, result in enumerate(results, 1)]
    page: str = template.render(
        sections=sections,
        failed=[section for section in sections if not section.result.passed],
        passed=[section for section in sections if section.result.passed],
        counts=counts,
        columns=columns(results),
        builders=sorted({result.setup.builder for result in results}),
        places=sorted({result.setup.place for result in results}),
        run=about.run,
        log=quote(about.log),
        wall=sum(result.measures.wall_seconds for result in results),
        compilers=sorted({result.setup.compiler for result in results if result.setup.compiler}),
        style=asset("style.css"),
        script=asset("table.js"),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        largest=max((r.measures.flash for r in results if r.measures.flash), default=1) or 1,
    )
    return page


def _section(index: int, result: CaseResult, about: About) -> CaseSection:
    pairs, details = value_pairs(result.evidence.details)
    return CaseSection(
        index,
        result,
        problem_lines(result),
        _transcript(result),
        _profile(result),
        _operators(result),
        tuple(_links(result, about, about.tests.get(index - 1, ""))),
        _treemap(result),
        _profiled(result),
        pairs,
        details,
    )


def _treemap(result: CaseResult) -> tuple[Box, ...]:
    """The treemap of the image, if its file is unchanged."""
    elf, sha256 = result.setup.elf, result.setup.elf_sha256
    return of_image(elf, sha256) if elf is not None and sha256 else ()


def _profile(result: CaseResult) -> tuple[Share, ...]:
    return profile(result.evidence.coverage) if result.evidence.coverage else ()


def _operators(result: CaseResult) -> tuple[Share, ...]:
    return _shares([(row.operator, row.ticks) for row in result.measures.operators])


def _profiled(result: CaseResult) -> tuple[Share, ...]:
    return _shares([(row.group, row.instructions) for row in result.measures.profiled])


def _shares(counts: Sequence[tuple[str, int]]) -> tuple[Share, ...]:
    total = sum(count for _, count in counts) or 1
    return tuple(Share(name, count, count / total) for name, count in counts)


def _links(result: CaseResult, about: About, test: str) -> Iterator[Link]:
    """Links to the files of a case, if the page's folder is known, and to its test in the log."""
    if about.folder is not None and result.evidence.console is not None:
        names = ["console.bin", "transcript.txt", "result.json"]
        if result.evidence.coverage is not None:
            names.append("coverage.info")
        for name in names:
            path = os.path.relpath(result.evidence.console.with_name(name), about.folder)
            yield Link(name, quote(PurePath(path).as_posix()))
    if about.log and test:
        yield Link("Robot's log", f"{quote(about.log)}#{quote(test)}")


def _transcript(result: CaseResult) -> list[Row]:
    """The time-stamped console of a case, without the middle of a long one."""
    console = result.evidence.console
    if console is None:
        return []
    text = console.with_name("transcript.txt").read_text("utf-8", "backslashreplace")
    noted = {finding.line for finding in result.evidence.findings}
    lines = text.removesuffix("\n").split("\n") if text else []
    read = result.evidence.read
    unread = {one.line for one in read.unread} if read is not None else set()
    rows = [
        Row(line, number in noted, number, number in unread) for number, line in enumerate(lines, 1)
    ]
    if len(rows) <= _HEAD + _TAIL + 1:
        return rows
    left_out = rows[_HEAD:-_TAIL]
    gap = [Row(f"... {len(left_out):,} lines omitted, see transcript.txt ...")]
    return [*rows[:_HEAD], *gap, *(row for row in left_out if row.noted), *rows[-_TAIL:]]
