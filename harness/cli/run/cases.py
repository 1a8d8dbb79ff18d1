"""Converts the arguments of ``tflm-hil run`` to cases."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from harness.base import logs
from harness.base.errors import BuildFailed, UsageError
from harness.build.builders import build_all
from harness.build.configurations import load
from harness.case import Case
from harness.case.case import check_ends, kit_of, on_targets, target_names
from harness.case.samples import sample_case
from harness.case.subject import Subject, find_model
from harness.cli.output import on_stderr
from harness.cli.parameters import ALL
from harness.history.selection import Selection
from harness.targets.pins import parse_press
from harness.targets.registry import Ability, all_options, target, who_can
from harness.uart import scraper

Options = Mapping[str, Any]


def select(options: Options) -> list[Case]:
    """The cases of the argument WHAT, selected and modified by the options.

    Raises :class:`UsageError` for options that do not apply to it.
    """
    what: Subject = options["what"]
    if what.case_file is not None:
        _refuse(options, ("resolver", "builder"), f"{what.text} names its own")
        from harness.case import load_cases  # noqa: PLC0415 - only a case file needs it

        cases = load_cases(what.case_file, options["names"])
    elif options["names"]:
        raise UsageError("--case selects a case of a case file", hint="name a hil.toml")
    elif what.sample:
        _refuse(options, ("scraper",), "samples print records, which need no scraper")
        cases = _sample_cases(
            what.sample, options["resolver"] or "exact", options["builder"], options["chip"] or ""
        )
    else:
        case = what.case(options["resolver"], options["builder"])
        cases = [replace(case, beside=options["beside"])]
    if options["beside"] and what.elf is None:
        raise UsageError(f"--beside cannot be used here: {what.text} is not an image")
    if options["target"] is not None:
        cases = on_targets(cases, target_names(options["target"]))
    refuse_unused_target_options(cases, options)
    _refuse_missing_abilities(cases, options)
    return [_adjust(case, options) for case in cases]


def selection(options: Options) -> Selection:
    """The selection of cases by WHAT and the options, for the history."""
    what: Subject = options["what"]
    source = str(what.case_file or what.elf)
    if what.sample:
        built = options["resolver"] or "exact", options["builder"] or "standalone"
        source = "/".join([what.sample, *built])
    targets = target_names(options["target"]) if options["target"] is not None else ()
    filters, chips = [f"case {name}" for name in options["names"]], filter(None, [options["chip"]])
    return Selection.of([source], filters, targets, chips)


def _refuse(options: Options, names: tuple[str, ...], why: str) -> None:
    given = [f"--{name}" for name in names if options[name] is not None]
    if given:
        raise UsageError(f"{' and '.join(given)} cannot be used here: {why}")


def refuse_unused_target_options(cases: list[Case], options: Options) -> None:
    """Raises :class:`UsageError` for options of targets on which no case runs."""
    used = {case.target for case in cases}
    for name, (option, targets) in all_options().items():
        if options[name] is not None and used.isdisjoint(targets):
            raise UsageError(
                f"{option.spelled} cannot be used here: nothing runs on {' or '.join(targets)}",
                hint=f"add --target {targets[0]}",
            )


#: Options that need an ability of the target.
_ABILITIES = {"coverage": Ability.TRACE, "profile": Ability.TRACE, "presses": Ability.PINS}


def _refuse_missing_abilities(cases: list[Case], options: Options) -> None:
    for name, ability in _ABILITIES.items():
        able = who_can(ability)
        unable = sorted({case.target for case in cases} - set(able))
        if options[name] and unable:
            spelled = name.removesuffix("es") if name == "presses" else name
            raise UsageError(
                f"--{spelled} cannot be used here: {' and '.join(unable)} cannot {ability}",
                hint=f"--target {' or '.join(able)}",
            )


def _sample_cases(sample: str, resolver: str, builder: str | None, chip: str) -> list[Case]:
    builder = builder or "standalone"
    if resolver != ALL:
        return [sample_case(sample, resolver, builder=builder)]
    table = load()
    table.sample(sample)
    pairs = [(known.name, row.name) for known, row in table.pairs() if known.name == sample]
    with suppress(BuildFailed), logs.shown(on_stderr):  # each case builds again and reports it
        build_all(pairs, builder, chip=chip)
    if not pairs:
        raise UsageError(f"the table has no configuration of sample {sample}")
    return [sample_case(*pair, builder=builder, table=table) for pair in pairs]


def _adjust(case: Case, options: Options) -> Case:
    """``case`` with the values of the command line."""
    given = {
        name: options[name]
        for name in ("inferences", "timeout", "guard", "scraper", "inputs", "watch", "tolerance")
        if options[name] is not None
    }
    if "scraper" in given:
        scraper(given["scraper"])  # raises UsageError for an unknown name, before anything runs
    case = case.for_chip(options["chip"] or "")
    if options["never_ends"]:
        given["ends"] = False
    if (options["never_ends"] or options["watch"]) and not (case.scraper or options["scraper"]):
        raise UsageError(
            "--never-ends and --watch need --scraper: an image with records ends with a record",
            hint="add --scraper NAME",
        )
    if options["model"] is not None:
        given["model"] = find_model(options["model"])
    target_options = {
        option.name: options[option.name]
        for option in target(case.target).options
        if options[option.name] is not None
    }
    if options["presses"]:
        given["presses"] = tuple(parse_press(text, kit_of(case)) for text in options["presses"])
    given["trace"] = bool(options["coverage"] or options["profile"])
    given["target_options"] = {**case.target_options, **target_options}
    case = replace(case, **given)
    check_ends(case)
    return case
