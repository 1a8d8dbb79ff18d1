"""The names of ``MicroMutableOpResolver``'s Add* methods: the operators' names in camel case, with
some exceptions.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.elf.registrations import LIBRARY_CUSTOM

#: Methods that are not just in camel case. Source: micro_mutable_op_resolver.h of tflite-micro.
_SPECIAL: Mapping[str, str] = {
    "AVERAGE_POOL_2D": "AddAveragePool2D",
    "BATCH_MATMUL": "AddBatchMatMul",
    "CONV_2D": "AddConv2D",
    "CUMSUM": "AddCumSum",
    "DEPTHWISE_CONV_2D": "AddDepthwiseConv2D",
    "L2_POOL_2D": "AddL2Pool2D",
    "MAX_POOL_2D": "AddMaxPool2D",
    "PADV2": "AddPadV2",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}
_CUSTOM_SPECIAL = {"ETHOSU": "AddEthosU", "PCAN": "AddPCAN"}


def builtin_method(operator: str) -> str:
    """The Add* method of a builtin operator: ``FULLY_CONNECTED`` -> ``AddFullyConnected``."""
    return _SPECIAL.get(operator) or _camel(operator)


def custom_method(name: str) -> str:
    """The Add* method of a custom operator of tflite-micro, "" for any other."""
    for registration, known in LIBRARY_CUSTOM.items():
        if known == name:
            return _CUSTOM_SPECIAL.get(registration) or _camel(registration)
    return ""


def _camel(name: str) -> str:
    return "Add" + "".join(word.capitalize() for word in name.split("_"))
