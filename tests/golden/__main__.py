"""Before and after a change: the golden corpus.

``python tests/golden BASE [HEAD]`` runs the same command lines, some 680, in two commits and names
each difference: in exit codes, in what is printed, in each field of each JSON document. HEAD is by
default the commit of the working tree. No expected results are stored: both commits are run.

Each commit has a folder of its own in ``--folder`` (default build/golden; worktrees may share one):
a checkout, an environment with the package of that commit, a build cache, and the results. They are
kept: a second comparison runs the new commit only, and what is new in the corpus. If BASE and HEAD
are one commit, it is run again, which shows what varies from run to run.

The corpus (``--list``):

* standalone, standalone-ns: every sample in every configuration that the Robot suites run
* examples: with their case files
* captures: images that print a console of tests/data/transcripts, run by a case, read by `init`
* strangers: images that print as other people's firmware does (consoles/*.toml), the same way
* spoilt: each of these cut off, without a line, with another value, twice, with control characters
* wrong: calls and case files with mistakes

Case files and rows of samples are those of one old commit (FROZEN in entries.py). What varies from
run to run is left out of the comparison: compare.py has a table of it, with reasons.

Exit code 0: no difference; 1: differences; 2: usage, or something that is needed is missing.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path

from compare import differences, report
from entries import BUILD, ROOT, CannotCompare, Entry, corpus
from sides import Result, prepare


def main() -> int:
    """Compare; the exit code."""
    options = _options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        base, head = (_commit(name or "HEAD") for name in (options.base, options.head))
        entries = [one for one in corpus() if fnmatch(one.name, options.only)]
        if not entries:
            raise CannotCompare(f"no entry matches {options.only!r} (--list shows all)")
        if not options.list:
            return _compare(entries, base, head, options)
        print(*(one.name for one in entries), sep="\n")
    except (CannotCompare, FileNotFoundError, subprocess.CalledProcessError) as error:
        _say(f"golden: {error}")
        return 2
    except KeyboardInterrupt:
        _say("golden: interrupted; results so far are kept")
        return 130
    return 0


def _compare(entries: Sequence[Entry], base: str, head: str, options: argparse.Namespace) -> int:
    if options.head == "HEAD" and _git("status", "--porcelain", "--untracked-files=no"):
        _say("the working tree has changes that are not committed: they are not compared")
    options.folder.mkdir(parents=True, exist_ok=True)
    with (options.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = _run(entries, base, options)
        after = _run(entries, head, options, again=base == head)
    found = [
        one
        for entry, old, new in zip(entries, before, after, strict=True)
        for one in differences(entry.name, old, new)
    ]
    for text in report(found, everything=options.all):
        print(text)
    changed = len({one.entry for one in found})
    print(
        f"{len(entries)} entries, {changed} differ in {len(found)} fields: {base[:8]} -> {head[:8]}"
    )
    return 1 if found else 0


def _run(
    entries: Sequence[Entry], sha: str, options: argparse.Namespace, *, again: bool = False
) -> list[Result]:
    """The results of a commit, and on standard error what they took."""
    _say(f"{sha[:8]}: in {options.folder / sha}")
    side = prepare(sha, options.folder.resolve())
    results: list[Result] = []
    pairs = zip(entries, side.results(entries, options.jobs, again=again), strict=True)
    for part, group in groupby(pairs, key=lambda pair: pair[0].part):
        found = [result for _, result in group]
        seconds = sum(result.cpu_seconds for result in found)
        _say(f"{sha[:8]}: {part}: {len(found)} entries, {seconds:.0f} s of processor time")
        results += found
    return results


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _commit(name: str) -> str:
    try:
        return _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except subprocess.CalledProcessError:
        raise CannotCompare(f"{name!r} is not a commit of this repository") from None


def _git(*words: str) -> str:
    command = ["git", "-C", ROOT, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _options() -> argparse.Namespace:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("golden", description=__doc__, formatter_class=form)
    parser.add_argument("base", nargs="?", metavar="BASE", help="a commit, unless --list is given")
    parser.add_argument("head", nargs="?", metavar="HEAD", default="HEAD", help="a commit [HEAD]")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="entries, such as 'wrong/*'")
    parser.add_argument("--list", action="store_true", help="show the names of the entries")
    parser.add_argument("--all", action="store_true", help="show each difference of each field")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--folder", type=Path, default=BUILD, help="where checkouts are kept")
    options = parser.parse_args()
    if options.base is None and not options.list:
        parser.error("BASE is missing: the commit to compare with")
    return options


if __name__ == "__main__":
    sys.exit(main())
