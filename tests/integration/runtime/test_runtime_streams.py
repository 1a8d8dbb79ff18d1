"""What streaming models are made of: slices of ring buffers, and variables that remember."""

from __future__ import annotations

import numpy as np
import pytest
from model_builder import Op, T, build

CASES = 200
INFERENCES = 3


@pytest.mark.timeout(300)
def test_strided_slice_equals_the_official_interpreter(compare, case_types):
    spec, case = case_types
    random = np.random.default_rng(9165)

    def one():
        while True:
            rank = int(random.integers(1, 5))
            shape = tuple(int(n) for n in random.integers(1, 7, size=rank))
            begin, end = (random.integers(-8, 9, size=rank) for _ in range(2))
            steps = random.choice([-2, -1, 1, 1, 1, 2, 3], size=rank)
            masks = [int(random.integers(1 << rank)) for _ in range(2)]
            taken = tuple(
                slice(
                    None if masks[0] >> n & 1 else int(begin[n]),
                    None if masks[1] >> n & 1 else int(end[n]),
                    int(steps[n]),
                )
                for n in range(rank)
            )
            result = np.zeros(shape)[taken].shape
            # What TFLM makes of an end beyond the other end is its own; nobody slices like that.
            reached = all(-shape[n] <= begin[n] < shape[n] for n in range(rank))
            if 0 not in result and reached and all(-shape[n] <= end[n] for n in range(rank)):
                break
        lists = [spec((rank,), dtype="int32", data=np.array(v)) for v in (begin, end, steps)]
        fields = {"beginMask": masks[0], "endMask": masks[1]}
        source, output = spec(shape, scale=0.5), spec(result, scale=0.5)
        values = (random.integers(-128, 128, (INFERENCES, *shape)).astype(np.int8),)
        return case(
            "STRIDED_SLICE", (source, *lists), output, "StridedSliceOptions", fields, values
        )

    compare(one() for _ in range(CASES))


def counter(name: str, start: int, *, same_name: bool = False) -> bytes:
    """A model that gives what it was given one inference earlier, from a variable."""
    handle = ("VarHandle", {"SharedName": name})
    other = ("VarHandle", {"SharedName": name if same_name else f"{name} 2"})
    tensors = [
        T([1, 4], scale=0.5, zero=start),
        T([], "resource"),
        T([1, 4], scale=0.5, zero=start),
        T([], "resource"),
    ]
    operators = [
        Op("VAR_HANDLE", [], [1], handle),
        Op("READ_VARIABLE", [1], [2]),
        Op("VAR_HANDLE", [], [3], other),
        Op("ASSIGN_VARIABLE", [3, 0], []),
    ]
    return build(tensors, operators, [0], [2])


def run(host, tmp_path, model: bytes, values: np.ndarray):
    path = tmp_path / "model.tflite"
    path.write_bytes(model)
    return host.run(path, values.astype(np.int8).tobytes())


def test_a_variable_starts_at_its_zero_point_and_keeps_what_it_is_given(host, tmp_path):
    values = np.arange(12).reshape(3, 4)
    ran = run(host, tmp_path, counter("last", -7, same_name=True), values)
    assert ran.status == 0, ran.log
    obtained = np.frombuffer(ran.output, np.int8).reshape(3, 4)
    assert obtained.tolist() == [[-7] * 4, values[0].tolist(), values[1].tolist()]


def test_a_variable_that_nobody_assigns_cannot_be_read(host, tmp_path):
    ran = run(host, tmp_path, counter("last", 0), np.zeros((1, 4)))
    assert ran.status == 4
    assert "There is no resource variable 0 of 4 bytes" in ran.log
    assert "Node READ_VARIABLE (number 1) failed to invoke with status 1" in ran.log


def test_a_model_with_more_variables_than_there_is_room_for_is_refused(host, tmp_path):
    handles = [("VarHandle", {"SharedName": f"v{n}"}) for n in range(3)]
    tensors = [T([1, 4], scale=0.5), *[T([], "resource") for _ in handles]]
    operators = [Op("VAR_HANDLE", [], [n + 1], each) for n, each in enumerate(handles)]
    ran = run(host, tmp_path, build(tensors, operators, [0], [0]), np.zeros((1, 4)))
    assert ran.status == 3
    assert "There is room for 2 resource variables, not for one more" in ran.log
    assert "Node VAR_HANDLE (number 2) failed to prepare with status 1" in ran.log
