"""The operators of a resolver of any class, asked for one by one: its FindOp is called.

The memory of a class of the application is not read. What its FindOp returns is what the
interpreter gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.model.schema import OPERATOR_NAMES
from harness.resolver.resolver import Registered, Resolver
from harness.resolver.table import Tables
from harness.targets.session import Session

#: Codes of the schema that are no operators of their own.
_NO_OPERATORS = ("CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES")
#: Seconds of the target's clock for one call.
_PATIENCE = 0.1


def asked(
    session: Session, tables: Tables, address: int, customs: Sequence[str]
) -> Resolver | None:
    """The resolver at ``address``, asked for each builtin and for the operators ``customs``.

    None if there is no resolver. Raises :class:`Unsupported` on a target that cannot call a
    function, :class:`TargetLost` if a call does not return.
    """
    functions = tables.find_op(address)
    if functions is None:
        return None
    rows = tuple(_registered(session, tables, address, functions, customs))
    return Resolver(tables.name(address), address, None, rows, source="FindOp")


def _registered(
    session: Session,
    tables: Tables,
    address: int,
    functions: tuple[int, int],
    customs: Sequence[str],
) -> Iterator[Registered]:
    builtin, custom = functions
    for code, name in enumerate(OPERATOR_NAMES):
        if name not in _NO_OPERATORS:
            yield from _found(session, tables, builtin, (address, code))
    for name in customs:
        yield from _found(session, tables, custom, (address, name.encode() + b"\0"))


def _found(
    session: Session, tables: Tables, function: int, arguments: tuple[int | bytes, ...]
) -> Iterator[Registered]:
    result = session.call(function, arguments, session.deadline(_PATIENCE))
    registration = tables.registration(result)
    if registration is not None:
        yield registration
