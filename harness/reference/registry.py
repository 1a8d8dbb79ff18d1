"""The table of kernels by operator; an immutable argument of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType

from harness.base.errors import EnvironmentMissing
from harness.reference.node import Kernel, Node, Run

#: The group of entry points for kernels of other packages.
ENTRY_POINTS = "tflm_hil.kernels"

#: Operator -> module and function in :mod:`harness.reference.kernels`, imported on first use.
_BUILTIN: Mapping[str, str] = MappingProxyType(
    {
        "ABS": "elementwise.absolute",
        "ADD": "arithmetic.add",
        "ADD_N": "arithmetic.add_n",
        "ARG_MAX": "reduction.arg_max",
        "ARG_MIN": "reduction.arg_min",
        "ASSIGN_VARIABLE": "variables.assign_variable",
        "AVERAGE_POOL_2D": "pooling.average_pool_2d",
        "BATCH_MATMUL": "fully_connected.batch_matmul",
        "BATCH_TO_SPACE_ND": "blocks.batch_to_space_nd",
        "BROADCAST_ARGS": "fill.broadcast_args",
        "BROADCAST_TO": "fill.broadcast_to",
        "CALL_ONCE": "control_flow.call_once",
        "CAST": "quantization.cast",
        "CEIL": "elementwise.ceiling",
        "CONCATENATION": "shape.concatenation",
        "CONV_2D": "convolution.conv_2d",
        "COS": "elementwise.cosine",
        "CUMSUM": "arithmetic.cumsum",
        "DEPTHWISE_CONV_2D": "convolution.depthwise_conv_2d",
        "DEPTH_TO_SPACE": "blocks.depth_to_space",
        "DEQUANTIZE": "quantization.dequantize",
        "DIV": "arithmetic.div",
        "DYNAMIC_UPDATE_SLICE": "gather.dynamic_update_slice",
        "ELU": "activations.elu",
        "EMBEDDING_LOOKUP": "gather.embedding_lookup",
        "EQUAL": "comparison.equal",
        "EXP": "elementwise.exponential",
        "EXPAND_DIMS": "shape.expand_dims",
        "FILL": "fill.fill",
        "FLOOR": "elementwise.floor",
        "FLOOR_DIV": "arithmetic.floor_div",
        "FLOOR_MOD": "arithmetic.floor_mod",
        "FULLY_CONNECTED": "fully_connected.fully_connected",
        "GATHER": "gather.gather",
        "GATHER_ND": "gather.gather_nd",
        "GREATER": "comparison.greater",
        "GREATER_EQUAL": "comparison.greater_equal",
        "HARD_SWISH": "activations.hard_swish",
        "IF": "control_flow.if_",
        "L2_NORMALIZATION": "normalization.l2_normalization",
        "L2_POOL_2D": "pooling.l2_pool_2d",
        "LEAKY_RELU": "activations.leaky_relu",
        "LESS": "comparison.less",
        "LESS_EQUAL": "comparison.less_equal",
        "LOG": "elementwise.logarithm",
        "LOGICAL_AND": "comparison.logical_and",
        "LOGICAL_NOT": "comparison.logical_not",
        "LOGICAL_OR": "comparison.logical_or",
        "LOGISTIC": "activations.logistic",
        "LOG_SOFTMAX": "normalization.log_softmax",
        "MAXIMUM": "arithmetic.maximum",
        "MAX_POOL_2D": "pooling.max_pool_2d",
        "MEAN": "reduction.mean",
        "MINIMUM": "arithmetic.minimum",
        "MIRROR_PAD": "padding.mirror_pad",
        "MUL": "arithmetic.mul",
        "NEG": "elementwise.negative",
        "NOT_EQUAL": "comparison.not_equal",
        "PACK": "shape.pack",
        "PAD": "padding.pad",
        "PADV2": "padding.pad",
        "PRELU": "activations.prelu",
        "QUANTIZE": "quantization.quantize",
        "READ_VARIABLE": "variables.read_variable",
        "REDUCE_ALL": "reduction.reduce_all",
        "REDUCE_MAX": "reduction.reduce_max",
        "REDUCE_MIN": "reduction.reduce_min",
        "RELU": "activations.relu",
        "RELU6": "activations.relu6",
        "RESHAPE": "shape.reshape",
        "RESIZE_BILINEAR": "resize.resize_bilinear",
        "RESIZE_NEAREST_NEIGHBOR": "resize.resize_nearest_neighbor",
        "REVERSE_V2": "shape.reverse_v2",
        "ROUND": "elementwise.nearest",
        "RSQRT": "elementwise.reciprocal_square_root",
        "SELECT_V2": "comparison.select_v2",
        "SHAPE": "fill.shape",
        "SIN": "elementwise.sine",
        "SLICE": "shape.slice_",
        "SOFTMAX": "normalization.softmax",
        "SPACE_TO_BATCH_ND": "blocks.space_to_batch_nd",
        "SPACE_TO_DEPTH": "blocks.space_to_depth",
        "SPLIT": "shape.split",
        "SPLIT_V": "shape.split_v",
        "SQRT": "elementwise.square_root",
        "SQUARE": "elementwise.square",
        "SQUARED_DIFFERENCE": "arithmetic.squared_difference",
        "SQUEEZE": "shape.squeeze",
        "STRIDED_SLICE": "shape.strided_slice",
        "SUB": "arithmetic.sub",
        "SUM": "reduction.total",
        "SVDF": "svdf.svdf",
        "TANH": "activations.tanh",
        "TRANSPOSE": "shape.transpose",
        "TRANSPOSE_CONV": "convolution.transpose_conv",
        "UNIDIRECTIONAL_SEQUENCE_LSTM": "lstm.unidirectional_sequence_lstm",
        "UNPACK": "shape.unpack",
        "VAR_HANDLE": "variables.var_handle",
        "WHILE": "control_flow.while_",
        "ZEROS_LIKE": "fill.zeros_like",
    }
)
_CUSTOM: Mapping[str, str] = MappingProxyType(
    {
        "Atan": "atan.atan",
        "CIRCULAR_BUFFER": "streams.circular_buffer",
        "SignalDelay": "streams.delay",
        "SignalEnergy": "signal_spectrum.energy",
        "SignalFftAutoScale": "signal_spectrum.fft_auto_scale",
        "SignalFilterBank": "signal_filters.filter_bank",
        "SignalFilterBankLog": "signal_filters.filter_bank_log",
        "SignalFilterBankSpectralSubtraction": ("signal_filters.filter_bank_spectral_subtraction"),
        "SignalFilterBankSquareRoot": "signal_filters.filter_bank_square_root",
        "SignalFramer": "streams.framer",
        "SignalIrfft": "signal_spectrum.irfft",
        "SignalOverlapAdd": "streams.overlap_add",
        "SignalPCAN": "signal_filters.pcan",
        "SignalRfft": "signal_spectrum.rfft",
        "SignalStacker": "streams.stacker",
        "SignalWindow": "signal_spectrum.window",
        "TFLM_DECODE": "decode.decode",
        "TFLite_Detection_PostProcess": "detection.detection_postprocess",
    }
)


@cache
def _load(path: str) -> Kernel:
    module, _, function = path.partition(".")
    kernel: Kernel = getattr(import_module(f"harness.reference.kernels.{module}"), function)
    return kernel


@dataclass(frozen=True)
class _LazyKernel:
    """A kernel of this package by its path: picklable, and imported when it is called."""

    path: str

    def __call__(self, node: Node) -> Run:
        return _load(self.path)(node)


@dataclass(frozen=True)
class Kernels:
    """Kernels of built-in operators by the schema's names, of custom operators by their own.

    A project adds its own custom operator with::

        kernels = Kernels.default().with_custom("MyOperator", my_kernel)
        Interpreter.from_file("model.tflite", kernels=kernels)

    where ``my_kernel(node: Node) -> Run``; :mod:`harness.reference.kernels.atan` is an example.
    An installed package can add kernels for the command line and all other users with entry
    points: group ``tflm_hil.kernels``, name of the operator, function.
    """

    builtin: Mapping[str, Kernel] = field(default_factory=dict)
    custom: Mapping[str, Kernel] = field(default_factory=dict)

    @classmethod
    @cache
    def default(cls) -> Kernels:
        """All kernels of this package."""
        return cls(
            {name: _LazyKernel(path) for name, path in _BUILTIN.items()},
            {name: _LazyKernel(path) for name, path in _CUSTOM.items()},
        )

    def with_custom(self, name: str, kernel: Callable[[Node], Run]) -> Kernels:
        """These kernels and ``kernel`` for the custom operator ``name``."""
        return Kernels(self.builtin, {**self.custom, name: kernel})

    def with_builtin(self, name: str, kernel: Callable[[Node], Run]) -> Kernels:
        """These kernels and ``kernel`` for the built-in operator ``name`` of the schema."""
        return Kernels({**self.builtin, name: kernel}, self.custom)

    def find(self, node: Node) -> Kernel:
        """The kernel for ``node``. Raises UnsupportedOperator if there is none."""
        table = self.custom if node.operator.custom else self.builtin
        kernel = table.get(node.operator.name) or _installed(node)
        if kernel is None:
            raise node.unsupported("the NumPy reference has no kernel for it")
        return kernel


def _installed(node: Node) -> Kernel | None:
    """The kernel that another installed package declares for the operator, or None."""
    from importlib import metadata  # noqa: PLC0415 - as slow as this package, rarely needed

    entry = next(iter(metadata.entry_points(group=ENTRY_POINTS, name=node.operator.name)), None)
    if entry is None:
        return None
    try:
        kernel: Kernel = entry.load()
    except (ImportError, AttributeError) as error:
        raise EnvironmentMissing(
            f"{node.where}: the entry point {entry.value} of {ENTRY_POINTS} does not load: {error}",
            hint="repair or uninstall the package that declares it",
        ) from error
    return kernel
