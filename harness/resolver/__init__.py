"""Operator resolvers: are they right for a model, what do they hold, and how to write one."""

from __future__ import annotations

from harness.resolver.audit import Audit, Verdict, check

__all__ = ["Audit", "Verdict", "check"]
