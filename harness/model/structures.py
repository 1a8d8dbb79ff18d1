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
#: Bytes of a registration; the number of its functions, which are its first words; invoke's index.
#: (init, free, prepare, invoke, reset, before 2023 a profiler's; builtin code; custom name.)
REGISTRATION, REGISTERED_FUNCTIONS, INVOKE = 7 * WORD, 5, 3
#: Bytes of a TfLiteNode, which the address of its registration follows; the indices of its words
#: user_data, builtin_data and custom_initial_data.
NODE, NODE_DATA = 7 * WORD, (3, 4, 5)
