"""Injections a second, what store and transport cost, and what a second worker brings.

Three ways of the same faults, of each the CPU seconds of all processes and the wall seconds: a bare
loop over the injector, a campaign in this process with its store, a campaign on two workers. CPU
seconds travel between loaded machines; what the second worker brings in wall time is told against
two bare loops at once, which share whatever else the machine does.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from harness.base.errors import EnvironmentMissing
from harness.build.builders import build_one
from harness.case.samples import sample_case
from harness.elf import Image
from harness.model import Model
from harness.studies import ResultStore, Study, open_workers
from harness.studies.campaign import Options, campaign, study_of
from harness.studies.campaign.study import fault_of, opened

#: Sample, faults of a run, and injections a second that two cores should reach.
SAMPLES = (("hello_world", 6_000, 1_000), ("digits", 600, 100))


@dataclass(frozen=True)
class Took:
    """Seconds of all processes, and on the wall."""

    cpu: float
    wall: float


def cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    own, children = getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def took(work: Callable[[], object]) -> Took:
    """What ``work`` takes."""
    before, started = cpu(), time.monotonic()
    work()
    return Took(cpu() - before, time.monotonic() - started)


def bare(study: Study, first: int, last: int) -> None:
    """The same injections without units, store or transport."""
    with opened(study.parameters, study.blobs) as injector:
        for number in range(first, last):
            injector.run(fault_of(study.parameters, injector.baseline, number))


def two_bare(study: Study) -> None:
    """Half of them in each of two processes."""
    half = study.items // 2
    context = get_context("spawn")
    both = [
        context.Process(target=bare, args=(study, *part))
        for part in ((0, half), (half, study.items))
    ]
    for one in both:
        one.start()
    for one in both:
        one.join()


def whole(study: Study, workers: int) -> None:
    """The campaign as a user runs it, with a store on disk."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ResultStore(Path(folder) / "store.sqlite", study) as store,
        open_workers(workers) as hands,
    ):
        campaign(study, store, hands)


def study_of_sample(sample: str, faults: int) -> Study:
    """The campaign of a sample with the default fault models."""
    model = sample_case(sample, "exact").model
    assert model is not None
    firmware = Image.from_elf(build_one(sample, "exact"))
    return study_of(firmware, Model.from_file(model), Options(), faults)


def tell(sample: str, faults: int, wanted: int) -> None:
    """Measure one sample and print what came of it."""
    study = study_of_sample(sample, faults)
    alone = took(lambda: bare(study, 0, faults))
    stored = took(lambda: whole(study, 1))
    two_alone = took(lambda: two_bare(study))
    two = took(lambda: whole(study, 2))
    rate = 2 * faults / alone.cpu
    print(f"{sample}: {rate / 2:,.0f} injections a CPU second in a bare loop, so {rate:,.0f} on "
          f"two cores ({rate / wanted:.1f} x the {wanted:,} wanted)")  # fmt: skip
    print(f"  with units and store, one process: {stored.cpu / alone.cpu - 1:+.1%} CPU")
    print(f"  on two workers: {two.cpu / two_alone.cpu - 1:+.1%} CPU and "
          f"{two.wall / two_alone.wall - 1:+.1%} wall against two bare loops at once; "
          f"{alone.wall / two.wall:.2f} x as fast as one bare loop")  # fmt: skip


def main() -> int:
    for one in SAMPLES:
        try:
            tell(*one)
        except EnvironmentMissing as missing:
            print(missing, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
