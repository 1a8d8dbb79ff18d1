"""Measure a model with the official interpreter and write its card, ``NAME.toml``.

Needs the PyPI packages ``tflite-micro``, ``tflite`` and ``tomli-w``, not TensorFlow.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tflite
import tomli_w
from tflite_micro import runtime

FOLDER = Path(__file__).resolve().parent.parent
ARENA_BYTES = 256 * 1024
VERSIONS = ("tensorflow-cpu", "keras", "numpy", "scikit-learn", "tflite-micro")

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Subject:
    """A model to measure: where its inputs come from and how it is judged."""

    title: str
    module: str
    seed: int
    test: str
    inputs: str
    judge: Callable[[Array, np.lib.npyio.NpzFile], dict[str, float]]
    run: Callable[[Path, Array], Array]
    measured_with: str


def accuracy(outputs: Array, test: np.lib.npyio.NpzFile) -> dict[str, float]:
    """Share of rows whose largest output is that of the label."""
    return {"accuracy": float(np.mean(outputs.argmax(axis=1) == test["labels"]))}


def error(outputs: Array, test: np.lib.npyio.NpzFile) -> dict[str, float]:
    """Largest and root-mean-square distance to the true function values."""
    distance = outputs.astype(np.float64) - test["targets"]
    return {
        "largest_error": float(f"{np.abs(distance).max():.4g}"),
        "rms_error": float(f"{np.sqrt(np.mean(distance**2)):.4g}"),
    }


def official(model: Path, inputs: Array) -> Array:
    """All outputs, (N, ...), real values: dequantized if the model's outputs are quantized."""
    interpreter = runtime.Interpreter.from_file(str(model), arena_size=ARENA_BYTES)
    outputs = []
    for row in inputs:
        interpreter.set_input(row[None], 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0)[0])
    result = np.array(outputs)
    quantization = interpreter.get_output_details(0)["quantization_parameters"]
    if len(quantization["scales"]):
        real = result.astype(np.float64) - quantization["zero_points"][0]
        result = real * quantization["scales"][0]
    return result


def shifted_atan(model: Path, inputs: Array) -> Array:
    """The outputs of ``atan_float32``, by NumPy: the official interpreter has no Atan."""
    flatbuffer = tflite.Model.GetRootAsModel(model.read_bytes(), 0)
    graph = flatbuffer.Subgraphs(0)
    offset = flatbuffer.Buffers(graph.Tensors(graph.Operators(0).Inputs(1)).Buffer()).DataAsNumpy()
    result: Array = np.arctan(inputs + offset.view(np.float32))
    return result


def _names() -> dict[int, str]:
    codes = vars(tflite.BuiltinOperator).items()
    return {value: name for name, value in codes if isinstance(value, int)}


def operators(model: tflite.Model) -> list[dict[str, Any]]:
    """Operator codes in order of first use, with version and number of uses."""
    graph = model.Subgraphs(0)
    names = _names()
    uses = Counter(graph.Operators(i).OpcodeIndex() for i in range(graph.OperatorsLength()))
    found = []
    for index, count in uses.items():
        code = model.OperatorCodes(index)
        builtin = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
        custom = builtin == tflite.BuiltinOperator.CUSTOM
        name = code.CustomCode().decode() if custom else names[builtin]
        found.append({"name": name, "version": code.Version(), "count": count, "custom": custom})
    return found


def multiply_accumulates(model: tflite.Model) -> int:
    """Multiplications with weights in one inference: output elements times taps of each filter."""
    graph = model.Subgraphs(0)
    kinds = tflite.BuiltinOperator
    total = 0
    for i in range(graph.OperatorsLength()):
        operator = graph.Operators(i)
        kind = model.OperatorCodes(operator.OpcodeIndex()).BuiltinCode()
        if kind not in (kinds.CONV_2D, kinds.DEPTHWISE_CONV_2D, kinds.FULLY_CONNECTED):
            continue
        weights = graph.Tensors(operator.Inputs(1)).ShapeAsNumpy()
        outputs = int(np.prod(graph.Tensors(operator.Outputs(0)).ShapeAsNumpy()))
        # Filter layouts: (O, H, W, I), depthwise (1, H, W, O), dense (O, I).
        taps = weights[1:3] if kind == kinds.DEPTHWISE_CONV_2D else weights[1:]
        total += outputs * int(np.prod(taps))
    return total


def write(name: str, subject: Subject) -> None:
    """Measure ``name`` and write its card."""
    path = FOLDER / f"{name}.tflite"
    data = path.read_bytes()
    model = tflite.Model.GetRootAsModel(data, 0)
    test = np.load(FOLDER / subject.test)
    inputs = test[subject.inputs]
    card = {
        "title": subject.title,
        "file": path.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "crc32": f"{zlib.crc32(data):08x}",
        "bytes": len(data),
        "multiply_accumulates": multiply_accumulates(model),
        "operators": operators(model),
        "test": {
            "file": subject.test,
            "inputs": subject.inputs,
            "rows": len(inputs),
            "measured_with": subject.measured_with,
            **subject.judge(subject.run(path, inputs), test),
        },
        "made_with": {
            "module": f"training.{subject.module}",
            "seed": subject.seed,
            "python": platform.python_version(),
            "machine": platform.machine(),
            **{package: importlib.metadata.version(package) for package in VERSIONS},
        },
    }
    head = "# Written by train.py; README.md explains the fields.\n"
    (FOLDER / f"{name}.toml").write_text(head + tomli_w.dumps(card), encoding="ascii")
