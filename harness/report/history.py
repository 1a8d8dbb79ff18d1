"""A history as a folder of HTML pages that need neither a network nor a server.

``index.html`` has a row for each case with its verdicts run by run; with several labs each has such
a page, too. Each case has a page with its figures over commits, the commits at which they changed,
and the symbols that changed there.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from harness.base import files
from harness.base.errors import CannotWrite, UsageError
from harness.base.secrets import redacted
from harness.history.measures import OPERATOR, PROFILED
from harness.history.regression import CaseKey
from harness.history.store import History, RecordedCase, RunRow
from harness.history.trend import Trend, sparkline, trends
from harness.report import plots
from harness.report.pages import asset, csv_text, environment, figure

#: Largest numbers of rows on a case's page: changes, passed runs, symbols of a change.
_STEPS, _RUNS, _SYMBOLS = 60, 30, 20
#: Number of results in memory at once.
_AT_ONCE = 10_000
#: Figures in stacked plots: prefix of their names -> title of the plot.
_STACKED_NAMES = {
    OPERATOR: "operators of one inference",
    PROFILED: "instructions from boot to end, by operator",
}
_STACKED = tuple(_STACKED_NAMES)
_LETTERS = {
    "pass": "p", "fail": "f", "flaky": "k", "firmware": "w", "usage": "u", "error": "e",
    "skipped": "s",
}  # fmt: skip


@dataclass(frozen=True)
class RunFacts:
    """The facts of a run in the pages; ``url`` is that of its commit, "" if unknown."""

    when: str
    commit: str
    branch: str
    machine: str
    command: str
    url: str


@dataclass(frozen=True)
class SymbolChange:
    """A symbol whose size changed ``by`` a number of bytes."""

    region: str
    name: str
    by: int


@dataclass(frozen=True)
class FigureChange:
    """A change of a figure in a run; ``parts`` are symbols whose sizes changed in the image."""

    case: str
    page: str
    run: RunFacts
    name: str
    source: str
    unit: str
    before: float
    now: float
    parts: Sequence[SymbolChange] = ()
    same: bool = False  # whether the image is unchanged

    @property
    def percent(self) -> float:
        """The absolute change in per cent."""
        return 100 * abs(self.now - self.before) / abs(self.before) if self.before else math.inf

    @property
    def change(self) -> str:
        """The difference with its sign, also in per cent."""
        by = self.now - self.before
        share = f" ({100 * by / self.before:+.1f} %)" if self.before else ""
        return f"{'+' if by > 0 else '-'}{figure(abs(by))}{share}"


def write_site(history: History, folder: Path, *, commit_url: str = "", branch: str | None = None,
               last: int | None = None, recent: int = 7, threshold: float = 0.1
               ) -> int:  # fmt: skip
    """Writes the pages into ``folder``, which may exist; returns the number of cases.

    ``commit_url`` is a URL with ``{commit}``. The overview lists changes of at least ``threshold``
    per cent in the ``recent`` newest runs. Raises :class:`UsageError` for an invalid URL, and
    :class:`CannotWrite` if a file cannot be written.
    """
    if commit_url:
        _check_url(commit_url)
    runs = history.runs(branch=branch, last=last)
    site = _Site(history, folder, redacted(commit_url), runs)
    site.write_assets()
    newest = {run.id for run in runs[-recent:]}
    overviews = _overviews(runs)
    changes: list[FigureChange] = []
    count = 0
    for key, points in _each_case(history, runs):
        count += 1
        changes += site.write_case(key, points, newest)
        for overview in overviews:
            overview.add(key, points)
    for overview in overviews:
        site.write_overview(overview, overviews, changes, recent, threshold)
    return count


@dataclass(frozen=True)
class Overview:
    """A page with a row for each case of all labs, or of the machine ``lab``."""

    lab: str
    page: str
    runs: Sequence[RunRow]
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, key: CaseKey, points: Sequence[RecordedCase]) -> None:
        """Adds the row of a case, if it belongs to this page."""
        if self.lab in ("", key.machine):
            order = {run.id: index for index, run in enumerate(self.runs)}
            self.rows.append(_row(key, points, order))


def _overviews(runs: Sequence[RunRow]) -> list[Overview]:
    """The overview of all runs and, with several labs, one for each."""
    labs = sorted({run.occasion.machine for run in runs})
    return [
        Overview("", "index.html", runs),
        *(
            Overview(lab, _lab_page(lab), [run for run in runs if run.occasion.machine == lab])
            for lab in (labs if len(labs) > 1 else ())
        ),
    ]


def _each_case(
    history: History, runs: Sequence[RunRow]
) -> Iterator[tuple[CaseKey, Sequence[RecordedCase]]]:
    """Each case with its results, read in batches."""
    names = history.case_names(runs)
    at_once = max(1, _AT_ONCE // max(len(runs), 1))
    for start in range(0, len(names), at_once):
        yield from history.cases(runs, names[start : start + at_once]).items()


def _check_url(template: str) -> None:
    parts = urlsplit(template)
    if parts.scheme not in ("http", "https") or "{commit}" not in template:
        raise UsageError(
            f"{template} is not a link to a commit",
            hint="--commit-url 'https://host/project/commit/{commit}'",
        )


class _Site:
    """Writes the pages of ``runs`` into ``folder``."""

    def __init__(
        self, history: History, folder: Path, commit_url: str, runs: Sequence[RunRow]
    ) -> None:
        from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

        self._history, self._folder, self._runs = history, folder, runs
        self._facts = {run.id: _facts(run, commit_url) for run in runs}
        self._plotly = plots.library()
        self._environment = environment(sparkline=sparkline)

        def commit(run: RunFacts) -> str:
            if not run.commit:
                return "unknown commit"
            short = run.commit[:12] + ("+" if run.commit.endswith("+") else "")
            if not run.url:
                return Markup("<code>{}</code>").format(short)
            return Markup('<a href="{}"><code>{}</code></a>').format(run.url, short)

        self._environment.globals["commit"] = commit

    def write_assets(self) -> None:
        try:
            (self._folder / "cases").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CannotWrite(f"cannot write to {self._folder}: {error.strerror}") from error
        for name in ("style.css", "table.js", "overview.js"):
            files.write(self._folder / name, asset(name))
        if self._plotly:
            files.write(self._folder / "case.js", asset("case.js"))
            files.write(self._folder / "plotly.min.js", self._plotly)

    def write_case(
        self, key: CaseKey, points: Sequence[RecordedCase], recent: Collection[int]
    ) -> list[FigureChange]:
        """Writes the page of a case; returns the changes in the ``recent`` runs."""
        figures = trends(points)
        steps = [
            (step.at, trend, step.before, step.now)
            for trend in figures if not trend.name.startswith(_STACKED)
            for step in trend.steps
        ]  # fmt: skip
        steps.sort(key=lambda step: -step[0])
        page = page_name(key)
        shown = [self._change(key, points, *step) for step in steps[:_STEPS]]
        runs = [self._facts[point.run.id] for point in points]
        rows = [
            {"run": run, "verdict": point.outcome.verdict, "reason": point.outcome.reason}
            for run, point in zip(runs, points, strict=True)
        ]
        drawn = _plots(figures) if self._plotly else []
        text = self._environment.get_template("history_case.html").render(
            key=key,
            points=points,
            last=points[-1].outcome,
            steps=shown,
            more_steps=len(steps) - len(shown),
            figures=drawn,
            trends=figures,
            csv="" if self._plotly else _csv(runs, figures),
            csv_name=Path(page).stem,
            shown=[
                row for index, row in reversed([*enumerate(rows)])
                if index >= len(rows) - _RUNS or row["verdict"] != "pass"
            ],
            data={"runs": [vars(run) for run in runs], "figures": drawn},
        )  # fmt: skip
        files.write(self._folder / page, text)
        latest = [step for step in steps if points[step[0]].run.id in recent]
        return [self._change(key, points, *step, with_parts=False) for step in latest]

    def _change(self, key: CaseKey, points: Sequence[RecordedCase], index: int, trend: Trend,
                before: float, now: float, *, with_parts: bool = True
                ) -> FigureChange:  # fmt: skip
        earlier = max(i for i in range(index) if trend.values[i] is not None)
        old, new = points[earlier].image, points[index].image
        return FigureChange(
            key.case, page_name(key), self._facts[points[index].run.id], trend.name, trend.source,
            trend.unit, before, now, self._changed(old, new) if with_parts else (),
            same=old is not None and old == new,
        )  # fmt: skip

    def _changed(self, old: int | None, new: int | None) -> list[SymbolChange]:
        """The symbols whose sizes differ between two images, largest difference first."""
        if old is None or new is None or old == new:
            return []
        before, now = (self._history.parts(image, "symbol") for image in (old, new))
        if not before or not now:
            return []
        changed = [
            SymbolChange(*name, by)
            for name in before.keys() | now.keys()
            if (by := now.get(name, 0) - before.get(name, 0))
        ]
        return sorted(changed, key=lambda part: (-abs(part.by), part.name))[:_SYMBOLS]

    def write_overview(
        self,
        overview: Overview,
        overviews: Sequence[Overview],
        changes: Sequence[FigureChange],
        recent: int,
        threshold: float,
    ) -> None:
        own = [change for change in changes if overview.lab in ("", change.run.machine)]
        large = [change for change in own if change.percent >= threshold]
        runs = [self._facts[run.id] for run in overview.runs]
        rows = sorted(overview.rows, key=lambda row: str(row["key"]))
        text = self._environment.get_template("overview.html").render(
            lab=overview.lab,
            pages=[(each.lab, each.page) for each in overviews],
            rows=rows,
            passed=sum(row["verdict"] == "pass" for row in rows),
            runs=runs,
            newest=runs[-1] if runs else None,
            changes=sorted(large, key=lambda one: (-one.percent, one.case, one.name)),
            recent=min(recent, len(runs)),
            smaller=len(own) - len(large),
            threshold=threshold,
            labs=not overview.lab and len(overviews) > 1,
            strip=[[run.when, run.commit] for run in runs],
            written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        )
        files.write(self._folder / overview.page, text)


def page_name(key: CaseKey) -> str:
    """The path of a case's page: readable, valid in any file system, unique for each key."""
    return f"cases/{_file_name(f'{key.case}-{key.target}', repr(key))}.html"


def _lab_page(lab: str) -> str:
    return f"lab-{_file_name(lab, lab)}.html"


def _file_name(text: str, key: str) -> str:
    """``text`` as a part of a file name, with a hash of ``key`` that makes it unique."""
    readable = re.sub(r"[^\w.-]+", "_", text, flags=re.ASCII)[:80].strip("._")
    unique = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()[:8]
    return f"{readable}-{unique}"


def _facts(run: RunRow, commit_url: str) -> RunFacts:
    occasion = run.occasion
    when = datetime.fromtimestamp(occasion.started, UTC).strftime("%Y-%m-%d %H:%M")
    commit = occasion.commit.removesuffix("+")
    url = commit_url.replace("{commit}", quote(commit, safe="")) if commit and commit_url else ""
    return RunFacts(when, occasion.commit, occasion.branch, occasion.machine, occasion.command, url)


def _row(key: CaseKey, points: Sequence[RecordedCase], order: Mapping[int, int]) -> dict[str, Any]:
    verdicts = [""] * len(order)
    for point in points:
        verdicts[order[point.run.id]] = point.outcome.verdict
    stretches, start = [], 0
    for verdict, group in groupby(verdicts):
        length = len(list(group))
        if verdict:
            stretches.append({"verdict": verdict, "start": start, "length": length})
        start += length
    passed = verdicts.count("pass")
    return {
        "key": key,
        "page": page_name(key),
        "verdict": points[-1].outcome.verdict,
        "letters": "".join(_LETTERS.get(verdict, " ") for verdict in verdicts),
        "stretches": stretches,
        "said": f"passed in {passed} of {len(points)} runs",
    }


def _csv(runs: Sequence[RunFacts], figures: Sequence[Trend]) -> str:
    """The figures of a case as CSV, a line for each run."""
    return csv_text(
        [
            {"when": run.when, "commit": run.commit, "branch": run.branch,
             **{f"{trend.name} ({trend.source})": trend.values[at] for trend in figures}}
            for at, run in enumerate(runs)
        ]
    )  # fmt: skip


def _plots(figures: Sequence[Trend]) -> list[dict[str, Any]]:
    """The data of the plots: one for each figure, and a stack of all operators by source."""
    drawn: list[dict[str, Any]] = []
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for trend in figures:
        if trend.name.startswith(_STACKED):
            kind = OPERATOR if trend.name.startswith(OPERATOR) else PROFILED
            part = {"name": trend.name.removeprefix(kind), "values": trend.values}
            parts.setdefault((kind, trend.source), []).append(part)
            continue
        drawn.append(
            {"name": trend.name.replace("_", " "), "source": trend.source, "unit": trend.unit,
             "values": trend.values, "noisy": trend.noisy, "last": trend.last,
             "steps": [step.at for step in trend.steps]}
        )  # fmt: skip
    for (kind, source), rows in parts.items():
        rows.sort(key=lambda row: -max(value or 0 for value in row["values"]))
        unit = "cycles" if source == "dwt" else "instructions"
        drawn.append({"name": _STACKED_NAMES[kind], "source": source, "unit": unit,
                      "parts": rows, "last": None})  # fmt: skip
    return drawn
