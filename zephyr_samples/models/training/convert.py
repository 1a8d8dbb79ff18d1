"""Reproducible training and conversion, shared by all models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema_fb
from tensorflow.lite.python.convert import mlir_quantize
from tensorflow.lite.tools import flatbuffer_utils
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FOLDER = Path(__file__).resolve().parent.parent
Shape = tuple[int, ...]
Call = Callable[[tf.Tensor], tf.Tensor]


def be_deterministic(seed: int) -> None:
    """Seed every generator and forbid kernels whose summation order varies from run to run."""
    tf.keras.utils.set_random_seed(seed)
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.threading.set_intra_op_parallelism_threads(1)


def _converter(call: Call, shape: Shape) -> tf.lite.TFLiteConverter:
    # A fixed batch of 1 lets the converter fold the shape arithmetic around Reshape away. The
    # variables are made constants first: the calibrator has no values for them otherwise.
    spec = tf.TensorSpec(shape, tf.float32, name="input")
    function = tf.function(call, input_signature=[spec]).get_concrete_function()
    frozen = convert_variables_to_constants_v2(function)
    return tf.lite.TFLiteConverter.from_concrete_functions([frozen])


def to_float32(call: Call, shape: Shape, *, custom: bool = False) -> bytes:
    """The flatbuffer of ``call`` with float32 throughout; ``custom`` keeps unknown operators."""
    converter = _converter(call, shape)
    converter.allow_custom_ops = custom
    return bytes(converter.convert())


def to_int8(
    call: Call,
    representative: np.ndarray,
    *,
    float_ends: bool = False,
    per_channel_dense: bool = False,
    one_range: frozenset[int] = frozenset(),
) -> bytes:
    """The fully quantized flatbuffer of ``call``, calibrated on ``representative`` (N, ...).

    ``float_ends`` keeps float32 inputs and outputs behind QUANTIZE and DEQUANTIZE.
    ``per_channel_dense`` quantizes the weights of FULLY_CONNECTED per channel, the converter's
    default; tflite-micro has computed those since September 2024 (its pull request 2673).
    Convolutions are always per channel.
    ``one_range`` holds builtin codes of operators whose output gets the quantization of its input.
    """
    samples = representative.astype(np.float32)
    converter = _converter(call, (1, *samples.shape[1:]))
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([sample[None]] for sample in samples)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    ends = tf.float32 if float_ends else tf.int8
    converter.inference_input_type = ends
    converter.inference_output_type = ends
    # Neither this switch nor stopping between calibration and quantization is public.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = (
        not per_channel_dense
    )
    if not one_range:
        return bytes(converter.convert())
    converter._experimental_calibrate_only = True
    return bytes(
        mlir_quantize(
            _with_one_range(converter.convert(), one_range),
            input_data_type=ends,
            output_data_type=ends,
            disable_per_channel_for_dense_layers=not per_channel_dense,
        )
    )


def to_int8_stream(module: tf.Module, frames: np.ndarray) -> bytes:
    """The fully quantized flatbuffer of ``module``, with variables that last from call to call.

    Calibrated on ``frames`` (N, ...), one after the other. The variables become resource variables
    that start at zero: without the subgraph that would set them, see :func:`_without_call_once`.
    """
    samples = frames.astype(np.float32)
    spec = tf.TensorSpec((1, *samples.shape[1:]), tf.float32, name="input")
    function = tf.function(module.__call__, input_signature=[spec]).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
    converter.experimental_enable_resource_variables = True
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([sample[None]] for sample in samples)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.int8
    converter._experimental_variable_quantization = True  # else the state stays float32
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return _without_call_once(converter.convert())


def _without_call_once(converted: bytes) -> bytes:
    """The model without CALL_ONCE and the subgraph that it runs, which sets variables to zero.

    tflite-micro gives a resource variable its zero point when it is allocated and when it is reset.
    """
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(converted))
    main, once = model.subgraphs
    codes = model.operatorCodes
    call_once = schema_fb.BuiltinOperator.CALL_ONCE
    main.operators = [
        each for each in main.operators if codes[each.opcodeIndex].builtinCode != call_once
    ]
    model.subgraphs = [main]
    used = sorted({each.opcodeIndex for each in main.operators})
    for each in main.operators:
        each.opcodeIndex = used.index(each.opcodeIndex)
    model.operatorCodes = [codes[index] for index in used]
    kept = {tensor.buffer for tensor in main.tensors}
    for tensor in once.tensors:
        if tensor.buffer not in kept:
            model.buffers[tensor.buffer].data = None
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def _with_one_range(calibrated: bytes, operators: frozenset[int]) -> bytes:
    """Widen the calibrated range of each such operator's output to that of its input."""
    model = flatbuffer_utils.read_model_from_bytearray(bytearray(calibrated))
    for graph in model.subgraphs:
        for operator in graph.operators:
            if model.operatorCodes[operator.opcodeIndex].builtinCode in operators:
                source = graph.tensors[operator.inputs[0]].quantization
                result = graph.tensors[operator.outputs[0]].quantization
                result.min, result.max = list(source.min), list(source.max)
    return bytes(flatbuffer_utils.convert_object_to_bytearray(model))


def input_quantization(model: bytes) -> tuple[float, int]:
    """Scale and zero point of the only input of ``model``."""
    interpreter = tf.lite.Interpreter(model_content=model)
    scale, zero_point = interpreter.get_input_details()[0]["quantization"]
    return float(scale), int(zero_point)


def quantize(values: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """Real values to int8: divide by ``scale``, round half to even, add, saturate."""
    steps = np.rint(values.astype(np.float32) / np.float32(scale)) + zero_point
    return np.clip(steps, -128, 127).astype(np.int8)
