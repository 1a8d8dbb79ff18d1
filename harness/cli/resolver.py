"""``tflm-hil resolver``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import numbers
from harness.base.errors import CannotTell, CheckFailed, UsageError
from harness.base.form import formatted
from harness.case.subject import Subject, find_model
from harness.cli.options import also_load_option, json_option, number_option
from harness.cli.output import screen, write_text
from harness.cli.parameters import IMAGE, MODEL, STDOUT, Destination
from harness.elf import combined
from harness.model import Model
from harness.targets.registry import DEFAULT, TARGETS

if TYPE_CHECKING:
    from harness.resolver.audit import Audit

_JSON = json_option()
_TARGET = click.option("--target", type=click.Choice(list(TARGETS)), default=DEFAULT,
                       show_default=True, help="The target.")  # fmt: skip
_UNTIL = click.option("--until", "symbol", default="", metavar="FUNCTION",
                      help="Read when this function is reached.  "
                           "[default: AllocateTensors]")  # fmt: skip
_TIMEOUT = number_option("--timeout", default=5.0, check=numbers.seconds, metavar="SECONDS",
                         help="Read after this time at the latest, on the target's "
                         "clock.")  # fmt: skip


@click.group()
def resolver() -> None:
    """Check, dump, generate operator resolvers."""


@resolver.command()
@click.argument("what", metavar="ELF|SAMPLE", type=IMAGE)
@click.argument("model", required=False, type=MODEL)
@also_load_option
@_TARGET
@_UNTIL
@_TIMEOUT
@_JSON
def check(
    what: Subject,
    model: str | None,
    also_load: Sequence[Path],
    target: str,
    symbol: str,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Compare the resolver that the interpreter of ELF gets with the operators of MODEL.

    \b
    tflm-hil resolver check build/zephyr/zephyr.elf model.tflite
    tflm-hil resolver check tfm_merged.hex model.tflite --also-load zephyr.elf
    tflm-hil resolver check zephyr.elf model.tflite --target renode

    The image runs until it allocates its tensors. MODEL defaults to that of the SAMPLE. Exit code
    1 if an operator is missing, refused or registered twice, or if tflite-micro refuses MODEL with
    any resolver; 5 if the image does not get so far: then it is told what is linked. Notes are
    about operators that tflite-micro computes differently.
    """
    from harness.case.plan import one_case  # noqa: PLC0415 - see cli/__init__
    from harness.resolver.audit import check as audited  # noqa: PLC0415

    model_file = find_model(model) if model is not None else one_case(what).model
    if model_file is None:
        raise UsageError("an image needs MODEL to be compared with")
    elf = what.image()
    image = combined.read(elf, also_load)
    audit = audited(
        image, Model.from_file(model_file), target=target, timeout=timeout, symbol=symbol
    )
    _write(json_file, formatted(audit.to_json()))
    if json_file != STDOUT:
        from harness.resolver.text import show_audit  # noqa: PLC0415

        show_audit(screen(), audit)
    _raise_unless_passed(audit, elf)


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
    target: str,
    symbol: str,
    timeout: float,
    json_file: Path | None,
) -> None:
    """Run ELF, and list what is registered in its resolvers: Add* calls and kernels' functions.

    The memory is read at the entry of AllocateTensors, after the registration and before the first
    inference; on a target that cannot stop there (a board), after --timeout. The resolver that the
    interpreter gets comes first.

    \b
    tflm-hil resolver dump build/zephyr/zephyr.elf
    tflm-hil resolver dump build/zephyr/zephyr.elf --until loop
    """
    from harness.resolver.live import read  # noqa: PLC0415
    from harness.resolver.text import resolver_lines  # noqa: PLC0415
    from harness.targets import open_target  # noqa: PLC0415

    elf = what.image()
    image = combined.read(elf, also_load)
    with open_target(target, image) as session:
        seen = read(session, image, None, symbol=symbol, seconds=timeout)
    resolvers = (*([seen.resolver] if seen.resolver else []), *seen.others)
    if not resolvers:
        raise CannotTell(f"{elf.name}: {seen.why}", hint=image.symbols_hint())
    for note in (*seen.notes, *([seen.why] if seen.why else [])):
        click.echo(f"note: {note}", err=True)
    documents = [each.to_json() for each in resolvers]
    _write(json_file, {"elf": str(elf), "target": target, "resolvers": documents})
    if json_file != STDOUT:
        for each in resolvers:
            for line in resolver_lines(each):
                click.echo(line)


def _write(path: Path | None, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1))
