"""Operator resolvers: what the interpreter of a running image gets, audited, shown, generated."""

from __future__ import annotations

from harness.resolver.audit import Audit, AuditVerdict, check
from harness.resolver.generate import generate
from harness.resolver.live import ResolverRun, read
from harness.resolver.resolver import Refused, Registered, Resolver

__all__ = [
    "Audit",
    "AuditVerdict",
    "Refused",
    "Registered",
    "Resolver",
    "ResolverRun",
    "check",
    "generate",
    "read",
]
