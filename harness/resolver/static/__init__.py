"""An abstract interpreter that follows all paths from an image's start to its interpreter.

Each word is a number or unknown. If a branch depends on an unknown word, both sides are followed,
and their states are joined where the sides meet. So what is known at the end is true of every run.
From the bottom up:

* ``values``, ``memory``, ``frames``, ``state``: a word, RAM, the variables of a stack frame, the
  state of one path;
* ``alu``, ``operands``, ``operation``: the results of words, operands and an instruction as
  functions of the state;
* ``data_processing``, ``load_store``, ``branches``, ``system``: the instructions by kind;
* ``core``: decodes an image's instructions with them;
* ``flow``, ``explorer``: the points where branches meet, and all paths;
* ``library``, ``skipped``: functions that are not followed, because their effect is known or does
  not matter;
* ``registered``: the operators that an image has registered, from its resolver table in memory.
"""
