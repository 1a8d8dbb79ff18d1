"""``tflm-hil calibrate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import files
from harness.base.errors import UsageError
from harness.base.form import check_format
from harness.cli.output import write_text
from harness.cli.parameters import Destination

if TYPE_CHECKING:
    from harness.history.calibration import Supply

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("results", nargs=-1, required=True, type=_FILE)
@click.option("--output", type=Destination(), default="calibration.toml", show_default=True,
              help="The calibration file to write.")  # fmt: skip
@click.option("--current", type=float, metavar="MA",
              help="Supply current during an inference in mA, for energy.")  # fmt: skip
@click.option("--voltage", type=float, metavar="V", help="Supply voltage in V.")
@click.option("--supply-source", metavar="TEXT", default="the lab's figure", show_default=True,
              help="Source of these figures.")  # fmt: skip
def calibrate(
    results: tuple[Path, ...],
    output: Path,
    current: float | None,
    voltage: float | None,
    supply_source: str,
) -> None:
    """Determine the cycles per instruction of kernels from runs on a board and on the simulator.

    RESULTS are documents of `tflm-hil run --json` with the same images on both targets, in any
    order. At least two models must share their kernels.

    \b
    tflm-hil run hil.toml --target simulator,board --json both.json
    tflm-hil calibrate both.json --output lab.toml
    tflm-hil run hil.toml --calibration lab.toml
    tflm-hil calibrate both.json --output lab.toml --current 4.1 --voltage 3.7

    Without --current and --voltage the supply in an existing file is kept.
    """
    from harness.history.calibration import calibrate as fit  # noqa: PLC0415 - see cli/__init__
    from harness.history.calibration import pairs  # noqa: PLC0415

    cases = [case for path in results for case in _cases(path)]
    try:
        fitted = fit(pairs(cases, [case for case in cases if case.get("target") == "simulator"]))
    except (KeyError, TypeError, ValueError) as error:
        message = f"these results are not from this version of tflm-hil: {error!r}"
        raise UsageError(message) from error
    supply = _supply(output, current, voltage, supply_source)
    write_text(output, replace(fitted, supply=supply).to_toml())
    width = max(map(len, fitted.ratios))
    for name, ratio in fitted.ratios.items():
        cycles = f"{ratio.cycles:.3f} ± {ratio.spread:.3f} cycles per instruction"
        click.echo(f"{name:<{width}}  {cycles} ({ratio.models} models)")
    for model, deviation in fitted.left_out.items():
        click.echo(f"{model}, predicted from the others: {100 * deviation:.1f} % off")
    click.echo(f"{output}: {len(fitted.ratios)} kernels, {100 * fitted.error:.1f} % off (RMS)")


def _supply(
    output: Path, current: float | None, voltage: float | None, source: str
) -> Supply | None:
    """The supply given by the options, or that of the existing file."""
    from harness.history.calibration import Calibration, Supply  # noqa: PLC0415 - see cli/__init__

    if (current is None) != (voltage is None):
        raise UsageError("energy needs both --current and --voltage")
    if current is not None and voltage is not None:
        try:
            return Supply(current, voltage, source)
        except ValueError as error:
            raise UsageError(f"--current, --voltage: {error}") from error
    return Calibration.from_file(output).supply if files.is_file(output) else None


def _cases(path: Path) -> list[dict[str, Any]]:
    from harness.history.run import read  # noqa: PLC0415 - see cli/__init__

    document = read(path)
    cases = document.get("cases") if isinstance(document, dict) else None
    if isinstance(document, dict):
        check_format(document, str(path))
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise UsageError(
            f"{path} has no cases", hint="pass a file written by `tflm-hil run --json`"
        )
    return cases
