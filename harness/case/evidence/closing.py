"""The closing records: lifecycle, allocation, stack, failed, end."""

from __future__ import annotations

from collections.abc import Sequence

from harness.case.evidence.inferences import good_inferences
from harness.case.evidence.known import Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.setup import allocated
from harness.case.lifecycle import METHODS, Lifecycle
from harness.model import Model
from harness.model.structures import EVAL_TENSOR
from harness.uart.records import ALLOCATIONS, Record

#: Bytes of stack that printing the ``stack`` record may add to the figure in it.
_PRINTING = 384


def check_closing(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """Check the closing records against each other, the model and the records before them."""
    _lifecycles(ledger, known, whole=whole)
    _allocations(ledger, known, measured.allocations_wrong, whole=whole)
    _stacks(ledger, known, measured.stack_used, whole=whole)
    _failed(ledger)
    _end(ledger, known, whole=whole)


def _lifecycles(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("lifecycle")
    names = [record.text("operator") for record in records]
    _no_repeats(ledger, names, "lifecycle of", "lifecycle")
    stages = {record.text("stage") for record in ledger.take("failed")}
    expected = known.lifecycles or frozenset()
    if whole and not stages & {"register", "schema"}:
        for name in sorted(expected - set(names)):
            ledger.missing(f"no lifecycle of {name} came", "lifecycle")
    if known.lifecycles is not None:
        for name in sorted(set(names) - expected):
            ledger.unexpected(f"lifecycle of {name}, which is not an own kernel", "lifecycle")
    completed = len(good_inferences(ledger))
    for record in records:
        for violation in _violations(record, known, completed, stages, allocated(ledger)):
            message = f"lifecycle of {record.text('operator')}: {violation}"
            ledger.contradicts(message, "lifecycle", record.line)


def _violations(
    record: Record, known: Known, completed: int, stages: set[str], is_allocated: bool
) -> list[str]:
    """The violations of the runtime's rules for calls in ``completed`` inferences."""
    operator, order = record.text("operator"), record.text("order")
    calls = {method: record.integer(method) for method in METHODS}
    letters = dict(zip("ipvfr", METHODS, strict=True))
    violations = [
        f"{method} was called {calls[method]} times, the order is {order!r}"
        for letter, method in letters.items()
        if bool(calls[method]) != (letter in order) or order.count(letter) > calls[method]
    ]
    if known.model is None:
        return violations
    nodes = sum(node.name == operator for node in known.model.operators)
    if not nodes and any(calls.values()):
        return [*violations, "it was called, and the model has no such operator"]
    if is_allocated and nodes and "invoke" not in stages:
        violations += Lifecycle(operator, calls, order, completed).violations(nodes)
        # A user's image may reset twice in a row; the samples do not.
        times = order.count("r") if known.lifecycles is not None else calls["reset"] // nodes
        if calls["reset"] != times * nodes:
            violations.append(f"reset was called {calls['reset']} times for {nodes} nodes")
    elif calls["init"] != calls["free"] or calls["prepare"] > calls["init"]:
        counts = f"{calls['init']}, {calls['prepare']} and {calls['free']} times"
        violations.append(f"init, prepare and free were called {counts}")
    elif not is_allocated and calls["invoke"]:
        violations.append(f"invoke was called {calls['invoke']} times, and nothing was allocated")
    return violations


def _allocations(ledger: Ledger, known: Known, wrong: Sequence[str] | None, *, whole: bool) -> None:
    """Check that allocation records are absent, or of each type once and in order.

    ``wrong`` are the types whose figures are not those of the allocator in the arena.
    """
    records = ledger.take("allocation")
    if not records:
        if whole and "allocation" in known.required and not ledger.has("failed"):
            ledger.missing("no allocation records came", "allocation")
        return
    types = tuple(record.text("type") for record in records)
    if whole and types != ALLOCATIONS:
        message = f"allocations of {', '.join(types)[:200]} came, not each type once and in order"
        ledger.contradicts(message, "allocation", records[0].line)
    arena = ledger.take("arena")
    total = sum(record.integer("used") for record in records)
    if arena and total > arena[-1].integer("declared"):
        message = f"allocations take {total} bytes of an arena of {arena[-1].integer('declared')}"
        ledger.contradicts(message, "allocation")
    for record in records:
        requested, used = record.integer("requested"), record.integer("used")
        if requested > used:
            message = f"allocation of {record.text('type')}: {used} bytes for {requested}"
            ledger.contradicts(message, "allocation", record.line)
        _allocation_counts(ledger, record, known.model)
    for name in wrong or ():
        message = f"allocation of {name}: the allocator in the arena has other figures"
        ledger.contradicts(message, "allocation")


def _allocation_counts(ledger: Ledger, record: Record, model: Model | None) -> None:
    """Check the count and the size of an allocation against the model's tensors and operators."""
    if model is None:
        return
    counts = {
        "eval_tensor": sum(len(graph.tensors) for graph in model.subgraphs),
        "node_and_registration": sum(len(graph.operators) for graph in model.subgraphs),
    }
    kind, count = record.text("type"), record.integer("count")
    expected = counts.get(kind, count)
    if count != expected:
        message = f"allocation of {kind} says {count}, the model has {expected}"
        ledger.contradicts(message, "allocation", record.line)
    requested = record.integer("requested")
    if kind == "eval_tensor" and requested != expected * EVAL_TENSOR:
        message = f"allocation of {kind} says {requested} bytes for {expected} tensors"
        ledger.contradicts(message, "allocation", record.line)


def _stacks(ledger: Ledger, known: Known, counted: int | None, *, whole: bool) -> None:
    records = ledger.take("stack")
    if whole and not records and "stack" in known.required:
        ledger.missing("no stack record came", "stack")
    _no_repeats(ledger, [record.text("name") for record in records], "stack", "stack")
    for record in records:
        size, used = record.integer("size"), record.integer("used")
        if not used or used > size:
            message = f"stack {record.text('name')} says {used} of {size} bytes are used"
            ledger.contradicts(message, "stack", record.line)
        if record.text("name") == "main" and counted is not None and not stack_fits(used, counted):
            message = f"stack main says {used:,} bytes are used, its memory shows {counted:,}"
            ledger.contradicts(message, "stack", record.line)
        limit = known.stack_bytes if record.text("name") == "main" else None
        if limit is not None and size > limit:
            message = f"stack main says {size} bytes, the ELF has {limit}"
            ledger.contradicts(message, "stack", record.line)


def stack_fits(claimed: int, counted: int) -> bool:
    """Whether the target's count of stack bytes fits the image's figure, taken before printing."""
    return claimed <= counted <= claimed + _PRINTING


def _no_repeats(ledger: Ledger, names: list[str], what: str, subject: str) -> None:
    for name in sorted({name for name in names if names.count(name) > 1}):
        ledger.unexpected(f"{what} {name} came {names.count(name)} times", subject)


def _failed(ledger: Ledger) -> None:
    for record in ledger.take("failed"):
        if record.integer("status") == 0:
            message = f"failed at {record.text('stage')!r} with status 0"
            ledger.contradicts(message, "failed", record.line)


def _end(ledger: Ledger, known: Known, *, whole: bool) -> None:
    """Check that ``end`` counts the good inferences and has status 0 or the last failure's."""
    ends, failed = ledger.take("end"), ledger.take("failed")
    if whole and not ends and "end" in known.required:
        ledger.missing("no end record came", "end")
    for record in ends[:1]:
        completed, claimed = len(good_inferences(ledger)), record.integer("inferences")
        if claimed != completed:
            message = f"end says {claimed} inferences, {completed} ended with status 0"
            ledger.contradicts(message, "end", record.line)
        status = record.integer("status")
        expected = failed[-1].integer("status") if failed else 0
        if status != expected:
            source = f"failed says {expected}" if failed else "nothing failed"
            ledger.contradicts(f"end says status {status}, {source}", "end", record.line)
