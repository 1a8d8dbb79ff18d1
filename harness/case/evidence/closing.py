"""The closing records: lifecycle, allocation, stack, failed, end."""

from __future__ import annotations

from harness.case.evidence.inferences import good_inferences
from harness.case.evidence.known import Known, Measured
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.setup import allocated
from harness.case.lifecycle import METHODS, Lifecycle
from harness.model import Model
from harness.model.structures import EVAL_TENSOR
from harness.uart.records import ALLOCATIONS, Record

#: Bytes of stack that printing a figure may take beyond what was used before.
_PRINTING = 384


def check_closing(ledger: Ledger, known: Known, measured: Measured, *, whole: bool) -> None:
    """The closing records must agree with each other, with the model and with what came before."""
    _lifecycles(ledger, known, whole=whole)
    _allocations(ledger, known, whole=whole)
    _stacks(ledger, known, measured.stack_used, whole=whole)
    _failed(ledger)
    _end(ledger, known, whole=whole)


def _lifecycles(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("lifecycle")
    names = [record.text("operator") for record in records]
    _no_repeats(ledger, names, "lifecycle of", "lifecycle")
    stages = {record.text("stage") for record in ledger.take("failed")}
    wanted = known.lifecycles or frozenset()
    if whole and not stages & {"register", "schema"}:
        for name in sorted(wanted - set(names)):
            ledger.missing(f"no lifecycle of {name} came", "lifecycle")
    if known.lifecycles is not None:
        for name in sorted(set(names) - wanted):
            ledger.unexpected(f"lifecycle of {name}, which is not an own kernel", "lifecycle")
    completed = len(good_inferences(ledger))
    for record in records:
        for departure in _departures(record, known, completed, stages, allocated(ledger)):
            message = f"lifecycle of {record.text('operator')}: {departure}"
            ledger.contradicts(message, "lifecycle", record.line)


def _departures(
    record: Record, known: Known, completed: int, stages: set[str], is_allocated: bool
) -> list[str]:
    """How the calls depart from what the runtime documents for ``completed`` inferences."""
    operator, order = record.text("operator"), record.text("order")
    calls = {method: record.integer(method) for method in METHODS}
    letters = dict(zip("ipvfr", METHODS, strict=True))
    departures = [
        f"{method} was called {calls[method]} times, the order is {order!r}"
        for letter, method in letters.items()
        if bool(calls[method]) != (letter in order) or order.count(letter) > calls[method]
    ]
    if known.model is None:
        return departures
    nodes = sum(node.name == operator for node in known.model.operators)
    if not nodes and any(calls.values()):
        return [*departures, "it was called, and the model has no such operator"]
    if is_allocated and nodes and "invoke" not in stages:
        departures += Lifecycle(operator, calls, order, completed).departures(nodes)
        # A user's image may reset twice in a row; the samples' own code does not.
        times = order.count("r") if known.lifecycles is not None else calls["reset"] // nodes
        if calls["reset"] != times * nodes:
            departures.append(f"reset was called {calls['reset']} times for {nodes} nodes")
    elif calls["init"] != calls["free"] or calls["prepare"] > calls["init"]:
        counts = f"{calls['init']}, {calls['prepare']} and {calls['free']} times"
        departures.append(f"init, prepare and free were called {counts}")
    elif not is_allocated and calls["invoke"]:
        departures.append(f"invoke was called {calls['invoke']} times, and nothing was allocated")
    return departures


def _allocations(ledger: Ledger, known: Known, *, whole: bool) -> None:
    """All types must come once and in order, or none; their counts are the model's."""
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


def _allocation_counts(ledger: Ledger, record: Record, model: Model | None) -> None:
    """An allocation counts the model's tensors or operators, with the right size for each."""
    if model is None:
        return
    counts = {
        "eval_tensor": sum(len(graph.tensors) for graph in model.subgraphs),
        "node_and_registration": sum(len(graph.operators) for graph in model.subgraphs),
    }
    kind, count = record.text("type"), record.integer("count")
    wanted = counts.get(kind, count)
    if count != wanted:
        message = f"allocation of {kind} says {count}, the model has {wanted}"
        ledger.contradicts(message, "allocation", record.line)
    requested = record.integer("requested")
    if kind == "eval_tensor" and requested != wanted * EVAL_TENSOR:
        message = f"allocation of {kind} says {requested} bytes for {wanted} tensors"
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
    """True if ``counted`` bytes were used after an image had counted ``claimed`` and printed it."""
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
    """``end`` counts the good inferences; its status is 0, or that of the last failure."""
    ends, failed = ledger.take("end"), ledger.take("failed")
    if whole and not ends and "end" in known.required:
        ledger.missing("no end record came", "end")
    for record in ends[:1]:
        completed, claimed = len(good_inferences(ledger)), record.integer("inferences")
        if claimed != completed:
            message = f"end says {claimed} inferences, {completed} ended with status 0"
            ledger.contradicts(message, "end", record.line)
        status = record.integer("status")
        wanted = failed[-1].integer("status") if failed else 0
        if status != wanted:
            source = f"failed says {wanted}" if failed else "nothing failed"
            ledger.contradicts(f"end says status {status}, {source}", "end", record.line)
