"""``tflm-hil campaign``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.base import numbers
from harness.base.code_identity import code_identity
from harness.base.errors import CheckFailed, UsageError
from harness.base.form import formatted
from harness.base.hints import NO_HINT, Hint
from harness.base.power_on import DEFAULT_SEED, ZERO_WORD, name_of, seed_of
from harness.case.subject import Subject
from harness.cli.options import (
    JsonOption,
    StudyOptions,
    command_line,
    given_options,
    json_option,
    model_option,
    named_limits,
    number_option,
    options_in,
    resolver_option,
    study_options,
)
from harness.cli.output import write_rows, write_text
from harness.cli.parameters import (
    EXISTING,
    FAULTS,
    IMAGE,
    OUTCOME,
    STDOUT,
    Destination,
    Name,
)
from harness.elf import Image, combined

if TYPE_CHECKING:
    from harness.model import Model
    from harness.studies import Study
    from harness.studies.campaign import CampaignSummary

#: Options about the results of many faults.
_OF_MANY = {"until_interval", "budgets", "store", "scheduler", "workers", "html"}


@dataclass(frozen=True, kw_only=True)
class CampaignOptions(StudyOptions, JsonOption):
    """The options of ``tflm-hil campaign``."""

    what: Subject
    model: str | None
    resolver: str | None
    inputs: Path | None
    faults: str | None
    count: int
    seed: int
    bits: int
    inference: int
    tolerance: float
    until_interval: float | None
    budgets: tuple[str, ...]
    power_on: str
    judge: bool
    replayed: int | None
    html: Path | None


@click.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@model_option
@resolver_option
@click.option("--inputs", type=EXISTING,
              help=".npy or .npz with one row per inference, sent through the console.  "
              "[default: those of the SAMPLE]")  # fmt: skip
@click.option("--faults", metavar="M[,M...]", type=FAULTS,
              help="Fault models: weights, activations, arena, ram, registers, skip, replace, "
              "reset.  [default: the first seven]")  # fmt: skip
@number_option("--count", check=numbers.count, default=1000, metavar="N",
               help="Number of faults, distributed over the fault models.")  # fmt: skip
@number_option("--seed", check=numbers.count_or_zero, default=1, metavar="N",
               help="Seed of the faults.")  # fmt: skip
@number_option("--bits", check=numbers.count, default=1, metavar="N",
               help="Adjacent bits flipped by a fault.")  # fmt: skip
@number_option("--inference", check=numbers.count_or_zero, default=0, metavar="N",
               help="Number of the inference, from 0.")  # fmt: skip
@number_option("--tolerance", check=numbers.tolerance, default=0.0, metavar="X",
               help="Change of a single output value that counts as the same decision. With "
               "several values the decision is the index of the largest.")  # fmt: skip
@number_option("--until-interval", check=numbers.tolerance, metavar="W",
               help="Stop when the 95 % interval of the critical rate is at most this "
               "wide.")  # fmt: skip
@click.option("--budget", "budgets", multiple=True, metavar="OUTCOME=RATE", type=OUTCOME,
              help="Exit code 1 unless the 95 % interval of the rate ends at or below RATE; "
              "repeatable.")  # fmt: skip
@click.option("--power-on", metavar="SEED", type=Name(lambda: [ZERO_WORD]),
              default=name_of(DEFAULT_SEED), show_default=True,
              help="Initial content of RAM and registers: a seed, or "
              f"{ZERO_WORD}.")  # fmt: skip
@click.option("--judge", is_flag=True,
              help="Continue each run with changed outputs to its end, and check it as `run` does; "
              "exit code 1 if one passes.")  # fmt: skip
@number_option("--replay", "replayed", check=numbers.count_or_zero, metavar="ID",
               help="Inject only this fault, and show its details.")  # fmt: skip
@study_options
@click.option("--html", type=Destination(), metavar="FILE",
              help="Write a page with tables and plots.")  # fmt: skip
@json_option("rates, groups and every fault's record")
@options_in(CampaignOptions)
def campaign(options: CampaignOptions) -> None:
    """Inject faults into one inference of ELF (or SAMPLE), and count their outcomes.

    The image runs on the simulator up to the inference, once; each fault starts from there.
    Compared with the fault-free run the outcome is masked (same outputs), tolerable (other outputs,
    same decision), critical (another decision), detected (an error status, a processor fault, an
    assertion, a reset, a message), or hang.

    \b
    tflm-hil campaign digits --count 10000 --html campaign.html
    tflm-hil campaign zephyr.elf --model model.tflite --faults weights --budget critical=0.01
    tflm-hil campaign digits --replay 17
    """
    from harness.case.inputs import load_inputs  # noqa: PLC0415
    from harness.case.plan import one_case  # noqa: PLC0415 - see cli/__init__
    from harness.case.samples import elf_of  # noqa: PLC0415
    from harness.elf.models import held_model  # noqa: PLC0415
    from harness.model import Model  # noqa: PLC0415
    from harness.studies.campaign import DEFAULT_MODELS, OUTCOMES, Options, study_of  # noqa: PLC0415

    if options.replayed is not None:
        _refuse_with_replay(click.get_current_context())
    form = f"OUTCOME=RATE, with {', '.join(OUTCOMES)} and a rate from 0 to 1"
    limits = named_limits(options.budgets, OUTCOMES, form, most=1)
    names = options.faults
    models = tuple(word.strip() for word in names.split(",")) if names else DEFAULT_MODELS
    keys = {"model": options.model, "resolver": options.resolver, "inputs": options.inputs}
    case = one_case(options.what, command_line(keys))
    if case.model is None:
        raise UsageError(
            "an image needs --model, to find the tensors in its memory",
            hint="--model FILE, the .tflite that it was built with",
        )
    model = Model.from_file(case.model)
    chosen = Options(options.seed, models, options.bits, options.inference,
                     options.tolerance, options.judge,
                     seed_of(options.power_on))  # fmt: skip
    number = options.replayed
    sample = (case.sample, case.resolver) if case.sample else None
    count = options.count if number is None else max(options.count, number + 1)
    rows = load_inputs(case.input_file, model) if case.input_file else ()
    image = _image(elf_of(case))
    held = held_model(image, model)
    if held.wrong:
        raise CheckFailed(held.text)
    study = study_of(image, model, chosen, count, sample, rows)
    if number is not None:
        _replay(study, model, number, options.json_file)
        return
    summary = _carry_out(study, options)
    _check_budgets(summary, limits)


def _refuse_with_replay(context: click.Context) -> None:
    """Raises :class:`UsageError` for options about many faults: --replay injects a single one."""
    for name, option in given_options(context).items():
        if name in _OF_MANY:
            raise UsageError(f"{option} cannot be used with --replay")


def _image(elf: Path) -> Image:
    """The image; raises :class:`UsageError` for several that are loaded together."""
    image = combined.read(elf)
    if image.composed:
        raise UsageError(
            f"{elf} holds several images, and a campaign runs one",
            hint="name the application's ELF",
        )
    return image


def _carry_out(study: Study, options: CampaignOptions) -> CampaignSummary:
    from harness.report.progress import StudyProgress  # noqa: PLC0415
    from harness.studies import ResultStore  # noqa: PLC0415
    from harness.studies.campaign import campaign as carry_out  # noqa: PLC0415

    with ResultStore(options.store, study) as store:
        with options.open_workers() as workers:
            summary, units = carry_out(
                study, store, workers, interval=options.until_interval, progress=StudyProgress()
            )
        write_rows(
            options.json_file,
            formatted(
                {
                    "seed": study.parameters["options"]["seed"],
                    "code": code_identity().to_json(),
                    **summary.to_json(),
                }
            ),
            "records",
            store.all_rows(units),
        )
    if options.html is not None:
        from harness.report.campaign import page  # noqa: PLC0415

        write_text(options.html, page(summary, study.parameters))
    if options.json_file != STDOUT:
        from harness.report.campaign import table  # noqa: PLC0415

        click.echo(table(summary))
    return summary


def _replay(study: Study, model: Model, number: int, json_file: Path | None) -> None:
    from harness.studies.campaign import replay_one  # noqa: PLC0415

    replayed = replay_one(study, model, number)
    write_text(json_file, json.dumps(replayed.to_json()))
    if json_file == STDOUT:
        return
    fault, result = replayed.result.fault, replayed.result
    click.echo(replayed.console.decode("utf-8", "backslashreplace"), nl=False)
    click.echo(f"\nfault {fault.id}: {fault.model}, {fault.when}")
    if fault.effect:
        click.echo(f"  {fault.effect}")
    click.echo(f"  {result.outcome}{f' ({result.detail})' if result.detail else ''}, "
               f"{result.changed} output values changed")  # fmt: skip
    if replayed.diverges:
        click.echo(f"  first layer that differs: {replayed.diverges}, {replayed.differing} bytes")
    click.echo("  last places: " + "\n               ".join(replayed.trace))
    if replayed.report:
        click.echo(replayed.report)


def _check_budgets(summary: CampaignSummary, limits: dict[str, float]) -> None:
    """Raises :class:`CheckFailed` if a rate is not shown to be within its budget."""
    problems, more_faults = [], not summary.passed
    if summary.passed:
        problems.append(f"{summary.passed:,} faults that change outputs pass all checks")
    for name, limit in limits.items():
        rate = summary.rate(name)
        low, high = rate.interval
        if high > limit:
            is_over = "is over" if low > limit else "is not shown to be within"
            figures = f"{rate.rate:.3%} ({low:.3%} to {high:.3%})"
            problems.append(f"{name}: {figures} {is_over} {limit:.3%}")
            more_faults &= rate.rate <= limit
    if problems:
        hint = Hint.LARGER_COUNT.told() if more_faults else NO_HINT
        raise CheckFailed("; ".join(problems), hint=hint)
