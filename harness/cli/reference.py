"""``tflm-hil reference``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import click
import numpy as np

from harness.base import files
from harness.base.arithmetic import Arithmetic
from harness.base.errors import UsageError
from harness.case.inputs import load_batch
from harness.case.subject import find_model
from harness.cli.options import arithmetic_options, json_option
from harness.cli.output import write_text
from harness.cli.parameters import EXISTING, MODEL, STDOUT, Destination
from harness.model import Model, Operator
from harness.model.pitfalls import pitfalls
from harness.reference import Interpreter
from harness.reference.comparison import plain

_SHOWN = 10  # rows of an output


@click.command()
@click.argument("model", metavar="MODEL", type=MODEL)
@click.option("--input", "--inputs", "input_file",
              type=EXISTING,
              help=".npy or .npz: one row per inference.")  # fmt: skip
@click.option("--quantize", is_flag=True,
              help="Quantize real-valued inputs, as TensorFlow Lite does.")  # fmt: skip
@click.option("--output", type=Destination(),
              help=".npy (one output) or .npz (by index) to write.")  # fmt: skip
@click.option("--layers", is_flag=True, help="Print the outputs of each operator, first row only.")
@arithmetic_options
@json_option("tensors and outputs")
def reference(
    model: str,
    input_file: Path | None,
    quantize: bool,
    output: Path | None,
    layers: bool,
    arithmetic: Arithmetic,
    json_file: Path | None,
) -> None:
    """Run MODEL (a .tflite, or a model of this project) in NumPy, with the arithmetic of TFLM.

    Without --input, the tensors are listed, and the model is run with zero points as input. In
    JSON, NaN and infinities are strings: "nan", "inf", "-inf".

    \b
    tflm-hil reference digits_int8.tflite --layers
    tflm-hil reference model.tflite --input x.npy --output y.npy
    """
    content = Model.from_file(find_model(model))
    interpreter = Interpreter.from_model(content, arithmetic)
    if quantize and input_file is None:
        raise UsageError("--quantize needs --input", hint="it quantizes the values in that file")
    arrays = _inputs(content, input_file, real=quantize)
    results = interpreter.invoke_batch(arrays)
    if output:
        _write(output, results)
    notes = pitfalls(content)
    document = _document(content, arithmetic, results)
    write_text(json_file, json.dumps({**document, "notes": notes}, allow_nan=False))
    if json_file == STDOUT:
        return
    _print_tensors(content)
    for note in notes:
        click.echo(f"note: {note}")
    if layers:
        interpreter.reset()  # the batch changes the state of a stateful model
        interpreter.invoke([array[0] for array in arrays])
        for operator in content.operators:
            click.echo(_layer(operator, interpreter))
    _print_outputs(results)


def _document(
    model: Model, arithmetic: Arithmetic, results: Sequence[np.ndarray]
) -> dict[str, Any]:
    return {
        "model": model.name,
        **asdict(arithmetic),
        "inputs": [tensor.to_json() for tensor in model.inputs],
        "outputs": [
            {**tensor.to_json(), "values": _numbers(values)}
            for tensor, values in zip(model.outputs, results, strict=True)
        ],
    }


def _print_tensors(model: Model) -> None:
    for role, tensors in (("input", model.inputs), ("output", model.outputs)):
        for index, tensor in enumerate(tensors):
            quantization = f", scale {tensor.scale:g}, zero point {tensor.zero_point}"
            click.echo(
                f"{role} {index}: {tensor.name}, {tensor.dtype} {list(tensor.shape)}"
                f"{quantization if tensor.scale else ''}"
            )


def _print_outputs(results: Sequence[np.ndarray]) -> None:
    for index, values in enumerate(results):
        for row in values[:_SHOWN]:
            click.echo(f"output {index}: {np.array2string(row.reshape(-1), threshold=16)}")
        if len(values) > _SHOWN:
            click.echo(f"... {len(values) - _SHOWN} more rows")


def _numbers(values: np.ndarray) -> Any:
    """Nested lists; NaN and infinities, which JSON does not support, are strings."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values.tolist()
    if values.ndim == 0:
        return plain(values.item())
    return [_numbers(row) for row in values]


def _inputs(model: Model, path: Path | None, *, real: bool) -> list[np.ndarray]:
    if path is None:
        return [
            np.full((1, *tensor.shape), tensor.zero_point, tensor.dtype) for tensor in model.inputs
        ]
    return load_batch(path, model, real=real)


def _write(path: Path, results: list[np.ndarray]) -> None:
    content = BytesIO()
    if path.suffix == ".npy" and len(results) == 1:
        np.save(content, results[0])
    elif path.suffix == ".npz":
        arrays: dict[str, Any] = {str(index): values for index, values in enumerate(results)}
        np.savez(content, **arrays)
    else:
        raise UsageError(
            f"cannot write {len(results)} outputs to {path.name}", hint="name a .npz file"
        )
    files.write(path, content.getvalue())


def _layer(operator: Operator, interpreter: Interpreter) -> str:
    parts = []
    for index in operator.outputs:
        values = interpreter.tensors[index]
        text = np.array2string(values.reshape(-1)[:8], separator=" ")
        parts.append(
            f"{values.dtype} {list(values.shape)} {text[:-1]}{' ...]' if values.size > 8 else ']'}"
        )
    return f"{operator.index:>3}  {operator.name:<20} {'; '.join(parts)}"
