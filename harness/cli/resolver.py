"""``tflm-hil resolver``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import numbers
from harness.base.errors import CannotTell, CheckFailed, UsageError
from harness.base.form import formatted
from harness.case.subject import Subject, find_model
from harness.cli.options import also_load_option, json_option, number_option
from harness.cli.output import screen, write_text
from harness.cli.parameters import IMAGE, MODEL, OPERATORS, STDOUT, Destination
from harness.elf import Image, combined
from harness.model import Model
from harness.targets.registry import DEFAULT, TARGETS

if TYPE_CHECKING:
    from harness.resolver.audit import Audit
    from harness.resolver.dump import LiveResolver

_JSON = json_option()
_TARGET = click.option("--target", type=click.Choice(list(TARGETS)),
                       help="The target.  [default: simulator]")  # fmt: skip
_UNTIL = click.option("--until", "symbol", default="", help="Read when this function is reached.")
_TIMEOUT = number_option("--timeout", default=5.0, check=numbers.seconds, metavar="SECONDS",
                         help="Read after this time at the latest, on the target's "
                         "clock.")  # fmt: skip


@click.group()
def resolver() -> None:
    """Check, generate, dump, explain operator resolvers."""


@resolver.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@click.argument("model", required=False, type=MODEL)
@also_load_option
@click.option("--live", is_flag=True,
              help="Run ELF, and compare the resolver in its memory with MODEL.")  # fmt: skip
@_TARGET
@_UNTIL
@_TIMEOUT
@_JSON
def check(
    what: Subject,
    model: str | None,
    also_load: Sequence[Path],
    live: bool,
    target: str | None,
    symbol: str,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Compare the resolver of ELF with the operators of MODEL, without running the image.

    \b
    tflm-hil resolver check build/zephyr/zephyr.elf model.tflite
    tflm-hil resolver check --live stripped.elf model.tflite
    tflm-hil resolver check tfm_merged.hex model.tflite --also-load zephyr.elf

    MODEL defaults to that of the SAMPLE. Exit code 1 if an operator is missing, refused or
    registered twice, or if tflite-micro refuses MODEL with any resolver; 5 if this cannot be
    determined (a stripped image, a conditional registration: use --live). Notes are about operators
    that tflite-micro computes differently.
    """
    from harness.case.plan import one_case  # noqa: PLC0415 - see cli/__init__
    from harness.resolver.audit import check_every, check_live  # noqa: PLC0415

    if not live and (target or symbol):
        raise UsageError("--target and --until need --live, which runs the image")
    model_file = find_model(model) if model is not None else one_case(what).model
    if model_file is None:
        raise UsageError("an image needs MODEL to be compared with")
    elf = what.image()
    image, needed = combined.read(elf, also_load), Model.from_file(model_file)
    if live:
        tables = _live(image, target or DEFAULT, symbol, timeout)
        audits = {image.name: check_live(image, needed, tables)}
    else:
        audits = check_every(image, needed)
    _report(audits, image, json_file)
    _raise_unless_passed(next(iter(audits.values())), elf)


def _report(audits: Mapping[str, Audit], image: Image, json_file: Path | None) -> None:
    (name, audit), *others = audits.items()
    document = formatted(audit.to_json())
    if image.beside:
        document |= {"image": name, "beside": {name: other.to_json() for name, other in others}}
    _write(json_file, document)
    if json_file != STDOUT:
        from harness.resolver.text import show_audit  # noqa: PLC0415

        for name, each in audits.items():
            if image.beside:
                click.echo(f"image {name}:")
            show_audit(screen(), each)


def _raise_unless_passed(audit: Audit, elf: Path) -> None:
    from harness.resolver.audit import AuditVerdict  # noqa: PLC0415

    if audit.verdict is AuditVerdict.REFUSED:
        raise CheckFailed(f"{audit.model}: {audit.problems[0]}")
    if audit.verdict is AuditVerdict.CANNOT_TELL:
        raise CannotTell(
            f"cannot tell whether the resolver of {elf.name} is right for {audit.model}: "
            f"{audit.problems[0]}", hint=audit.hint,
        )  # fmt: skip
    if not audit.passed:
        raise CheckFailed(f"the resolver of {elf.name} is wrong for {audit.model}: "
                          f"{', '.join(audit.verdicts)}")  # fmt: skip


def _live(image: Image, target: str, symbol: str, timeout: float) -> tuple[LiveResolver, ...]:
    """Runs the image until its operators are registered, and reads the tables in its memory."""
    from harness.resolver.dump import dump as read_tables  # noqa: PLC0415
    from harness.resolver.stop_point import run_past_registration  # noqa: PLC0415
    from harness.targets import open_target  # noqa: PLC0415

    with open_target(target, image) as session:
        stop = run_past_registration(session, image, symbol=symbol, seconds=timeout)
        if stop.why:
            click.echo(f"note: {stop.why}", err=True)
        return read_tables(session, image)


@resolver.command()
@click.argument("models", metavar="MODEL...", type=MODEL, nargs=-1, required=True)
@click.option("--namespace", default="hil", show_default=True, help="C++ namespace.")
@click.option("-o", "--output", type=Destination(dash=True), metavar="FILE",
              help="The header to write.  [default: standard output]")  # fmt: skip
def generate(models: tuple[str, ...], namespace: str, output: Path | None) -> None:
    """Print a C++ header with a resolver for exactly the operators of the MODELs.

    \b
    tflm-hil resolver generate model.tflite --output src/resolver.h

    Exit code 1 if tflite-micro refuses a MODEL with any resolver. The header is written, and says
    so.
    """
    from harness.model.refusals import refusals  # noqa: PLC0415
    from harness.resolver.generate import generate as make_header  # noqa: PLC0415

    loaded = [Model.from_file(find_model(model)) for model in models]
    write_text(output or STDOUT, make_header(loaded, namespace=namespace))
    refused = [f"{model.name}: {refusal}" for model in loaded for refusal in refusals(model)]
    if refused:
        raise CheckFailed("\n".join(refused))


@resolver.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@also_load_option
@_TARGET
@_UNTIL
@_TIMEOUT
@_JSON
def dump(
    what: Subject,
    also_load: Sequence[Path],
    target: str | None,
    symbol: str,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Run ELF, and list the operators of the resolvers in its memory.

    The memory is read at the entry of AllocateTensors, after the registration and before the first
    inference; on a target that cannot stop there (a board), after --timeout.

    \b
    tflm-hil resolver dump build/zephyr/zephyr.elf
    tflm-hil resolver dump build/zephyr/zephyr.elf --until loop
    """
    elf = what.image()
    image = combined.read(elf, also_load)
    target = target or DEFAULT
    resolvers = _live(image, target, symbol, timeout)
    documents = [resolver.to_json() for resolver in resolvers]
    _write(json_file, {"elf": str(elf), "target": target, "resolvers": documents})
    if json_file != STDOUT:
        from harness.resolver.text import show_live  # noqa: PLC0415

        show_live(screen(), resolvers)


@resolver.command()
@click.argument("operator", type=OPERATORS)
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@also_load_option
@_JSON
def explain(
    operator: str, what: Subject, also_load: Sequence[Path], json_file: Path | None
) -> None:
    """Trace the registration of OPERATOR in ELF: calls, and stored pointers with their targets.

    \b
    tflm-hil resolver explain FULLY_CONNECTED build/zephyr/zephyr.elf
    """
    from harness.resolver.explain import explain as follow  # noqa: PLC0415
    from harness.resolver.text import explanation_lines  # noqa: PLC0415

    first = combined.read(what.image(), also_load)
    image = next((each for each in (first, *first.beside) if _registers(each, operator)), first)
    explanation = follow(image, operator)
    _write(json_file, explanation.to_json())
    if json_file != STDOUT:
        for line in explanation_lines(explanation):
            click.echo(line)


def _registers(image: Image, operator: str) -> bool:
    names = (registration.operator.casefold() for registration in image.registrations)
    return operator.casefold() in names


def _write(path: Path | None, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1))
