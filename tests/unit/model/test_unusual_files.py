"""Valid files that converters rarely write: data after the FlatBuffer, a common zero point."""

from __future__ import annotations

import pytest
from spoilt_models import WEIGHTS, spoilt

from harness.base.errors import BadModel
from harness.model import Model


def changed(change) -> bytes:
    """A small model after ``change`` of its weights' tensor and buffer."""

    def of_weights(model) -> None:
        weights = model.subgraphs[0].tensors[1]
        change(weights, model.buffers[weights.buffer])

    return spoilt(of_weights)


def with_data_behind(offset_from_end: int, size: int) -> bytes:
    """The weights stand behind the FlatBuffer; ``offset_from_end`` shifts where they are said."""

    def move(offset: int):
        def change(weights, buffer) -> None:
            buffer.data, buffer.offset, buffer.size = None, offset, size

        return change

    length = len(changed(move(1 << 20)))
    return changed(move(length + offset_from_end)) + WEIGHTS.tobytes()


def test_data_after_the_flatbuffer_is_read() -> None:
    model = Model.from_bytes(with_data_behind(0, 12), "m")
    assert bytes(model.tensors[1].data) == WEIGHTS.tobytes()


@pytest.mark.parametrize("shift", [1, 100])
def test_data_beyond_the_end_of_the_file_is_refused(shift: int) -> None:
    with pytest.raises(BadModel, match="of 12 bytes is outside the file"):
        Model.from_bytes(with_data_behind(shift, 12), "m")


def zero_points(*values: int):
    def change(weights, buffer) -> None:
        weights.quantization.zeroPoint = list(values)

    return change


def test_one_zero_point_is_that_of_every_channel() -> None:
    quantization = Model.from_bytes(changed(zero_points(4)), "m").tensors[1].quantization
    assert quantization.zero_points == (4, 4, 4)
    assert quantization.scales == pytest.approx((0.1, 0.2, 0.3))


def test_each_channel_keeps_its_own_zero_point() -> None:
    model = Model.from_bytes(changed(zero_points(1, 2, 3)), "m")
    assert model.tensors[1].quantization.zero_points == (1, 2, 3)


def test_a_number_of_zero_points_that_is_neither_one_nor_all_is_refused() -> None:
    with pytest.raises(BadModel, match="3 scales and 2 zero points"):
        Model.from_bytes(changed(zero_points(1, 2)), "m")


@pytest.mark.parametrize("zero", [1 << 31, -(1 << 31) - 1, 1 << 40, -(1 << 40)])
def test_a_zero_point_beyond_32_bits_is_refused(zero: int) -> None:
    with pytest.raises(BadModel, match="zero point outside 32 bits"):
        Model.from_bytes(changed(zero_points(zero)), "m")


def test_the_wrong_identifier_is_shown() -> None:
    data = bytearray(changed(zero_points(0)))
    data[4:8] = b"TFL9"
    with pytest.raises(BadModel, match="b'TFL9'"):
        Model.from_bytes(bytes(data), "m")


@pytest.mark.parametrize("left_out", ["scale", "zeroPoint"])
def test_scales_without_zero_points_and_the_reverse_are_not_a_quantization(left_out: str) -> None:
    def change(weights, buffer) -> None:
        setattr(weights.quantization, left_out, None)

    assert Model.from_bytes(changed(change), "m").tensors[1].quantization is None
