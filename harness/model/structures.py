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
#: A registration: init, free, prepare, invoke, and reset (before 2023 a profiler's function); then
#: the builtin code and a custom operator's name.
REGISTRATION, REGISTERED_FUNCTIONS, INVOKE = 7 * WORD, 5, 3
#: A node, behind which its registration's address lies; as words of a TfLiteNode: user_data,
#: builtin_data, custom_initial_data.
NODE, NODE_DATA = 7 * WORD, (3, 4, 5)
