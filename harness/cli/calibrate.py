"""``tflm-hil calibrate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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
              help="The lab's file.")  # fmt: skip
@click.option("--current", type=float, metavar="MA",
              help="Milliamperes of the supply while an inference runs, for energy.")  # fmt: skip
@click.option("--voltage", type=float, metavar="V", help="Volts of that supply.")
@click.option("--supply-source", metavar="TEXT", default="the lab's figure", show_default=True,
              help="Who measured the supply, and how.")  # fmt: skip
def calibrate(
    results: tuple[Path, ...],
    output: Path,
    current: float | None,
    voltage: float | None,
    supply_source: str,
) -> None:
    """Learn from runs of the same images on a board and on the simulator how long kernels take.

    RESULTS are documents of `tflm-hil run --json`, in any order. At least two models must share
    their kernels.

    \b
    tflm-hil run hil.toml --target simulator,board --json both.json
    tflm-hil calibrate both.json --output lab.toml
    tflm-hil run hil.toml --calibration lab.toml
    tflm-hil calibrate both.json --output lab.toml --current 4.1 --voltage 3.7

    A supply that is in the file already stays there.
    """
    from harness.history.calibration import calibrate as learn  # noqa: PLC0415 - see cli/__init__
    from harness.history.calibration import pairs  # noqa: PLC0415

    cases = [case for path in results for case in _cases(path)]
    try:
        learnt = learn(pairs(cases, [case for case in cases if case.get("target") == "simulator"]))
    except (KeyError, TypeError, ValueError) as error:
        message = f"these are not results of this version of tflm-hil: {error!r}"
        raise UsageError(message) from error
    supply = _supply(output, current, voltage, supply_source)
    write_text(output, replace(learnt, supply=supply).to_toml())
    width = max(map(len, learnt.ratios))
    for name, ratio in learnt.ratios.items():
        cycles = f"{ratio.cycles:.3f} ± {ratio.spread:.3f} cycles per instruction"
        click.echo(f"{name:<{width}}  {cycles} ({ratio.models} models)")
    for model, deviation in learnt.left_out.items():
        click.echo(f"{model}, predicted from the others: {100 * deviation:.1f} % off")
    click.echo(f"{output}: {len(learnt.ratios)} kernels, {100 * learnt.error:.1f} % off (RMS)")


def _supply(
    output: Path, current: float | None, voltage: float | None, source: str
) -> Supply | None:
    """The supply that the options give, or that of the existing file."""
    from harness.history.calibration import Calibration, Supply  # noqa: PLC0415 - see cli/__init__

    if (current is None) != (voltage is None):
        raise UsageError("energy needs both --current and --voltage")
    if current is not None and voltage is not None:
        try:
            return Supply(current, voltage, source)
        except ValueError as error:
            raise UsageError(f"--current, --voltage: {error}") from error
    return Calibration.from_file(output).supply if output.is_file() else None


def _cases(path: Path) -> list[dict[str, Any]]:
    from harness.history.run import read  # noqa: PLC0415 - see cli/__init__

    document = read(path)
    cases = document.get("cases") if isinstance(document, dict) else None
    if isinstance(document, dict):
        check_format(document, str(path))
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise UsageError(f"{path} has no cases", hint="pass what `tflm-hil run --json FILE` wrote")
    return cases
