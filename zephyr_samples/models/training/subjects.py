"""The models and how each is judged."""

from __future__ import annotations

import ast
from pathlib import Path

from .card import Subject, accuracy, error, official, shifted_atan

OFFICIAL = "tflite-micro"


def _seed(module: str) -> int:
    # Read, not imported: importing a training module would bring TensorFlow into this process.
    tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SEED":
            return int(ast.literal_eval(node.value))
    raise LookupError(f"training/{module}.py has no SEED")


SUBJECTS = {
    "hello_world_int8": Subject(
        title="Sine of an angle: three dense layers, int8",
        module="hello_world",
        seed=_seed("hello_world"),
        test="hello_world_test.npz",
        inputs="int8",
        judge=error,
        run=official,
        measured_with=OFFICIAL,
    ),
    "hello_world_float32": Subject(
        title="Sine of an angle: three dense layers, float32",
        module="hello_world",
        seed=_seed("hello_world"),
        test="hello_world_test.npz",
        inputs="float32",
        judge=error,
        run=official,
        measured_with=OFFICIAL,
    ),
    "digits_int8": Subject(
        title="Handwritten digits: a small MobileNet, int8",
        module="digits",
        seed=_seed("digits"),
        test="digits_test.npz",
        inputs="int8",
        judge=accuracy,
        run=official,
        measured_with=OFFICIAL,
    ),
    "digits_cnn_int8": Subject(
        title="Handwritten digits: a plain CNN, int8 inside, float32 at its ends",
        module="digits_cnn",
        seed=_seed("digits_cnn"),
        test="digits_test.npz",
        inputs="float32",
        judge=accuracy,
        run=official,
        measured_with=OFFICIAL,
    ),
    "residual_int8": Subject(
        title="Handwritten digits: a small residual network, int8",
        module="residual",
        seed=_seed("residual"),
        test="digits_test.npz",
        inputs="int8",
        judge=accuracy,
        run=official,
        measured_with=OFFICIAL,
    ),
    "chime_int8": Subject(
        title="Rising and falling chimes, frame by frame: a streaming network, int8",
        module="chime",
        seed=_seed("chime"),
        test="chime_test.npz",
        inputs="int8",
        judge=accuracy,
        run=official,
        measured_with=OFFICIAL,
    ),
    "atan_float32": Subject(
        title="y = atan(x + offset) with the custom operator Atan, float32",
        module="atan",
        seed=_seed("atan"),
        test="atan_test.npz",
        inputs="float32",
        judge=error,
        run=shifted_atan,
        measured_with="numpy",
    ),
}
