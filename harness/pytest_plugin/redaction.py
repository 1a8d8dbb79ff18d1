"""Passwords and tokens are hidden in pytest's reports of tests that run firmware."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from harness.base.secrets import redacted


def redact(report: pytest.TestReport) -> None:
    """Redacts the traceback and the captured output of ``report``."""
    report.longrepr = _redacted(report.longrepr)
    report.sections = _redacted(report.sections)
    report.user_properties = _redacted(report.user_properties)


def _redacted(value: Any) -> Any:
    """``value`` with its texts redacted; pytest's tracebacks are data classes of texts."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_redacted, value))
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            object.__setattr__(value, field.name, _redacted(getattr(value, field.name)))
    return value
