"""Operator resolvers: what the interpreter of a running image gets, audited, shown, generated."""

from __future__ import annotations

from harness.resolver.audit import Audit, AuditVerdict, check
from harness.resolver.generate import generate
from harness.resolver.live import Live, read
from harness.resolver.resolver import Refusal, Registration, Resolver

__all__ = [
    "Audit",
    "AuditVerdict",
    "Live",
    "Refusal",
    "Registration",
    "Resolver",
    "check",
    "generate",
    "read",
]
