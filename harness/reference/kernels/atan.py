"""The custom operator ``Atan`` of the samples: an example of a project's own reference kernel.

A kernel is a function of a :class:`~harness.reference.node.Node`. It checks the node once and
returns a function from input arrays to output arrays; both have a leading axis of runs. Registered
by its name::

    Kernels.default().with_custom("Atan", atan)
"""

from __future__ import annotations

import numpy as np

from harness.reference.node import Node, Run


def atan(node: Node) -> Run:
    """The arc tangent of every element, in radians; any shape, float32.

    Computed in float64 and rounded once, as in the sample's kernel: the single-precision functions
    of C libraries differ in the last bit.
    """
    node.check_types("float32")
    node.check_output(node.input(0).shape)
    return lambda x: np.arctan(x.astype(np.float64)).astype(np.float32)
