"""A batch of a stateful model equals its inferences in sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from flatbuffers import flexbuffers
from hypothesis import given
from hypothesis import strategies as st
from model_builder import Graph, Op, T, build, build_graphs

from harness.base import paths
from harness.model import Model
from harness.reference import Interpreter

_NAME = ("VarHandle", {"SharedName": "rows"})
_OTHER = ("VarHandle", {"SharedName": "others"})


def _int16(shape: tuple[int, ...]) -> T:
    return T(shape, "int16")


def _constant(values: list[int]) -> T:
    return T((len(values),), "int32", data=np.array(values))


def _model(
    old: int,
    new: int,
    width: int = 2,
    *,
    start: int | None = None,
    tensors: Sequence[T] = (),
    **more: list[Op],
) -> Model:
    """Keeps ``old`` rows, takes ``new`` ones, gives all of them and what their end is.

    Tensors: 0 new rows, 1 handle, 2 old rows, 3 joined, 4 begin, 5 end, 6 strides, 7 kept,
    8 joined again, 9 another handle, 10 more old rows; then ``tensors``.
    """
    kept, joined = T((1, old, width), "int8", 0.5, 3), T((1, old + new, width), "int8", 0.5, 3)
    handle, cut = T((), "resource"), new if start is None else start
    own = [
        T((1, new, width), "int8", 0.5, 3),
        handle,
        kept,
        joined,
        *map(_constant, ([0, cut, 0], [0, cut + old, 0], [1, 1, 1])),
        kept,
        joined,
        handle,
        kept,
    ]
    masks = {"BeginMask": 5, "EndMask": 5}
    operators = [
        Op("CALL_ONCE", [], [], ("CallOnce", {"InitSubgraphIndex": 1})),
        Op("VAR_HANDLE", [], [1], _NAME),
        Op("READ_VARIABLE", [1], [2]),
        Op("CONCATENATION", more.get("join", [2, 0]), [3], ("Concatenation", {"Axis": 1})),
        Op("STRIDED_SLICE", [3, 4, 5, 6], [7], ("StridedSlice", masks)),
        Op("ASSIGN_VARIABLE", [1, 7], []),
        Op("RELU", [3], [8]),
        *more.get("then", []),
    ]
    first = T(kept.shape, "int8", 0.5, 3, data=np.arange(old * width).reshape(kept.shape))
    init = [Op("VAR_HANDLE", [], [0], _NAME), Op("ASSIGN_VARIABLE", [0, 1], [])]
    main = Graph([*own, *tensors], operators, [0], [8, 7, *more.get("out", [])])
    return Model.from_bytes(build_graphs([main, Graph([handle, first], init, [], [])]))


def _hold(model: Model, sizes: list[int], seed: int = 0) -> None:
    """Batches of those sizes, one after another, and the single inferences that they stand for."""
    rng = np.random.default_rng(seed)
    together, alone = Interpreter(model), Interpreter(model)
    for size in sizes:
        x = [rng.integers(-128, 128, (size, *t.shape)).astype(t.dtype) for t in model.inputs]
        obtained = together.invoke_batch(x)
        rows = [alone.invoke([each[row] for each in x]) for row in range(size)]
        for got, want in zip(obtained, zip(*rows, strict=True), strict=True):
            np.testing.assert_array_equal(got, np.stack(want))


@given(
    old=st.integers(1, 6),
    new=st.integers(1, 4),
    width=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_old_rows_and_new_ones(old: int, new: int, width: int, sizes: list[int]) -> None:
    model = _model(old, new, width)
    _hold(model, sizes)


def _cut_first(kept: int, old: int, new: int, first: int) -> Model:
    """Of ``kept`` rows ``old`` from ``first`` on are joined with ``new`` ones; the end is kept.

    Tensors: 0 new rows, 1 handle, 2 what was kept, 3 the old ones of it, 4 joined, 5 to 7 and 8 to
    10 begin, end and strides of both cuts, 11 what is kept, 12 joined again.
    """
    rows = T((1, kept, 2), "int8", 0.5, 3)
    joined = T((1, old + new, 2), "int8", 0.5, 3)
    ends = [0, first, 0], [0, first + old, 0], [1, 1, 1], [0, old + new - kept, 0]
    tensors = [
        T((1, new, 2), "int8", 0.5, 3),
        T((), "resource"),
        rows,
        T((1, old, 2), "int8", 0.5, 3),
        joined,
        *map(_constant, (*ends, [0, old + new, 0], [1, 1, 1])),
        rows,
        joined,
    ]
    masks = ("StridedSlice", {"BeginMask": 5, "EndMask": 5})
    whole = old + new == kept
    operators = [
        Op("VAR_HANDLE", [], [1], _NAME),
        Op("READ_VARIABLE", [1], [2]),
        Op("STRIDED_SLICE", [2, 5, 6, 7], [3], masks),
        Op("CONCATENATION", [3, 0], [4], ("Concatenation", {"Axis": 1})),
        *([] if whole else [Op("STRIDED_SLICE", [4, 8, 9, 10], [11], masks)]),
        Op("ASSIGN_VARIABLE", [1, 4 if whole else 11], []),
        Op("RELU", [4], [12]),
    ]
    return Model.from_bytes(build(tensors, operators, [0], [12]))


@given(
    old=st.integers(1, 6),
    new=st.integers(1, 4),
    less=st.integers(0, 3),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_old_rows_whose_end_is_joined(old: int, new: int, less: int, sizes: list[int]) -> None:
    kept = max(old, old + new - less)
    model = _cut_first(kept, old, new, kept - old)
    _hold(model, sizes)


def test_old_rows_whose_front_is_joined() -> None:
    model = _cut_first(5, 3, 2, 1)
    _hold(model, [1, 5, 3])


def test_the_samples_stream() -> None:
    _hold(Model.from_file(paths.models() / "chime_int8.tflite"), [1, 50, 7])


def test_a_reset_and_a_restart_come_between_batches() -> None:
    interpreter, x = Interpreter(_model(3, 1)), np.ones((2, 1, 1, 2), np.int8)
    first = interpreter.invoke_batch([x])[0]
    interpreter.reset()
    after_reset = interpreter.invoke_batch([x])[0]
    interpreter.restart()
    assert np.array_equal(interpreter.invoke_batch([x])[0], first)
    assert after_reset[0].ravel().tolist() == [3] * 6 + [3] * 2
    assert not np.array_equal(after_reset, first)


def test_a_batch_leaves_the_tensors_of_the_last_inference_alone() -> None:
    interpreter, x = Interpreter(_model(3, 1)), np.ones((4, 1, 1, 2), np.int8)
    interpreter.invoke([x[0]])
    before = interpreter.tensors[3].tolist()
    interpreter.invoke_batch([x + 1])
    assert interpreter.tensors[3].tolist() == before


@given(
    memory=st.integers(1, 6),
    batch=st.integers(1, 2),
    rank=st.integers(1, 2),
    state=st.sampled_from(["int8", "int16", "float32"]),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_svdf(memory: int, batch: int, rank: int, state: str, sizes: list[int]) -> None:
    model = _svdf(memory, batch, rank, state)
    _hold(model, sizes)


def _svdf(memory: int, batch: int, rank: int, state: str, out: tuple[int, ...] = ()) -> Model:
    """Three units; tensors: 0 input, 1 and 2 weights, 3 bias, 4 state, 5 output, 6 an addend."""
    rng = np.random.default_rng(memory)
    filters, real = 3 * rank, state == "float32"
    dtype = "float32" if real else "int8"

    def weights(kind: str, *shape: int) -> T:
        data = rng.normal(size=shape) if real else rng.integers(-99, 99, shape)
        return T(shape, kind, 0.0 if real else 1e-4 if kind == "int32" else 0.01, data=data)

    tensors = [
        T((batch, 4), dtype, 0.05, 0 if real else 3),
        weights(dtype, filters, 4),
        weights(state, filters, memory),
        weights("float32" if real else "int32", 3),
        T((batch, filters * memory), state, 0.01, variable=True),
        T((batch, 3), dtype, 0.02, 0 if real else 5),
    ]
    options = ("SVDF", {"Rank": rank})
    operators = [Op("SVDF", [0, 1, 2, 3, 4], [5], options)]
    return Model.from_bytes(build(tensors, operators, [0], [5, *out]))


def test_a_variable_that_is_an_output() -> None:
    model = _svdf(3, 1, 1, "int16", out=(4,))
    _hold(model, [1, 5, 3])


_READ_AGAIN = [Op("READ_VARIABLE", [1], [10])]
_TWO = [
    Op("VAR_HANDLE", [], [9], _OTHER),
    Op("ASSIGN_VARIABLE", [9, 7], []),
    Op("READ_VARIABLE", [9], [10]),
]


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(_model(3, 2, join=[0, 2]), id="the new rows come first"),
        pytest.param(_model(3, 2, start=1), id="what is kept is not the end"),
        pytest.param(_model(3, 2, out=[2]), id="old rows are an output"),
        pytest.param(_model(3, 2, then=_READ_AGAIN, out=[10]), id="rows are read again"),
        pytest.param(_model(3, 2, then=_TWO, out=[10]), id="another resource"),
        pytest.param(
            _model(3, 2, then=[Op("ASSIGN_VARIABLE", [1, 2], [])]), id="old rows are kept again"
        ),
    ],
)
def test_rows_that_are_remembered_in_another_way(model: Model) -> None:
    _hold(model, [1, 5, 3])


def test_new_rows_that_are_the_same_in_each_inference() -> None:
    """Tensor 8 is a constant behind the old rows."""
    kept, joined = T((1, 3, 2), "int8", 0.5), T((1, 4, 2), "int8", 0.5)
    tensors = [
        T((1, 2), "int8", 0.5),
        T((), "resource"),
        kept,
        joined,
        *map(_constant, ([0, 1, 0], [0, 4, 0], [1, 1, 1])),
        kept,
        T((1, 1, 2), "int8", 0.5, 0, [[[7, -7]]]),
        joined,
        T((1, 2), "int8", 0.5),
    ]
    masks = {"BeginMask": 5, "EndMask": 5}
    operators = [
        Op("VAR_HANDLE", [], [1], _NAME),
        Op("READ_VARIABLE", [1], [2]),
        Op("CONCATENATION", [2, 8], [3], ("Concatenation", {"Axis": 1})),
        Op("STRIDED_SLICE", [3, 4, 5, 6], [7], ("StridedSlice", masks)),
        Op("ASSIGN_VARIABLE", [1, 7], []),
        Op("RELU", [3], [9]),
        Op("RELU", [0], [10]),
    ]
    model = Model.from_bytes(build(tensors, operators, [0], [9, 10]))
    _hold(model, [1, 5, 2])


def test_two_lines_of_old_rows_are_remembered_each_by_itself() -> None:
    """The second one keeps what the first one gives."""
    masks = {"BeginMask": 5, "EndMask": 5}
    then = [
        Op("VAR_HANDLE", [], [9], _OTHER),
        Op("READ_VARIABLE", [9], [11]),
        Op("CONCATENATION", [11, 0], [12], ("Concatenation", {"Axis": 1})),
        Op("STRIDED_SLICE", [12, 13, 14, 6], [15], ("StridedSlice", masks)),
        Op("ASSIGN_VARIABLE", [9, 15], []),
    ]
    kept = T((1, 4, 2), "int8", 0.5, 3)
    more = [
        kept,
        T((1, 6, 2), "int8", 0.5, 3),
        *map(_constant, ([0, 2, 0], [0, 6, 0])),
        kept,
    ]
    model = _model(3, 2, tensors=more, then=then, out=[12])
    _hold(model, [1, 5, 2])


def _custom(name: str, flex: dict[str, int], *tensors: T) -> Model:
    """The operator alone, from tensor 0 to all others."""
    outputs = list(range(1, len(tensors)))
    options = flexbuffers.Dumps(flex)
    operator = Op(name, [0], outputs, custom=name, custom_options=options)
    return Model.from_bytes(build(tensors, [operator], [0], outputs))


def _noise(clamps: bool) -> Model:
    flex = {
        "alternate_one_minus_smoothing": 600,
        "alternate_smoothing": 424,
        "clamping": clamps,
        "min_signal_remaining": 51,
        "num_channels": 3,
        "one_minus_smoothing": 1000,
        "smoothing": 24,
        "smoothing_bits": 4,
        "spectral_subtraction_bits": 10,
    }
    return _custom("SignalFilterBankSpectralSubtraction", flex, *(T((3,), "uint32"),) * 3)


_STACK = {
    "num_channels": 2,
    "stacker_left_context": 1,
    "stacker_right_context": 1,
    "stacker_step": 2,
}


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(_noise(True), id="noise, clamped"),
        pytest.param(_noise(False), id="noise"),
        pytest.param(
            _custom("SignalDelay", {"delay_length": 3}, *(T((2,), "int16"),) * 2), id="delay"
        ),
        pytest.param(
            _custom("SignalStacker", _STACK, T((2,), "int16"), T((6,), "int16"), T((), "bool")),
            id="stacker",
        ),
        pytest.param(
            _custom("SignalOverlapAdd", {"T": 7, "frame_step": 2}, *map(_int16, ((2, 3), (4,)))),
            id="overlap",
        ),
    ],
)
def test_an_operator_with_a_buffer_of_its_own(model: Model) -> None:
    assert Interpreter(model).stateful
    _hold(model, [1, 5, 3])


def test_a_state_that_two_operators_share() -> None:
    """Each moves the other's rows on."""
    rng = np.random.default_rng(3)
    tensors = [
        T((1, 4), "int8", 0.05, 3),
        T((3, 4), "int8", 0.01, data=rng.integers(-99, 99, (3, 4))),
        T((3, 3), "int16", 0.01, data=rng.integers(-99, 99, (3, 3))),
        T((1, 9), "int16", 0.01, variable=True),
        T((1, 3), "int8", 0.02, 5),
        T((1, 3), "int8", 0.02, 5),
    ]
    options = ("SVDF", {"Rank": 1})
    operators = [Op("SVDF", [0, 1, 2, -1, 3], [y], options) for y in (4, 5)]
    model = Model.from_bytes(build(tensors, operators, [0], [4, 5]))
    _hold(model, [1, 5, 3])


@pytest.mark.parametrize("kind", ["IF", "WHILE"])
def test_a_model_that_calls_subgraphs(kind: str) -> None:
    """They may remember, too."""
    x, handle = T((2,), "float32"), T((), "resource")
    if kind == "IF":
        call = Op("IF", [3, 0], [2], ("If", {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}))
    else:
        call = Op("WHILE", [0], [2], ("While", {"CondSubgraphIndex": 2, "BodySubgraphIndex": 1}))
    name = ("VarHandle", {"SharedName": "last"})
    keeps = [
        Op("VAR_HANDLE", [], [1], name),
        Op("READ_VARIABLE", [1], [2]),
        Op("ASSIGN_VARIABLE", [1, 0], []),
    ]
    body = Graph([x, handle, x], keeps, [0], [2])
    less = Op("LESS", [0, 1], [2], ("Less", {}))
    never = Graph([x, T((2,), "float32", data=[-999, -999]), T((2,), "bool")], [less], [0], [2])
    other = body if kind == "IF" else never
    true = T((1,), "bool", data=[True])
    main = Graph([x, handle, x, true], [call], [0], [2])
    model = Model.from_bytes(build_graphs([main, body, other]))
    assert Interpreter(model).stateful
    _hold(model, [1, 4, 2])
