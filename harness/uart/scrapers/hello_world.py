"""The stock hello_world: ``x_value: 0.314159, y_value: 0.372770``.

Images of 2021 print floats as mantissa and exponent (``1.2566366*2^-2``). Images without float
printf print nothing in place of the numbers, which is a finding and not a result.

The x of inference i is ``i % cycle / cycle * 2 pi``; the cycle is 20, in newer releases 1000.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Sequence
from dataclasses import replace

from harness.base.hints import Hint
from harness.uart.lines import Line, last_digit, number
from harness.uart.scrapers.base import (
    LISTED_REFERENCE,
    Check,
    ExpectedResults,
    Scraped,
    Scraper,
    against_values,
    first_rows,
)
from harness.uart.scrapers.readings import Elements, Readings

#: Possible numbers of inferences from x = 0 to x = 2 pi.
CYCLES = (20, 1000)


class HelloWorld(Scraper):
    """x and y of each inference: x must follow the sample's sequence, y must be the model's."""

    names = ("x", "y")

    def __init__(self) -> None:
        super().__init__()
        self._elements = (Elements(real=True), Elements(real=True))

    def feed(self, line: Line) -> None:
        """Read one line."""
        text = line.text
        if "x_value" not in text and "y_value" not in text:
            return
        head, mark, rest = text.partition("x_value:")
        first, comma, second = rest.partition(",")
        label, colon, last = second.partition("y_value:")
        if not (mark and comma and colon) or label.strip() or "y_value" in head:
            self._unparsed(line, "half of a hello_world result")
            return
        x, y = number(first), number(last)
        if x is None or y is None:
            empty = not first.strip() and not last.strip()
            more = "; is printf built without floats?" if empty else ""
            self._unparsed(line, f"no number where x_value and y_value should be{more}")
            return
        kept = len(self.results)
        self.keep(Scraped({"x": first.strip(), "y": last.strip()}, line.number, text))
        if len(self.results) == kept:
            return
        for elements, value, word in zip(self._elements, (x, y), (first, last), strict=True):
            elements.values.append(value)
            elements.units.append(last_digit(word))

    @property
    def readings(self) -> Readings:
        """Each x as the model's input, each y as its output."""
        lines = array("Q", [result.line for result in self.results])
        return Readings([self._elements[0]], [self._elements[1]], lines)

    def _check(self, expected: ExpectedResults) -> Check:
        """Check every x; check results against listed values and the model, if the case has any."""
        lists = expected.values or expected.ranges
        if self.results and not lists and expected.compare is None:
            reference = f"--model, or {LISTED_REFERENCE}"
            return replace(
                super()._check(expected), hint=Hint.COMPARE_RESULTS.told(reference=reference)
            )
        if not self.results:
            return Check(problems=("no result was printed",))
        listed = against_values(self.results, expected) if lists else Check()
        sequence = _check_sequence(self._elements[0].values)
        model = expected.compare(self.readings) if expected.compare else Check()
        parts = (model, listed, sequence)
        return Check(
            listed.compared + model.compared,
            sum(part.mismatches for part in parts),
            tuple(problem for part in parts for problem in part.problems),
            "\n".join(part.details for part in parts if part.details),
            listed.hint,
            compared_with=(*model.compared_with, *listed.compared_with),
            stated=model.stated,
            mismatch=model.mismatch or listed.mismatch,
            listing=listed.listing,
        )


def _close(printed: float, exact: float) -> bool:
    """True if ``printed`` is ``exact``, cut or rounded to six decimals or seven digits."""
    return abs(printed - exact) <= max(1.5e-6, abs(exact) * 1e-6)


def _check_sequence(x: Sequence[float]) -> Check:
    """Check that x follows the sample's sequence, from any starting point."""
    misses = min((_misses(x, cycle) for cycle in CYCLES), key=len)
    if not misses:
        return Check()
    wrong, rows = first_rows(
        f"result {index + 1}: x is {x[index]:.6f}, the sample goes on at {exact:.6f}"
        for index, exact in misses.items()
    )
    problem = f"{wrong} of {len(x)} printed x are not the sequence that the sample makes"
    return Check(mismatches=wrong, problems=(problem,), details="\n".join(rows))


def _misses(x: Sequence[float], cycle: int) -> dict[int, float]:
    """Indices at which ``x`` departs from the sample's sequence, with the sequence's values."""
    start = round(x[0] % math.tau / math.tau * cycle)
    sequence = (step % cycle / cycle * math.tau for step in itertools.count(start))
    pairs = enumerate(zip(x, sequence, strict=False))  # the sequence is endless
    return {index: exact for index, (value, exact) in pairs if not _close(value, exact)}
