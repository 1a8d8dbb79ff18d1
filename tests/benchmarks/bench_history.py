"""400 nights of 110 cases: time to record them, to check each night, to write the site.

    python tests/benchmarks/bench_history.py [--nights 400] [--cases 110] [--url FILE|URL]

Prints seconds, and how many of 20 seeded regressions the gate found in their own night, and how
many alarms it raised in clean nights. With ``--results FILE`` the cases are those of a real run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import replay_nights as lab

from harness.history.regression import CaseKey, CaseOutcome, regressions
from harness.history.run import Occasion, from_document
from harness.history.store import History
from harness.report.history import write_site

LAST = 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nights", type=int, default=400)
    parser.add_argument("--cases", type=int, default=110)
    parser.add_argument("--results", type=Path, help="of `tflm-hil run --json`")
    parser.add_argument("--url")
    parser.add_argument("--site", type=Path, help="keep the site here")
    arguments = parser.parse_args()
    base = lab.cases(arguments.cases)
    if arguments.results:
        base = json.loads(arguments.results.read_text())["cases"]
    for row in base[::10]:
        row["cycles"] = row["cycles"] or 100_000
    folder = Path(tempfile.mkdtemp())
    try:
        known = measured(base)
        changes = lab.seeded_changes(known, min(20, len(known)), arguments.nights)
        url = arguments.url or str(folder / "lab.db")
        record(url, lab.nights(base, arguments.nights, changes))
        gate(url, changes)
        site(url, arguments.site or folder / "site")
        clean = str(folder / "clean.db")
        record(clean, lab.nights(base, arguments.nights // 2, seed=2))
        gate(clean, ())
    finally:
        shutil.rmtree(folder)


def measured(base: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in base if all(row[name] for name in lab.FIGURES)]


def record(url: str, documents: Iterable[dict[str, Any]]) -> None:
    started, count = time.perf_counter(), 0
    with History.open(url) as history:
        for document in documents:
            history.record(from_document(document, Occasion(0.0).updated_from(document)))
            count += 1
    print(f"recorded {count} nights in {time.perf_counter() - started:.1f} s", flush=True)


def gate(url: str, changes: tuple[lab.Change, ...]) -> None:
    started = time.perf_counter()
    with History.open(url) as history:
        runs = history.runs()
        cases = history.cases(runs)
    wanted = {(change.night, change.case) for change in changes}
    names = {case for _, case in wanted}
    found, false = set(), 0
    for night in range(1, len(runs)):
        now, before = window(cases, night)
        for one in regressions(now, before):
            if (night, one.key.case) in wanted:
                found.add((night, one.key.case))
            false += one.key.case not in names
    seconds = time.perf_counter() - started
    told = f"{len(found)} of {len(wanted)} seeded regressions in their own night"
    print(f"gate: {told}, {false} false alarms in {len(runs)} nights, {seconds:.1f} s", flush=True)


def window(cases: dict[CaseKey, list[Any]], night: int
           ) -> tuple[dict[CaseKey, CaseOutcome], dict[CaseKey, list[CaseOutcome]]]:  # fmt: skip
    return (
        {key: points[night].outcome for key, points in cases.items()},
        {key: [p.outcome for p in points[max(0, night - LAST) : night]]
         for key, points in cases.items()},
    )  # fmt: skip


def site(url: str, folder: Path) -> None:
    started = time.perf_counter()
    with History.open(url) as history:
        count = write_site(history, folder, commit_url="https://example.org/commit/{commit}")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"site: {count} pages, {size / 1e6:.1f} MB, {time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
