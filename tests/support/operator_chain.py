"""Models of which only the operators matter, as a resolver has to register them."""

from __future__ import annotations

from model_builder import Op, T, build

from harness.model import Model


def operator_chain(*operators: str, custom: str = "") -> Model:
    """A model that is a chain of these operators, each in its second version."""
    names = [*operators, *(["CUSTOM"] if custom else [])]
    rows = [
        Op(name, [i], [i + 1], version=2, custom=custom if name == "CUSTOM" else "")
        for i, name in enumerate(names)
    ]
    tensors = [T([1, 4], scale=0.5) for _ in range(len(names) + 1)]
    return Model.from_bytes(build(tensors, rows, [0], [len(names)]), "made.tflite")
