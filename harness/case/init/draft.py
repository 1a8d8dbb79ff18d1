"""The case that an image's console leads to, and what it notices."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from harness.base import files
from harness.base.errors import BadModel
from harness.base.expected import Expected
from harness.base.text import count_of
from harness.case.case import NEVER, Case, LastLine
from harness.case.endings import has_all_results
from harness.case.init.fit import Fit, find_fit
from harness.case.init.frozen import Frozen, freeze
from harness.case.init.images import model_of
from harness.case.init.proof import Proof, passes, prove
from harness.case.init.shapes import Shape, escaped, failing, shapes_of
from harness.case.init.swapped_outputs import run_swapped
from harness.case.init.watch import OTHER_TIMING, Watched, captured, watch
from harness.case.observe import scrapers_of
from harness.model import Model
from harness.targets import Stop
from harness.uart import Console
from harness.uart.lines import Line
from harness.uart.records import PREFIX
from harness.uart.scrapers import SCRAPERS, scrapers_that_fit

#: Scraper -> text in the images that it reads ("": images with records); the first match is used.
_SIGNATURES = {
    "": PREFIX.encode(),
    "ztest": b"PROJECT EXECUTION",
    "unit_tests": b"~~~ALL TESTS PASSED~~~",
}
#: Lines with these words fail a case whose values are copied from the image.
ABSENT = r"\b(?:FAIL|ERROR|ASSERT|FATAL|PANIC)"
#: Seconds on the target's clock for a case; an image that prints for long gets twice what it needs.
TIMEOUT = 10.0
#: Most inferences of a case for an image that does not end.
_ENOUGH = 20


@dataclass(frozen=True)
class Draft:
    """A case for one image. ``case`` is None if nothing can be expected of its output.

    ``model_data`` are the bytes of the image's model, b"" without one; ``model_file`` has them, or
    is None if the image alone does. ``proof`` is None for a named scraper, and for records.
    """

    elf: Path
    watched: Watched
    case: Case | None = None
    fit: Fit | None = None
    frozen: Frozen = field(default_factory=Frozen)
    proof: Proof | None = None
    model_file: Path | None = None
    model_data: bytes = b""
    swap: str = ""  # what swapping two outputs of the model in the image shows
    simulated: bool = True  # whether the console is that of the simulator

    @property
    def uses_model(self) -> bool:
        """Whether the case compares with the model."""
        return self.case is not None and self.case.model is not None

    @property
    def keeps_model(self) -> bool:
        """Whether a file of the model must be written."""
        return self.uses_model and self.model_file is None

    def notes(self) -> Iterator[str]:
        """What is wrong with the image, or is missing, a line each."""
        stop = self.watched.stop
        if stop in (Stop.LOCKUP, Stop.RESET_LOOP):
            yield f"note: the run of the image failed: {stop.replace('_', ' ')}"
        if self.watched.failure:
            consequence = ", so nothing is expected" if self.case is None else ""
            yield f"note: the image shows a failure{consequence}: {self.watched.failure}"
        elif self.case is None:
            yield "note: the image printed nothing that can be expected"
        if self.fit is not None:
            yield (
                "note: printed inputs may not exercise all of the model: tflm-hil vectors "
                "MODEL --output vectors.npz finds inputs that do"
            )
        if not self.simulated and self.case is not None and self.case.end == NEVER:
            yield 'note: a capture does not show whether the image ends: end = "never"'
        wrong = self.fit is not None and self.fit.mismatches
        if self.case is not None and self.proof is None and self.frozen.results and not wrong:
            yield "note: the case does not accept this output; run it to see why"

    def verdicts(self) -> Iterator[str]:
        """What the case is worth, a sentence each."""
        if self.fit is not None and not self.fit.mismatches:
            count = count_of(self.fit.compared, "value")
            inferences = count_of(self.fit.inferences, "inference")
            yield f"equal to the model: {count} of {inferences}"
        elif self.fit is not None:
            yield (
                f"{self.fit.mismatches} of {self.fit.compared} values are not what the model "
                "computes, so this case fails"
            )
            yield from self.fit.wrong
        if self.frozen.results:
            yield "unverified: these are the values that the firmware printed"
        if self.fit is None and self.model_data and self.frozen.results:
            yield "no printed numbers are inputs and outputs of the image's model"
        if self.swap:
            yield self.swap
        if self.proof is not None:
            yield from self.proof.sentences()


def draft(elf: Path, folder: Path, name: str, console: Path | None = None) -> Draft:
    """The case for ``elf``, whose files lie below ``folder``.

    ``console`` is a capture of the output, which replaces two runs on the simulator.
    """
    model_file, data = model_of(elf, folder)
    watched = watch(elf) if console is None else captured(console)
    found = Draft(elf, watched, model_file=model_file, model_data=data, simulated=console is None)
    named = _named_scraper(files.read(elf), watched)
    if named is not None:
        return replace(found, case=_named(found, name, named))
    again = watched if console is not None else watch(elf, OTHER_TIMING)
    shapes = shapes_of(watched.lines, again.lines)
    failure = failing(shapes)
    if failure is not None and not watched.failure:
        text = f"line {failure.number} {failure.text[:100]!r}"
        found = replace(found, watched=replace(watched, failure=text))
    fit = _fit(found, shapes)
    if fit is None and found.watched.failed:
        return found
    taken = _taken(fit, over=watched.over)
    frozen = freeze(shapes, watched.lines, again.lines, over=watched.over, taken=taken)
    found = replace(found, fit=fit, frozen=frozen)
    if fit is None and not frozen.results:
        return found
    case = _case(found, folder, name, shapes)
    return _proven(replace(found, case=case), shapes)


def _taken(fit: Fit | None, *, over: bool) -> frozenset[tuple[int, int]]:
    """The columns that regexes of tensors read, which need no listed values.

    Of an image that goes on, a missing inference shows in its inputs alone, so these are listed.
    """
    if fit is None:
        return frozenset()
    return fit.outputs | fit.inputs if over else fit.outputs


def _proven(found: Draft, shapes: Sequence[Shape]) -> Draft:
    """``found`` with what its case notices, if the case accepts the right console."""
    assert found.case is not None
    if not found.uses_model:
        return _with_proof(found, found.case, None, shapes)
    with TemporaryDirectory() as folder:  # the model's file may not be written yet
        path = Path(folder) / "model.tflite"
        files.write(path, found.model_data)
        model = Model.from_bytes(found.model_data)
        return _with_proof(found, replace(found.case, model=path), model, shapes)


def _with_proof(found: Draft, case: Case, model: Model | None, shapes: Sequence[Shape]) -> Draft:
    lines = found.watched.lines
    if not found.watched.over:
        lines = _first_lines(case, lines, 2 * len(found.frozen.results))
    if not passes(case, model, (line.text for line in lines)):
        return found
    return replace(found, proof=prove(case, model, lines, shapes), swap=_swap(found, case, model))


def _first_lines(case: Case, lines: Sequence[Line], results: int) -> Sequence[Line]:
    """``lines`` until all that the case expects has come, the listed results if possible twice."""
    console = Console(scrapers_of(case))
    enough = len(lines)
    for count, line in enumerate(lines, 1):
        before = [len(one.results) for one in console.scrapers]
        console.feed(line.text.encode() + b"\n")
        after = [len(one.results) for one in console.scrapers]
        if has_all_results(console, case):
            if after[-1] >= results:
                return lines[:count]
            enough = count if before != after else enough
    return lines[: enough + 1]


def _swap(found: Draft, case: Case, model: Model | None) -> str:
    """What two swapped outputs of the image's model show; "" if they cannot be swapped."""
    own = _model(found.model_data)
    run = run_swapped(found.elf, own) if own is not None and found.simulated else None
    if run is None:
        return ""
    texts = [[line.text for line in one.lines] for one in (run, found.watched)]
    if texts[0] == texts[1]:
        return "what is printed does not change when two outputs of the image's model are swapped"
    noticed = not passes(case, model, texts[0])
    return f"two swapped outputs of the image's model are {'' if noticed else 'not '}noticed"


def _fit(found: Draft, shapes: Sequence[Shape]) -> Fit | None:
    model = _model(found.model_data)
    if model is None:
        return None
    return find_fit(shapes, found.watched.lines, model, over=found.watched.over)


def _model(data: bytes) -> Model | None:
    """The model of a file's bytes; None for others."""
    try:
        return Model.from_bytes(data) if data else None
    except BadModel:
        return None


def _case(found: Draft, folder: Path, name: str, shapes: Sequence[Shape]) -> Case:
    """The case of an image whose text is read."""
    fit, frozen, over = found.fit, found.frozen, found.watched.over
    expect = Expected(values=frozen.results, lines_absent=(ABSENT,))
    last = found.watched.lines[-1].time
    case = Case(
        name, found.elf, scraper=frozen.regexes or "", expect=expect, end=_end(found, shapes),
        timeout=max(TIMEOUT, math.ceil(2 * last)),
    )  # fmt: skip
    if fit is None:
        return replace(case, inferences=len(frozen.results))
    return replace(
        case,
        model=found.model_file or folder / f"{found.elf.stem}_model.tflite",
        inputs=fit.printed.inputs,
        outputs=fit.printed.outputs,
        inferences=fit.inferences if over else min(fit.inferences, _ENOUGH),
    )


def _end(
    found: Draft, shapes: Sequence[Shape]
) -> Literal["idle", "never", "system_off"] | LastLine:
    """The end: the last line, if it is words that come once."""
    match found.watched.stop:
        case Stop.IDLE:
            last = max(shapes, key=lambda one: one.rows[-1].line.number)
            closes = last.is_text and len(last.rows) == 1
            return LastLine(f"^{escaped(last.rows[0].line.text)}$") if closes else "idle"
        case Stop.SYSTEM_OFF:
            return "system_off"
    return "never"


def _named(found: Draft, name: str, scraper: str) -> Case:
    """The case of an image with records, or with a suite of tests."""
    ends = scraper == "" or SCRAPERS[scraper]().end is not None or found.watched.over
    model = found.model_file if scraper == "" else None
    return Case(name, found.elf, scraper=scraper, model=model, end="idle" if ends else "never")


def _named_scraper(content: bytes, watched: Watched) -> str | None:
    """The built-in scraper for the image; "" for an image with records, None if there is none."""
    for scraper, signature in _SIGNATURES.items():
        if signature in content:
            return scraper
    return "unity" if "unity" in scrapers_that_fit(watched.lines) else None
