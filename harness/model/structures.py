"""The layout of tflite-micro's structures on a 32-bit core, for images without DWARF.

Source: common.h and micro_interpreter.h of tflite-micro, unchanged since 2021.
"""

from __future__ import annotations

#: Size of a pointer, an int or an enumeration, in bytes.
WORD = 4
#: Size of a TfLiteEvalTensor: pointers to data and dims, the type.
EVAL_TENSOR = 3 * WORD
#: Offset of a MicroInterpreter's reference to its resolver; the pointer to its model precedes it.
INTERPRETER_RESOLVER = WORD
#: Size of a registration, the number of its functions (its first words), the index of invoke.
#: Words: init, free, prepare, invoke, reset (before 2023 a profiling function), builtin code,
#: custom name.
REGISTRATION, REGISTERED_FUNCTIONS, INVOKE = 7 * WORD, 5, 3
#: Size of a TfLiteNode, after which there is a pointer to its registration; the indices of its
#: words user_data, builtin_data and custom_initial_data.
NODE, NODE_DATA = 7 * WORD, (3, 4, 5)
