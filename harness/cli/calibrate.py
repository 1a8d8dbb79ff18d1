"""``tflm-hil calibrate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import Destination, write_text
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.history.calibration import Supply

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("results", nargs=-1, required=True, type=_FILE)
@click.option("--output", type=Destination(), default="calibration.toml", show_default=True,
              help="The lab's file.")  # fmt: skip
@click.option("--current", type=float, metavar="MA",
              help="What the supply gives while an inference runs: for energy.")  # fmt: skip
@click.option("--voltage", type=float, metavar="V", help="Volts of that supply.")
@click.option("--supply-source", metavar="TEXT", default="the lab's figure", show_default=True,
              help="Who measured it, and how.")  # fmt: skip
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

    A supply that stands in the file already stays there.
    """
    from harness.history.calibration import calibrate as learn  # noqa: PLC0415 - see cli/__init__
    from harness.history.calibration import pairs  # noqa: PLC0415

    cases = [case for path in results for case in _cases(path)]
    try:
        found = learn(pairs(cases, [case for case in cases if case.get("target") == "simulator"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"these are no results of this version of tflm-hil: {error!r}") from error
    supply = _supply(output, current, voltage, supply_source)
    write_text(output, replace(found, supply=supply).to_toml())
    width = max(map(len, found.ratios))
    for name, ratio in found.ratios.items():
        click.echo(f"{name:<{width}}  {ratio.cycles:.3f} ± {ratio.spread:.3f} cycles an instruction"
                   f" ({ratio.models} models)")  # fmt: skip
    for model, off in found.left_out.items():
        click.echo(f"{model}, foretold by the others: {100 * off:.1f} % off")
    click.echo(f"{output}: {len(found.ratios)} kernels, {100 * found.error:.1f} % off (RMS)")


def _supply(
    output: Path, current: float | None, voltage: float | None, source: str
) -> Supply | None:
    """The one that the options tell, else that of the file which is written anew."""
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
    found = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(found, list) or not all(isinstance(case, dict) for case in found):
        raise UsageError(f"{path} has no cases", hint="pass what `tflm-hil run --json FILE` wrote")
    return found
