"""Conversion of instructions to milliseconds, by a board's cycles for each kernel.

A lab runs the same images on a board (DWT cycles of each operator) and on the simulator
(instructions of each operator). The ratio of both, kernel by kernel, converts instructions counted
without a board to milliseconds. A kernel is the implementation of an operator by one library for
one type, ``CONV_2D cmsis-nn int8``; the rest of an inference is ``(interpreter)``.

The spread of a kernel is the sample standard deviation of its ratios over the models in which it
was measured, but at least the relative spread pooled over all kernels, because two models may agree
by chance. The spread of an inference is that of a sum of independent kernels, but at least the
error of predicting a model that was left out (root mean square), because the errors of kernels may
have a common cause.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from harness.base import files
from harness.base.errors import CheckFailed, UsageError

_INTERPRETER = "(interpreter)"
_VERSION = 1  # of the format of a calibration file


@dataclass(frozen=True)
class Ratio:
    """Cycles per instruction of one kernel; ``spread`` is one standard deviation."""

    cycles: float
    spread: float
    models: int


@dataclass(frozen=True)
class InferenceTime:
    """Milliseconds of one inference, and one standard deviation."""

    milliseconds: float
    spread: float

    def __str__(self) -> str:
        return f"{self.milliseconds:,.4g} ms calibrated ± {self.spread:,.2g}"


@dataclass(frozen=True)
class Supply:
    """A lab's supply during an inference."""

    milliamperes: float
    volts: float
    source: str  # who measured it, and how

    def __post_init__(self) -> None:
        _positive(self.milliamperes)
        _positive(self.volts)

    def energy(self, milliseconds: float) -> float:
        """The energy in microjoules: ms x mA x V."""
        return milliseconds * self.milliamperes * self.volts

    def __str__(self) -> str:
        return f"{self.milliamperes:g} mA at {self.volts:g} V, {self.source}"


@dataclass(frozen=True)
class InferencePair:
    """The same inference on a board and on the simulator."""

    model: str
    cycles: Mapping[str, int]
    instructions: Mapping[str, int]


@dataclass(frozen=True)
class Calibration:
    """The measured kernels."""

    ratios: Mapping[str, Ratio]
    error: float  # relative, root mean square over `left_out`
    left_out: Mapping[str, float]  # model -> relative error of its prediction from the others
    supply: Supply | None = None

    def time(self, instructions: Mapping[str, int], cpu_hz: int) -> InferenceTime:
        """The time of one inference at ``cpu_hz`` from its ``instructions`` by kernel.

        Raises :class:`CheckFailed` for a kernel that was never measured.
        """
        unknown = sorted(instructions.keys() - self.ratios.keys())
        if unknown:
            names = ", ".join(unknown)
            raise CheckFailed(f"not calibrated: {names} was never measured on a board")
        cycles = _cycles(self.ratios, instructions)
        spread = math.hypot(*(n * self.ratios[name].spread for name, n in instructions.items()))
        per_ms = cpu_hz / 1000
        return InferenceTime(cycles / per_ms, max(spread, self.error * cycles) / per_ms)

    def to_toml(self) -> str:
        """The calibration as the text of a TOML file."""
        lines = [f"version = {_VERSION}", f"error = {self.error!r}"]
        if self.supply is not None:
            figures = (
                f"milliamperes = {self.supply.milliamperes!r}",
                f"volts = {self.supply.volts!r}",
            )
            lines += ["", "[supply]", *figures, f"source = {_quoted(self.supply.source)}"]
        lines += ["", "[left_out]"]
        lines += [f"{_quoted(model)} = {error!r}" for model, error in self.left_out.items()]
        for name, ratio in self.ratios.items():
            lines += ["", f"[kernels.{_quoted(name)}]", f"cycles = {ratio.cycles!r}",
                      f"spread = {ratio.spread!r}", f"models = {ratio.models}"]  # fmt: skip
        return "\n".join(lines) + "\n"

    @classmethod
    def from_file(cls, path: Path) -> Calibration:
        """Read a file of :meth:`to_toml`; raise :class:`UsageError` for anything else."""
        document = files.read_toml(path)
        if document.get("version") != _VERSION:
            raise UsageError(f"{path} is not a calibration of this version of tflm-hil")
        try:
            ratios = {
                str(name): Ratio(_positive(row["cycles"]), _positive(row["spread"], zero=True),
                                 int(row["models"]))
                for name, row in document["kernels"].items()
            }  # fmt: skip
            left_out = {str(name): float(error) for name, error in document["left_out"].items()}
            error = _positive(document["error"], zero=True)
            return cls(ratios, error, left_out, _supply(document.get("supply")))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path} is not a calibration: {error!r}") from error


def _supply(row: Mapping[str, Any] | None) -> Supply | None:
    if row is None:
        return None
    if row.keys() != {"milliamperes", "volts", "source"} or not isinstance(row["source"], str):
        raise ValueError("supply takes milliamperes, volts and source")
    return Supply(float(row["milliamperes"]), float(row["volts"]), row["source"])


def _positive(value: object, *, zero: bool = False) -> float:
    number = float(value)  # type: ignore[arg-type]  # raises TypeError
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{number} is not above zero")
    return number


def _quoted(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f")


def pairs(boards: Iterable[Mapping[str, Any]], simulators: Iterable[Mapping[str, Any]]
          ) -> tuple[InferencePair, ...]:  # fmt: skip
    """Pair cases, of documents of results, that ran the same image on board and simulator.

    Raises :class:`UsageError` if no image passed on both.
    """
    simulated = {_key(case): case for case in simulators if _usable(case, "instructions")}
    both = tuple(
        InferencePair(_model(case), kernels(case), kernels(simulated[_key(case)]))
        for case in boards
        if _usable(case, "cycles") and _key(case) in simulated
    )
    if not both:
        raise UsageError(
            "no image passed on a board and on the simulator and printed its operators' ticks",
            hint="the same ELF and inputs on both; op records (docs/records.md)",
        )
    return both


def _key(case: Mapping[str, Any]) -> tuple[str, str]:
    return str(case["elf_sha256"]), str(case["name"])


def _usable(case: Mapping[str, Any], figure: str) -> bool:
    passed = case.get("verdict") == "pass" and bool(case.get("elf_sha256"))
    return passed and bool(case.get(figure)) and bool(case.get("operators"))


def _model(case: Mapping[str, Any]) -> str:
    return Path(str(case["model"])).name if case.get("model") else str(case["elf_sha256"])


def kernels(case: Mapping[str, Any]) -> dict[str, int]:
    """The ticks of one inference by kernel, from a case of a document of results."""
    ticks: defaultdict[str, int] = defaultdict(int)
    for row in case["operators"]:
        ticks[f"{row['operator']} {row['kernel']}".strip()] += int(row["ticks"])
    rest = int(case.get("interpreter_ticks") or 0)  # older documents have none
    if rest > 0:
        ticks[_INTERPRETER] = rest
    return dict(ticks)


def calibrate(measured: Sequence[InferencePair]) -> Calibration:
    """Compute the ratios of all kernels, and their errors in predicting a model left out.

    Raises :class:`UsageError` if no kernel ran in two models, so that no spread is known.
    """
    ratios = _ratios(measured)
    left_out: dict[str, float] = {}
    for model in sorted({pair.model for pair in measured}):
        others = _ratios([pair for pair in measured if pair.model != model], need=1)
        errors = [
            abs(_cycles(others, pair.instructions) / sum(pair.cycles.values()) - 1)
            for pair in measured
            if pair.model == model and pair.instructions.keys() <= others.keys()
        ]
        if errors:
            left_out[model] = max(errors)
    if not left_out:
        raise UsageError(
            "no model consists of kernels that others have too: nothing can be cross-validated",
            hint=_which(measured),
        )
    error = math.sqrt(fmean(each * each for each in left_out.values()))
    return Calibration(ratios, error, left_out)


def _which(measured: Sequence[InferencePair]) -> str:
    """A hint on models to measure: those that share kernels with the measured ones."""
    kernels_of: dict[str, set[str]] = {}
    for pair in measured:
        names = (pair.cycles.keys() & pair.instructions.keys()) - {_INTERPRETER}
        kernels_of.setdefault(pair.model, set()).update(names)
    has = "; ".join(f"{model} has {', '.join(sorted(names)) or 'none'}"
                    for model, names in sorted(kernels_of.items()))  # fmt: skip
    return f"measure another model with the same kernels on both ({has})"


def _cycles(ratios: Mapping[str, Ratio], instructions: Mapping[str, int]) -> float:
    """Predict the cycles of an inference from its ``instructions`` by kernel."""
    return sum(count * ratios[name].cycles for name, count in instructions.items())


def _ratios(measured: Sequence[InferencePair], need: int = 2) -> dict[str, Ratio]:
    """Compute the ratio of each kernel, at least one of which must have ``need`` models."""
    counts: defaultdict[str, dict[str, list[tuple[int, int]]]] = defaultdict(dict)
    for pair in measured:
        for name in pair.cycles.keys() & pair.instructions.keys():
            if pair.cycles[name] > 0 and pair.instructions[name] > 0:
                row = pair.cycles[name], pair.instructions[name]
                counts[name].setdefault(pair.model, []).append(row)
    quotients = {
        name: [sum(c for c, _ in rows) / sum(i for _, i in rows) for rows in models.values()]
        for name, models in sorted(counts.items())
    }
    spreads = {
        name: (len(q) - 1, stdev(q) / fmean(q)) for name, q in quotients.items() if len(q) > 1
    }
    if not spreads and need > 1:
        raise UsageError(
            "no kernel was measured in two models, so no spread is known",
            hint=_which(measured),
        )
    # The interpreter's ticks are a small difference of large figures: its spread is not a kernel's.
    kernel_spreads = {name: row for name, row in spreads.items() if name != _INTERPRETER} or spreads
    rows = kernel_spreads.values()
    pooled = math.sqrt(sum(n * r * r for n, r in rows) / max(1, sum(n for n, _ in rows)))
    # A kernel of a single model gets the largest spread of all.
    widest = max((r for _, r in rows), default=0.0)
    return {
        name: Ratio(fmean(q), fmean(q) * max(pooled, spreads.get(name, (0, widest))[1]), len(q))
        for name, q in quotients.items()
    }
