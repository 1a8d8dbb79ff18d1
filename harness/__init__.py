"""Hardware-in-the-loop tests for tflite-micro on the Nordic nRF9160.

This is the public interface (docs/api.md), which stays as it is between releases; the packages
below may change. Each name is imported when it is first used, so that ``import harness`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

#: Every public name, and the module that has it.
_PUBLIC = {
    "Case": "harness.case",
    "CaseResult": "harness.case",
    "Verdict": "harness.case",
    "Live": "harness.case.live",
    "Hil": "harness.pytest_plugin.fixture",
    "load_cases": "harness.case",
    "run_case": "harness.case",
    "Finding": "harness.base.findings",
    "Kind": "harness.base.findings",
    "Image": "harness.elf",
    "Interpreter": "harness.reference",
    "open_target": "harness.targets",
    "HilError": "harness.base.errors",
    "CheckFailed": "harness.base.errors",
    "EnvironmentMissing": "harness.base.errors",
    "FirmwareFailed": "harness.base.errors",
    "UsageError": "harness.base.errors",
}
__all__ = [*_PUBLIC, "__version__"]  # noqa: PLE0604 - the table is the list

if TYPE_CHECKING:
    from harness.base.errors import CheckFailed as CheckFailed
    from harness.base.errors import EnvironmentMissing as EnvironmentMissing
    from harness.base.errors import FirmwareFailed as FirmwareFailed
    from harness.base.errors import HilError as HilError
    from harness.base.errors import UsageError as UsageError
    from harness.base.findings import Finding as Finding
    from harness.base.findings import Kind as Kind
    from harness.case import Case as Case
    from harness.case import CaseResult as CaseResult
    from harness.case import Verdict as Verdict
    from harness.case import load_cases as load_cases
    from harness.case import run_case as run_case
    from harness.case.live import Live as Live
    from harness.elf import Image as Image
    from harness.pytest_plugin.fixture import Hil as Hil
    from harness.reference import Interpreter as Interpreter
    from harness.targets import open_target as open_target


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    value: object = getattr(import_module(_PUBLIC[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
