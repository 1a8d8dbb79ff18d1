"""Sizes and offsets in tflite-micro's structures on a 32-bit core, for images without DWARF.

Source: common.h and micro_interpreter.h of tflite-micro, equal in its revisions since 2021.
"""

from __future__ import annotations

#: Bytes of a pointer, an int or an enumeration.
WORD = 4
#: Bytes of a TfLiteEvalTensor: pointers to data and dims, then the type.
EVAL_TENSOR = 3 * WORD
#: Offset of a MicroInterpreter's reference to its resolver, after the pointer to its model.
INTERPRETER_RESOLVER = WORD
