"""The paths from an image's start to its interpreter, followed without running anything.

An abstract interpreter: each word is a number or unknown. Where a branch depends on the unknown,
both sides are followed and joined where they meet again. So a fact that holds at the end holds
in every run. From the bottom up:

* ``values``, ``memory``, ``frames``, ``state``: a word, RAM, the variables of a stack frame, and
  all that is known on one path;
* ``alu``, ``operands``, ``operation``: results of words, operands and one instruction as functions
  of the state;
* ``data_processing``, ``load_store``, ``branches``, ``system``: the instructions by kind;
* ``core``: decodes an image's instructions with them;
* ``flow``, ``explorer``: where branches meet again, and every path of a function;
* ``library``, ``skipped``: functions that are not followed, because their effect is known or does
  not matter;
* ``registered``: the operators that an image has registered, from its resolver table in memory.
"""
