"""Operator resolvers: check one against a model, dump its table, explain it, generate one."""

from __future__ import annotations

from harness.resolver.audit import Audit, AuditVerdict, check, check_live
from harness.resolver.dump import LiveRegistration, LiveResolver, dump
from harness.resolver.explain import Explanation, explain
from harness.resolver.generate import generate

__all__ = [
    "Audit",
    "AuditVerdict",
    "Explanation",
    "LiveRegistration",
    "LiveResolver",
    "check",
    "check_live",
    "dump",
    "explain",
    "generate",
]
