"""Sums, quotients, norms and slopes equal the official interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from model_builder import ACTIVATIONS, T
from operator_cases import Draw, agree, broadcasting, cases, draws, single, thinned
from oracle import Oracle, Oracles

FUSED = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def _integers(values: object) -> T:
    array = np.asarray(values, np.int32)
    return T(array.shape, "int32", data=array)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_add_n_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    """LiteRT has no int8."""
    x = draw.tensor(draw.shape(1, 4), dtype)
    count = draw.int(2, 5)
    y = T(x.shape, dtype)
    if dtype == "int8":
        y.scale, y.zero = float(np.float32(x.scale * draw.power(-18, 8))), draw.zero(dtype)
    tensors = [*[x] * count, y]
    options = ("AddN", {})
    agree([micro], single(draw, "ADD_N", tensors, range(count), options, fed=range(count)))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_cumsum_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    """LiteRT has no int8."""
    x = draw.tensor(draw.shape(1, 4), dtype)
    y = T(x.shape, dtype)
    if dtype == "int8":
        y.scale, y.zero = float(np.float32(x.scale * draw.power(-18, 8))), draw.zero(dtype)
    axis = draw.int(-len(x.shape), len(x.shape) - 1)
    options = ("Cumsum", {"Exclusive": draw.flag(), "Reverse": draw.flag()})
    agree([micro], single(draw, "CUMSUM", [x, _integers([axis]), y], [0, 1], options))


@pytest.mark.litert_differs("int16", reason="LiteRT refuses this variant")
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@cases
@given(draw=draws())
def test_squared_difference_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    tensors = [draw.tensor(shape, dtype) for shape in (a_shape, b_shape, y_shape)]
    agree(
        official,
        single(draw, "SQUARED_DIFFERENCE", tensors, [0, 1], ("SquaredDifference", {}), fed=(0, 1)),
    )


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32"])
@cases
@given(draw=draws())
def test_div_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    tensors = [draw.tensor(shape, dtype) for shape in (a_shape, b_shape, y_shape)]
    if dtype == "int8":  # with larger scales zeros are shifted by 32 bits, which is undefined
        tensors[2].scale = float(
            np.float32(tensors[0].scale / tensors[1].scale * draw.power(-14, -8))
        )
    fields = {"FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)]}
    case = single(draw, "DIV", tensors, [0, 1], ("Div", fields), fed=(0, 1))
    zero = tensors[1].zero if dtype == "int8" else 0
    for arrays in case.inputs:
        arrays[1][arrays[1] == zero] = 1 if zero != 1 else 2
        if dtype == "int32":  # the one quotient that does not fit
            arrays[0][arrays[0] == -(2**31)] = 7
    agree([micro], case)


@pytest.mark.parametrize("op", ["FLOOR_DIV", "FLOOR_MOD"])
@cases
@given(draw=draws())
def test_floored_quotients_equal(op: str, official: Oracles, draw: Draw) -> None:
    a_shape, b_shape, y_shape = broadcasting(draw)
    tensors = [T(shape, "float32") for shape in (a_shape, b_shape, y_shape)]
    table = "FloorDiv" if op == "FLOOR_DIV" else "FloorMod"
    agree(official, single(draw, op, tensors, [0, 1], (table, {}), fed=(0, 1)))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_l2_normalization_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    lead = draw.shape(0, 3, 3)
    x = draw.tensor((*lead, draw.one(1, 2, 3, 17, draw.int(1, 900))), dtype)
    y = T(x.shape, dtype, *((1 / 128, 0) if dtype == "int8" else ()))
    terms = x.shape[-1]
    bound = (
        (lambda _, arrays: [np.full(y.shape, (terms + 6) * 2.0**-24)]) if dtype != "int8" else None
    )
    options = ("L2Norm", {})
    agree(official, single(draw, "L2_NORMALIZATION", [x, y], [0], options, bound=bound))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_log_softmax_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    lead = draw.shape(0, 3, 3)
    x = draw.tensor((*lead, draw.one(1, 2, 3, 17, draw.int(1, 600))), dtype)
    y = T(x.shape, dtype, *((1 / 16, 127) if dtype == "int8" else ()))
    options = ("LogSoftmax", {})
    terms = x.shape[-1]

    def bound(_: object, arrays: list[np.ndarray]) -> list[np.ndarray]:
        spread = arrays[0].max() - arrays[0].min() + np.log(terms) + 1
        return [np.full(y.shape, (terms + 8) * spread * 2.0**-24)]

    more = {} if dtype == "int8" else {"bound": bound}
    agree(official, single(draw, "LOG_SOFTMAX", [x, y], [0], options, **more))


@cases
@given(draw=draws())
def test_l2_pool_2d_equals(official: Oracles, draw: Draw) -> None:
    n, c = draw.int(1, 2), draw.int(1, 3)
    h, w, kh, kw, sh, sw = (draw.int(1, most) for most in (6, 6, 3, 3, 3, 3))
    padding = draw.int(0, 1)
    if padding:
        h, w = max(h, kh), max(w, kw)
    out = [
        -(-size // step) if not padding else (size - kernel) // step + 1
        for size, kernel, step in ((h, kh, sh), (w, kw, sw))
    ]
    fields = {
        "Padding": padding,
        "StrideH": sh,
        "StrideW": sw,
        "FilterHeight": kh,
        "FilterWidth": kw,
        "FusedActivationFunction": ACTIVATIONS[draw.one(*FUSED)],
    }
    tensors = [T((n, h, w, c), "float32"), T((n, *out, c), "float32")]
    agree(official, single(draw, "L2_POOL_2D", tensors, [0], ("Pool2D", fields), ulps=kh * kw + 2))


@pytest.mark.litert_differs("int8", "float32", reason="LiteRT refuses this variant")
@pytest.mark.parametrize("dtype", ["int8", "float32"])
@cases
@given(draw=draws())
def test_elu_equals(dtype: str, official: Oracles, draw: Draw) -> None:
    x = draw.tensor(draw.shape(1, 4), dtype)
    y = draw.tensor(x.shape, dtype)
    agree(official, single(draw, "ELU", [x, y], [0], ulps=2 if dtype == "float32" else 0))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@cases
@given(draw=draws())
def test_prelu_equals(dtype: str, micro: Oracle, draw: Draw) -> None:
    """LiteRT requires its slopes' shape to lack the batch axis."""
    x = draw.tensor(draw.shape(1, 4), dtype)
    slopes = "float32" if dtype == "float32" else "int8"
    alpha = draw.tensor(thinned(draw, x.shape), slopes)
    if draw.flag():
        alpha.data = draw.array(alpha.shape, slopes)
    y = draw.tensor(x.shape, dtype)
    fed = (0,) if alpha.data is not None else (0, 1)
    agree([micro], single(draw, "PRELU", [x, alpha, y], [0, 1], fed=fed))
