from collections.abc import Sequence

from harness.simulator.counting import AccessHandler
from harness.simulator.counting import Core as _Core

MMIO_READ: int
MMIO_WRITE: int

def Core(  # noqa: N802
    engine: int,
    context: int,
    functions: tuple[int, ...],
    access: AccessHandler,
    code: Sequence[tuple[int, int, int, bool]],
    windows: Sequence[tuple[int, int, int]],
) -> _Core: ...
