"""The TensorFlow Lite schema: slots of fields, enumerations, and the fields of options.

Source: ``schema.fbs`` of TensorFlow Lite (schema version 3), the public file format. The index of a
name in a tuple below is its number in the schema. ``tests/unit/model`` compares each table with the
generated ``tflite`` package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from harness.model.flatbuffer import FlatTable

IDENTIFIER = b"TFL3"
#: Where a FlatBuffer has its identifier, behind the offset of its root table.
IDENTIFIER_AT = 4
SCHEMA_VERSION = 3

# Slots of fields, by table of the schema.
#: Model
VERSION, OPERATOR_CODES, SUBGRAPHS, DESCRIPTION, BUFFERS = range(5)
#: OperatorCode
DEPRECATED_BUILTIN_CODE, CUSTOM_CODE, OPERATOR_VERSION, BUILTIN_CODE = range(4)
#: SubGraph
TENSORS, SUBGRAPH_INPUTS, SUBGRAPH_OUTPUTS, OPERATORS, SUBGRAPH_NAME = range(5)
#: Operator
OPCODE_INDEX, INPUTS, OUTPUTS, OPTIONS_TYPE, OPTIONS, CUSTOM_OPTIONS = range(6)
INTERMEDIATES = 8
#: Tensor
SHAPE, TYPE, BUFFER, NAME, QUANTIZATION, IS_VARIABLE, SPARSITY, SHAPE_SIGNATURE = range(8)
#: QuantizationParameters
SCALE, ZERO_POINT, QUANTIZED_DIMENSION = 2, 3, 6
#: Buffer
DATA, DATA_OFFSET, DATA_SIZE = range(3)

_OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1
RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE
UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT
LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG
PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE
EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD
REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV
REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU
SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE
RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D
IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS
RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE
RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD
STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_RESHAPE STABLEHLO_CLAMP
STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM STABLEHLO_CONVOLUTION STABLEHLO_SLICE
STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS STABLEHLO_AND STABLEHLO_COSINE
STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_MINIMUM STABLEHLO_NEGATE
STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_RSQRT STABLEHLO_SELECT
STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER STABLEHLO_COMPARE STABLEHLO_CONVERT
STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE STABLEHLO_PAD STABLEHLO_IOTA
STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT STABLEHLO_WHILE
STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR REDUCE_WINDOW
STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
"""
#: BuiltinOperator
OPERATOR_NAMES = tuple(_OPERATORS.split())
_TYPES = """
float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128
uint64 resource variant uint32 uint16 int4 bfloat16 int2 uint4 float8_e4m3fn float8_e5m2
"""
#: TensorType, with NumPy's names of types that NumPy has
TENSOR_TYPES = tuple(_TYPES.split())
#: Bits of an element in a constant's buffer; other types have no fixed size
TYPE_BITS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("float32", "int32", "uint32", "resource"), 32),
        **dict.fromkeys(("int64", "float64", "complex64", "uint64"), 64),
        **dict.fromkeys(("float16", "int16", "uint16", "bfloat16"), 16),
        **dict.fromkeys(("uint8", "bool", "int8", "float8_e4m3fn", "float8_e5m2"), 8),
        **{"int4": 4, "uint4": 4, "int2": 2, "complex128": 128},
    }
)
#: ActivationFunctionType
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
#: Padding
PADDINGS = ("SAME", "VALID")
#: MirrorPadMode
MIRROR_MODES = ("REFLECT", "SYMMETRIC")

_OPTIONS = """
Conv2D DepthwiseConv2D ConcatEmbeddings LSHProjection Pool2D SVDF RNN FullyConnected Softmax
Concatenation Add L2Norm LocalResponseNormalization LSTM ResizeBilinear Call Reshape
SkipGram SpaceToDepth EmbeddingLookupSparse Mul Pad Gather BatchToSpaceND SpaceToBatchND
Transpose Reducer Sub Div Squeeze SequenceRNN StridedSlice Exp TopKV2 Split LogSoftmax Cast
Dequantize MaximumMinimum ArgMax Less Neg PadV2 Greater GreaterEqual LessEqual Select Slice
TransposeConv SparseToDense Tile ExpandDims Equal NotEqual Shape Pow ArgMin FakeQuant Pack
LogicalOr OneHot LogicalAnd LogicalNot Unpack FloorDiv Square ZerosLike Fill
BidirectionalSequenceLSTM BidirectionalSequenceRNN UnidirectionalSequenceLSTM FloorMod Range
ResizeNearestNeighbor LeakyRelu SquaredDifference MirrorPad Abs SplitV Unique ReverseV2 AddN
GatherNd Cos Where Rank ReverseSequence MatrixDiag Quantize MatrixSetDiag HardSwish If While
DepthToSpace NonMaxSuppressionV4 NonMaxSuppressionV5 ScatterNd SelectV2 Densify SegmentSum
BatchMatMul Cumsum CallOnce BroadcastTo Rfft2d Conv3D Hashtable HashtableFind
HashtableImport HashtableSize VarHandle ReadVariable AssignVariable Random Bucketize Gelu
DynamicUpdateSlice UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin
UnsortedSegmentSum ATan2 Sign Bitcast BitwiseXor RightShift
"""
#: BuiltinOptions, a union: type number (0: none) -> table
OPTION_TABLES: Mapping[int, str] = MappingProxyType(dict(enumerate(_OPTIONS.split(), 1)))

_ENUMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "activation": ACTIVATIONS,
        "padding": PADDINGS,
        "type": TENSOR_TYPES,
        "mirror_mode": MIRROR_MODES,
    }
)
_ACTIVATION = "fused_activation_function:activation"
_WINDOW = "padding:padding stride_w:int32 stride_h:int32"
_BIAS_TYPE = "quantized_bias_type:type"

#: Options table -> its fields in order: name:kind[=default]; ``-`` is a deprecated slot. Tables
#: without fields, and tables of operators that TFLM lacks, are omitted.
_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "Conv2D": f"{_WINDOW} {_ACTIVATION} dilation_w_factor:int32=1 dilation_h_factor:int32=1"
        f" {_BIAS_TYPE}",
        "DepthwiseConv2D": f"{_WINDOW} depth_multiplier:int32 {_ACTIVATION}"
        " dilation_w_factor:int32=1 dilation_h_factor:int32=1",
        "Pool2D": f"{_WINDOW} filter_width:int32 filter_height:int32 {_ACTIVATION}",
        "SVDF": f"rank:int32 {_ACTIVATION} asymmetric_quantize_inputs:bool",
        "FullyConnected": f"{_ACTIVATION} weights_format:int8 keep_num_dims:bool"
        f" asymmetric_quantize_inputs:bool {_BIAS_TYPE}",
        "Softmax": "beta:float32",
        "Concatenation": f"axis:int32 {_ACTIVATION}",
        "Add": f"{_ACTIVATION} pot_scale_int16:bool=1",
        "Sub": f"{_ACTIVATION} pot_scale_int16:bool=1",
        "Mul": _ACTIVATION,
        "Div": _ACTIVATION,
        "L2Norm": _ACTIVATION,
        "UnidirectionalSequenceLSTM": f"{_ACTIVATION} cell_clip:float32 proj_clip:float32"
        " time_major:bool asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool",
        "ResizeBilinear": "- - align_corners:bool half_pixel_centers:bool",
        "ResizeNearestNeighbor": "align_corners:bool half_pixel_centers:bool",
        "Reshape": "new_shape:[int32]",
        "SpaceToDepth": "block_size:int32",
        "DepthToSpace": "block_size:int32",
        "Gather": "axis:int32 batch_dims:int32",
        "Reducer": "keep_dims:bool",
        "Squeeze": "squeeze_dims:[int32]",
        "Split": "num_splits:int32",
        "SplitV": "num_splits:int32",
        "StridedSlice": "begin_mask:int32 end_mask:int32 ellipsis_mask:int32 new_axis_mask:int32"
        " shrink_axis_mask:int32 offset:bool",
        "Cast": "in_data_type:type out_data_type:type",
        "ArgMax": "output_type:type",
        "ArgMin": "output_type:type",
        "TransposeConv": f"{_WINDOW} {_ACTIVATION} {_BIAS_TYPE}",
        "Shape": "out_type:type",
        "Pack": "values_count:int32 axis:int32",
        "Unpack": "num:int32 axis:int32",
        "LeakyRelu": "alpha:float32",
        "MirrorPad": "mode:mirror_mode",
        "If": "then_subgraph_index:int32 else_subgraph_index:int32",
        "CallOnce": "init_subgraph_index:int32",
        "While": "cond_subgraph_index:int32 body_subgraph_index:int32",
        "BatchMatMul": "adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool",
        "Cumsum": "exclusive:bool reverse:bool",
        "VarHandle": "container:name shared_name:name",
    }
)


def _enum(table: FlatTable, slot: int, kind: str, default: int) -> str:
    """The name of an enumerator, or ``kind#number`` for an unknown number."""
    number = int(table.scalar(slot, "int8", default))
    names = _ENUMS[kind]
    return names[number] if 0 <= number < len(names) else f"{kind}#{number}"


def _field(table: FlatTable, slot: int, kind: str, default: str) -> Any:
    if kind == "[int32]":
        return table.vector(slot, "int32")
    if kind == "name":
        return None if table.raw(slot) is None else table.text(slot)
    if kind in _ENUMS:
        return _enum(table, slot, kind, int(default or 0))
    type_ = {"bool": bool, "float32": float}.get(kind, int)
    return table.scalar(slot, kind, type_(int(default or 0)))


def fields(name: str) -> tuple[tuple[int, str, str, str], ...]:
    """(slot, field, kind, default) of the options table ``name``, without deprecated slots."""
    decoded = []
    for slot, row in enumerate(_FIELDS.get(name, "").split()):
        if row.strip("-"):
            field, _, rest = row.partition(":")
            kind, _, default = rest.partition("=")
            decoded.append((slot, field, kind, default))
    return tuple(decoded)


def known_tables() -> tuple[str, ...]:
    """The names of the options tables in :func:`fields`."""
    return tuple(_FIELDS)


def options(name: str, table: FlatTable | None) -> dict[str, Any]:
    """The values of the fields of options table ``name``, all defaults if ``table`` is None."""
    source = FlatTable.empty() if table is None else table
    return {
        field: _field(source, slot, kind, default) for slot, field, kind, default in fields(name)
    }


def identified(data: bytes) -> Iterator[int]:
    """Where in ``data`` models may begin: the offsets with the identifier of one behind them."""
    at = data.find(IDENTIFIER, IDENTIFIER_AT)
    while at >= 0:
        yield at - IDENTIFIER_AT
        at = data.find(IDENTIFIER, at + 1)
