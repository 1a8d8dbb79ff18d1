"""A small model after any change of its file's content, written by the generated package.

Needs ``ai_edge_litert``, whose object interface writes what converters never would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from model_builder import Op, T, build

WEIGHTS = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)


def spoilt(change: Callable[[Any], None]) -> bytes:
    """A FULLY_CONNECTED with weights, after ``change`` of the whole model."""
    tensors = [
        T((1, 4), "int8", 0.5, 3),
        T((3, 4), "int8", [0.1, 0.2, 0.3], 0, WEIGHTS),
        T((1, 3), "int8", 0.25, -1),
    ]
    dense = Op("FULLY_CONNECTED", [0, 1, -1], [2], ("FullyConnected", {}))
    data = build(tensors, [dense], [0], [2])
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(data)))
    change(model)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
