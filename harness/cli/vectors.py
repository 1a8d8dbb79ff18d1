"""``tflm-hil vectors``."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import click
import numpy as np

from harness.base import files, numbers, signals
from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.base.text import count_of
from harness.case.inputs import load_batch
from harness.case.subject import find_model
from harness.cli.options import arithmetic_options, json_option, number_option
from harness.cli.output import write_text
from harness.cli.parameters import EXISTING, MODEL, STDOUT, Destination
from harness.model import Model
from harness.reference.adequacy import Adequacy, examine
from harness.reference.vectors import COUNT, FoundVectors, by_operator, find_vectors


@click.command()
@click.argument("model", metavar="MODEL", type=MODEL)
@click.option("--input", "--inputs", "input_file", type=EXISTING,
              help=".npy or .npz to examine and start from: one row per inference.")  # fmt: skip
@click.option("--quantize", is_flag=True,
              help="Quantize real-valued inputs, as TensorFlow Lite does.")  # fmt: skip
@click.option("--output", type=Destination(),
              help=".npz for the inputs that are found; with --inputs and without --output there "
                   "is no search.")  # fmt: skip
@number_option("--count", check=numbers.count, default=COUNT, metavar="N",
               help="Largest number of inputs.")  # fmt: skip
@number_option("--seed", check=numbers.count_or_zero, default=0, metavar="N",
               help="Seed of the search.")  # fmt: skip
@number_option("--workers", check=numbers.count, metavar="N",
               help="Processes of the search.", default_text="one per core")  # fmt: skip
@arithmetic_options
@json_option("the adequacy")
def vectors(  # noqa: PLR0917 - one parameter per option
    model: str,
    input_file: Path | None,
    quantize: bool,
    output: Path | None,
    count: int,
    seed: int,
    workers: int | None,
    arithmetic: Arithmetic,
    json_file: Path | None,
) -> None:
    """Find inputs that detect likely mistakes in implementations of MODEL's operators.

    Each mistake of a table (a missing clamp or zero point, the stride of the other axis, the other
    rounding of halves ...) is made in each operator in turn; an input detects it if an output of
    the model changes. With --inputs, the mistakes that those inputs do not detect are listed. With
    --output, further inputs are searched until each mistake is detected, or no more are found; the
    file can be the `inputs` of a case.

    \b
    tflm-hil vectors model.tflite --output vectors.npz
    tflm-hil vectors model.tflite --inputs mine.npz
    """
    content = Model.from_file(find_model(model))
    if quantize and input_file is None:
        raise UsageError("--quantize needs --inputs", hint="it quantizes the values in that file")
    if output is not None and output.suffix != ".npz":
        raise UsageError(f"{output} is not an .npz file", hint="--output vectors.npz")
    given = [] if input_file is None else load_batch(input_file, content, real=quantize)
    document: dict[str, object] = {"model": content.name}
    say = (lambda _: None) if json_file == STDOUT else click.echo
    if given:
        own = examine(content, given, arithmetic)
        say(_report(f"{input_file}: {count_of(own.runs, 'input')}", own))
        document["given"] = own.to_json()
    if not given or output is not None:
        executor = ProcessPoolExecutor(workers, None, signals.worker, (os.getpid(),))
        with executor as pool, _Progress() as progress:
            found = find_vectors(content, given, arithmetic=arithmetic, count=count, seed=seed,
                         over=pool.map, progress=progress)  # fmt: skip
        title = f"found in {found.seconds:.0f} s: {count_of(found.adequacy.runs, 'input')}"
        say(_report(title, found.adequacy))
        document["found"] = {**found.adequacy.to_json(), "seed": seed}
        if output is not None:
            _write(output, found)
            say(f"written: {output}")
    write_text(json_file, json.dumps(document))


def _write(path: Path, found: FoundVectors) -> None:
    content, arrays = BytesIO(), found.arrays()
    named: dict[str, Any] = dict(arrays)
    np.savez(content, **named)
    files.write(path, content.getvalue())


def _report(title: str, adequacy: Adequacy) -> str:
    return "\n".join(
        [
            f"{title}, {adequacy}",
            *(
                f"  {operator:<28} {seen:>4} of {possible:>4} noticed"
                for operator, (seen, possible) in by_operator(adequacy).items()
            ),
            *(f"  not noticed: {trial}" for trial in adequacy.missed),
            *(
                f"  cannot be noticed: {trial} ({why})"
                for trial, why in adequacy.equivalent.items()
            ),
        ]
    )


class _Progress:
    """Shows the progress of the search on a terminal, with the remaining time."""

    def __init__(self) -> None:
        self._start: float | None = None
        self._terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int, left: int) -> None:
        if not self._terminal:
            return
        text = f"drawing inputs: {left} mistakes not noticed"
        if total:
            self._start = self._start or time.monotonic()
            rest = (time.monotonic() - self._start) / max(done, 1) * (total - done)
            text = f"searching, {done} of {total}: {left} mistakes not noticed, {rest:.0f} s left"
        click.echo(f"\r{text:<78}", nl=False, err=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal:  # remove the line
            click.echo(f"\r{'':<78}\r", nl=False, err=True)
