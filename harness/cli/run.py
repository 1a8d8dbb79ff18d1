"""``tflm-hil run``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from harness.case import Case, CaseResult, Verdict, load_cases, run_case
from harness.case.casefile import find_model
from harness.case.samples import sample_case
from harness.cli.build import ALL
from harness.errors import UsageError
from harness.firmware.builders import BUILDERS, build_all
from harness.firmware.configurations import load
from harness.targets import TARGETS


@click.command()
@click.argument("what", metavar="ELF|SAMPLE|hil.toml")
@click.option("--target", default="", help=f"Targets, comma-separated: {', '.join(TARGETS)}.")
@click.option("--resolver", default="exact", show_default=True, help=f"Of a SAMPLE; or {ALL}.")
@click.option("--builder", type=click.Choice(BUILDERS), default="standalone", show_default=True)
@click.option("--model", default=None, help="The .tflite that the image runs, or a name of ours.")
@click.option("--scraper", default="", help="Reads values from text: a name, or /a regex/.")
@click.option(
    "--inputs", type=click.Path(exists=True, dir_okay=False), help=".npy or .npz to feed."
)
@click.option("--inferences", type=click.IntRange(1), help="At least so many results.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), help="Seconds, target's clock.")
@click.option("--renode", "renode_path", default=None, help="The Renode to use.")
@click.option("--board", default=None, help="The board of the lab to use.")
@click.option("--wait", type=click.FloatRange(0), help="Seconds to wait for a board in use.")
@click.option(
    "--output", type=click.Path(file_okay=False), default="hil-results", show_default=True
)
@click.option("--json", "json_file", help="Write the results as JSON; - for standard output.")
@click.option("--junit", type=click.Path(dir_okay=False), help="Write a JUnit XML file.")
@click.option("--html", type=click.Path(dir_okay=False), help="Write an HTML report.")
def run(**options: object) -> int:
    """Run an image or a case file and judge what comes of it.

    \b
    tflm-hil run hello_world
    tflm-hil run hello_world --resolver all-configurations
    tflm-hil run build/zephyr/zephyr.elf --scraper hello_world --model model.tflite
    tflm-hil run hil.toml --target simulator,renode
    """
    cases = _cases(options)
    output = Path(str(options["output"]))
    quiet = options["json_file"] == "-"
    results = []
    for number, case in enumerate(cases, 1):
        if len(cases) > 1 and not quiet:
            click.echo(f"[{number}/{len(cases)}] {case.name} on {case.target} ...", err=True)
        results.append(_run_one(case, output, alone=len(cases) == 1))
    _report(results, options, quiet=quiet)
    return exit_code(results)


def _run_one(case: Case, output: Path, *, alone: bool) -> CaseResult:
    """One case; in a row of cases an unusable one must not stop the others."""
    try:
        return run_case(case, output / case.target)
    except UsageError as error:
        if alone:
            raise
        blank = CaseResult(case.name, case.sample, case.resolver, case.builder, case.target,
                           Verdict.ERROR, error.message)  # fmt: skip
        return replace(blank, details=error.hint)


def exit_code(results: Sequence[CaseResult]) -> int:
    """What the firmware did counts before what a check said, and that before the environment."""
    codes = {result.verdict.exit_code for result in results}
    return next((code for code in (4, 1, 3) if code in codes), 0)


def _cases(options: dict[str, object]) -> list[Case]:
    what = str(options["what"])
    path = Path(what)
    if path.suffix == ".toml":
        cases = load_cases(path)
    elif path.is_file():
        cases = [Case(name=path.stem, elf=path)]
    elif "/" in what or path.suffix:
        raise UsageError(f"there is no file {what}")
    else:
        cases = _sample_cases(what, str(options["resolver"]), str(options["builder"]))
    targets = [word.strip() for word in str(options["target"]).split(",") if word.strip()]
    for target in targets:
        if target not in TARGETS:
            raise UsageError(f"no target {target!r}", hint=f"one of {', '.join(TARGETS)}")
    if targets:
        unique = {case.name: case for case in cases}.values()
        cases = [case.on(target) for case in unique for target in targets]
    return [_adjust(case, options) for case in cases]


def _sample_cases(sample: str, resolver: str, builder: str) -> list[Case]:
    if resolver != ALL:
        return [sample_case(sample, resolver, builder=builder)]
    table = load()
    table.sample(sample)
    pairs = [(one.name, row.name) for one, row in table.pairs() if one.name == sample]
    build_all(pairs, builder, progress=lambda line: click.echo(line, err=True))
    return [sample_case(*pair, builder=builder, table=table) for pair in pairs]


def _adjust(case: Case, options: dict[str, object]) -> Case:
    """The case with what the command line says over it."""
    for name in ("inferences", "timeout", "scraper"):
        if options[name]:
            case = replace(case, **{name: options[name]})  # type: ignore[arg-type]
    if options["model"]:
        case = replace(case, model=find_model(str(options["model"])))
    if options["inputs"]:
        case = replace(case, inputs=Path(str(options["inputs"])))
    board = {"board": options["board"], "wait": options["wait"]}
    extra = {"renode": {"renode": options["renode_path"]}, "board": board}
    chosen = {k: v for k, v in extra.get(case.target, {}).items() if v}
    return case.on(case.target, {**case.target_options, **chosen})


def _report(results: Sequence[CaseResult], options: dict[str, object], *, quiet: bool) -> None:
    from harness import report  # noqa: PLC0415  rich and jinja2 only where something is shown

    document = json.dumps({"cases": [result.to_json() for result in results]}, indent=2)
    json_file = options["json_file"]
    if json_file == "-":
        click.echo(document)
    elif json_file:
        Path(str(json_file)).write_text(document + "\n", encoding="utf-8")
    if options["junit"]:
        Path(str(options["junit"])).write_text(report.junit(results), encoding="utf-8")
    if options["html"]:
        Path(str(options["html"])).write_text(report.html(results), encoding="utf-8")
    if quiet:
        return
    report.print_table(results, sys.stdout)
    report.print_failures(results, sys.stdout)
