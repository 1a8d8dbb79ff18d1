"""A campaign as a study: its parameters and blobs, and the worker's side."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.base.power_on import DEFAULT_SEED
from harness.elf import Image
from harness.model import Model
from harness.simulator import Machine
from harness.simulator.snapshot import load, save
from harness.studies.campaign.baseline import Baseline, record_baseline
from harness.studies.campaign.faults import DEFAULT_MODELS, InjectedFault, check_models, draw
from harness.studies.campaign.feeding import Inputs
from harness.studies.campaign.inject import Injector
from harness.studies.campaign.replay import Replay, replay
from harness.studies.campaign.summary import CampaignSummary
from harness.studies.campaign.verdicts import Judge
from harness.studies.dispatch import Progress, carry_out
from harness.studies.store import ResultStore
from harness.studies.study import Perform, Study, WorkUnit
from harness.studies.workers import Workers

#: Instructions of a unit: about half a second of work, so that a lost unit costs little.
_UNIT_INSTRUCTIONS = 40_000_000
#: Instructions that take as long as restoring a snapshot.
_RESTORE = 20_000
#: Faults in a unit.
_MOST_ITEMS = 500


@dataclass(frozen=True)
class Options:
    """Options that determine faults and outcomes, besides image and model."""

    seed: int = 1
    models: tuple[str, ...] = DEFAULT_MODELS
    bits: int = 1
    inference: int = 0
    tolerance: float = 0.0
    judge: bool = False  # judge the whole run of every fault that changes outputs
    power_on: int = DEFAULT_SEED  # seed of RAM and registers at power-on


@contextmanager
def opened(parameters: Any, blobs: Mapping[str, bytes]) -> Iterator[Injector]:
    """Open the injector of a campaign, in the state before the inference."""
    baseline = Baseline.from_json(parameters["baseline"])
    firmware = Image(Path(parameters["image"]), blobs["elf"])
    seed = parameters["options"]["power_on"]
    made = Machine(firmware, power_on=seed)
    with closing(made) as machine, tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "snapshot"
        file.write_bytes(blobs["snapshot"])
        snapshot, inputs = load(machine, file), inputs_of(parameters)
        yield Injector(machine, baseline, snapshot, inputs, parameters["options"]["tolerance"])


def inputs_of(parameters: Any) -> list[list[bytes]]:
    """The input tensors that the host sends in a campaign, one row per inference."""
    return [[bytes.fromhex(tensor) for tensor in row] for row in parameters["inputs"]]


def fault_of(parameters: Any, baseline: Baseline, number: int) -> InjectedFault:
    """Draw fault ``number`` of a campaign."""
    options = parameters["options"]
    return draw(baseline, options["seed"], number, options["models"], options["bits"])


@contextmanager
def _performing(parameters: Any, blobs: Mapping[str, bytes]) -> Iterator[Perform]:
    """Open the campaign in a worker: yield the function that returns a unit's records."""
    with opened(parameters, blobs) as injector:
        judged = parameters["options"]["judge"]
        judge = Judge(injector, parameters["case"], blobs) if judged else None

        def perform(unit: WorkUnit) -> Sequence[Any]:
            numbers = range(unit.first, unit.first + unit.count)
            faults = (fault_of(parameters, injector.baseline, number) for number in numbers)
            results = (injector.run(fault) for fault in faults)
            return [(judge(one) if judge and one.changed else one).to_json() for one in results]

        yield perform


def replay_one(study: Study, model: Model, number: int) -> Replay:
    """Replay fault ``number`` of ``study``."""
    with opened(study.parameters, study.blobs) as injector:
        return replay(injector, model, fault_of(study.parameters, injector.baseline, number))


def study_of(
    firmware: Image,
    model: Model,
    options: Options,
    faults: int,
    case: tuple[str, str] | None = None,
    inputs: Inputs = (),
) -> Study:
    """The study of ``faults`` faults in one inference of ``firmware``.

    The inference is run once without a fault. For :attr:`Options.judge` ``case`` is the sample and
    the configuration of a sample's image; ``inputs`` are rows for an image that is fed. Raises the
    errors of :func:`~harness.studies.campaign.baseline.record_baseline`, and :class:`UsageError`
    for a fault model that is unknown or has no sites in the image.
    """
    check_models(options.models)
    if options.judge and inputs:
        raise UsageError(
            "--judge is not for an image that is fed",
            hint="choose a configuration with inputs of its own",
        )
    inputs = inputs[: options.inference + 1]
    made = Machine(firmware, power_on=options.power_on)
    with closing(made) as machine, tempfile.TemporaryDirectory() as folder:
        baseline, snapshot = record_baseline(machine, model, options.inference, inputs)
        file = Path(folder) / "snapshot"
        save(machine, snapshot, file)
        blobs = {"elf": firmware.data, "snapshot": file.read_bytes()}
    for number in range(len(options.models)):
        draw(baseline, options.seed, number, options.models, options.bits)
    parameters: dict[str, Any] = {
        "image": Path(firmware.path).name,
        "case": {"sample": case, "model": model.name},
        "baseline": baseline.to_json(),
        "inputs": [[tensor.hex() for tensor in row] for row in inputs],
        "options": {**asdict(options), "models": list(options.models)},
    }
    if options.judge:
        blobs["model"] = model.data
        with opened(parameters, blobs) as injector:
            Judge(injector, parameters["case"], blobs).check_baseline()
    each = max(1, min(_MOST_ITEMS, _UNIT_INSTRUCTIONS // (baseline.length + _RESTORE)))
    return Study(_performing, parameters, blobs, faults, each)


def campaign(
    study: Study,
    store: ResultStore,
    workers: Workers,
    *,
    interval: float | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
) -> tuple[CampaignSummary, int]:
    """Carry out a campaign; return its summary, and the number of units in it.

    With ``interval`` it stops after the first unit at which the confidence interval of the critical
    rate is not wider than that.
    """
    summary = CampaignSummary(Baseline.from_json(study.parameters["baseline"]))

    def consume(rows: Sequence[Any]) -> bool:
        for row in rows:
            summary.add(row)
        low, high = summary.rate("critical").interval
        return interval is not None and high - low <= interval

    units = carry_out(study, store, workers, consume=consume, progress=progress)
    return summary, units
