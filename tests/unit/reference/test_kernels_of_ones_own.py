"""User-defined kernels, and models that are refused or contradict their declarations."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from model_builder import Op, T, build

from harness.base.errors import BadModel, EnvironmentMissing, UnsupportedOperator
from harness.model import Model
from harness.reference import (
    Interpreter,
    Kernels,
    Node,
    Run,
)


def _unary(op: str = "CUSTOM", custom: str = "", dtype: str = "float32", version: int = 1) -> Model:
    tensors = [T((3,), dtype), T((3,), dtype)]
    operator = Op(op, [0], [1], custom=custom, version=version)
    return Model.from_bytes(build(tensors, [operator], [0], [1]), "unary")


def test_an_operator_without_kernel_is_named_with_index_and_version() -> None:
    with pytest.raises(UnsupportedOperator, match=r"operator 0 \(UNIQUE, version 7\)"):
        Interpreter(_unary("UNIQUE", version=7))


def test_a_custom_operator_without_kernel_is_named() -> None:
    with pytest.raises(UnsupportedOperator, match=r"\(Fancy, custom operator, version 1\)"):
        Interpreter(_unary(custom="Fancy"))


def _doubled(node: Node) -> Run:
    node.check_output(node.input(0).shape)
    return lambda x: x * np.float32(2)


def test_a_project_adds_its_own_custom_operator() -> None:
    default = Kernels.default()
    kernels = default.with_custom("Fancy", _doubled)
    interpreter = Interpreter(_unary(custom="Fancy"), kernels=kernels)
    (y,) = interpreter.invoke_batch([np.ones((5, 3), np.float32)])
    assert np.array_equal(y, np.full((5, 3), 2, np.float32))
    assert "Fancy" not in default.custom


def test_a_project_replaces_a_built_in_operator() -> None:
    kernels = Kernels.default().with_builtin("NEG", _doubled)
    (y,) = Interpreter(_unary("NEG"), kernels=kernels).invoke([np.ones(3, np.float32)])
    assert y.tolist() == [2, 2, 2]


def _package(folder: Path, body: str) -> None:
    """An installed package that gives a kernel for the custom operator Fancy."""
    (folder / "fancy_kernels.py").write_text(body)
    info = folder / "fancy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fancy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tflm_hil.kernels]\nFancy = fancy_kernels:triple\n")


def test_an_installed_package_gives_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "def triple(node):\n    return lambda x: x * 3\n"
    _package(tmp_path, body)
    monkeypatch.syspath_prepend(tmp_path)
    (y,) = Interpreter(_unary(custom="Fancy")).invoke([np.ones(3, np.float32)])
    assert y.tolist() == [3, 3, 3]


def test_a_broken_entry_point_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "raise ImportError('no such thing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "fancy_kernels", raising=False)
    with pytest.raises(EnvironmentMissing, match="fancy_kernels:triple"):
        Interpreter(_unary(custom="Fancy"))


def test_an_unsupported_type_names_the_operator() -> None:
    with pytest.raises(UnsupportedOperator, match=r"operator 0 \(NEG.*int8"):
        Interpreter(_unary("NEG", dtype="int8"))


def test_a_kernel_with_wrong_outputs_is_an_error() -> None:
    kernels = Kernels.default().with_builtin("NEG", lambda _: lambda x: x[:, :2])
    with pytest.raises(BadModel, match="declares float32"):
        Interpreter(_unary("NEG"), kernels=kernels).invoke([np.ones(3, np.float32)])


def test_a_tensor_read_before_it_is_computed_is_refused() -> None:
    tensors = [T((3,), "float32")] * 3
    model = build(tensors, [Op("NEG", [1], [2]), Op("NEG", [0], [1])], [0], [2])
    with pytest.raises(BadModel, match="reads tensor 1 before"):
        Interpreter(Model.from_bytes(model))


def test_a_type_that_numpy_kernels_do_not_have_is_refused() -> None:
    model = _unary("NEG")
    graph = model.subgraphs[0]
    tensors = (replace(graph.tensors[0], dtype="complex64"), graph.tensors[1])
    with pytest.raises(UnsupportedOperator, match="has the type complex64"):
        Interpreter(replace(model, subgraphs=(replace(graph, tensors=tensors),)))


@pytest.mark.parametrize("name", ["RELU", "RESHAPE"])
def test_an_operator_that_declares_more_outputs_than_it_has_is_refused(name: str) -> None:
    tensors = [T((3,), "int8", 0.5)] * 3
    model = Model.from_bytes(build(tensors, [Op(name, [0], [1, 2])], [0], [1, 2]))
    x = np.ones(3, np.int8)
    for call, given in ((Interpreter.invoke, x), (Interpreter.invoke_batch, x[None])):
        with pytest.raises(BadModel, match="gives 1 outputs, but the model declares 2"):
            call(Interpreter(model), [given])


def test_an_output_that_nothing_computes_is_refused() -> None:
    tensors = [T((3,), "float32")] * 3
    model = build(tensors, [Op("NEG", [0], [1])], [0], [2])
    with pytest.raises(BadModel, match="no operator computes"):
        Interpreter(Model.from_bytes(model))


def test_tensors_beyond_any_microcontroller_are_refused() -> None:
    size = 1 << 27
    tensors = [T((size,), "float32"), T((size,), "float32")]
    with pytest.raises(BadModel, match="elements"):
        Interpreter(Model.from_bytes(build(tensors, [Op("NEG", [0], [1])], [0], [1])))
