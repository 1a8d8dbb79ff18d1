"""The closing records: lifecycle, allocation, stack, failed, end."""

from __future__ import annotations

from harness.case.evidence.inferences import good_inferences
from harness.case.evidence.known import Known
from harness.case.evidence.ledger import Ledger
from harness.case.evidence.setup import allocated
from harness.case.lifecycle import METHODS, Lifecycle
from harness.model import Model
from harness.uart.records import ALLOCATIONS, Record

#: sizeof(TfLiteEvalTensor) on a 32-bit machine: data, dims, type.
_EVAL_TENSOR = 12


def check_closing(ledger: Ledger, known: Known, *, whole: bool) -> None:
    """What is told at the end agrees with itself, with the model, and with what came before."""
    _lifecycles(ledger, known, whole=whole)
    _allocations(ledger, known, whole=whole)
    _stacks(ledger, known, whole=whole)
    _failed(ledger)
    _end(ledger, known, whole=whole)


def _lifecycles(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("lifecycle")
    told = [record.text("operator") for record in records]
    for name in sorted({name for name in told if told.count(name) > 1}):
        ledger.unexpected(f"lifecycle of {name} came {told.count(name)} times", "lifecycle")
    stages = {record.text("stage") for record in ledger.take("failed")}
    wanted = known.lifecycles or frozenset()
    if whole and not stages & {"register", "schema"}:
        for name in sorted(wanted - set(told)):
            ledger.missing(f"no lifecycle of {name} came", "lifecycle")
    if known.lifecycles is not None:
        for name in sorted(set(told) - wanted):
            ledger.unexpected(f"lifecycle of {name}, which is no own kernel", "lifecycle")
    done = len(good_inferences(ledger))
    for record in records:
        for departure in _departures(record, known, done, stages, allocated(ledger)):
            message = f"lifecycle of {record.text('operator')}: {departure}"
            ledger.contradicts(message, "lifecycle", record.line)


def _departures(
    record: Record, known: Known, done: int, stages: set[str], is_allocated: bool
) -> list[str]:
    """Where the calls differ from what the runtime documents for so many inferences."""
    operator, order = record.text("operator"), record.text("order")
    calls = {method: record.integer(method) for method in METHODS}
    letters = dict(zip("ipvfr", METHODS, strict=True))
    found = [
        f"{letters[one]} was called {calls[letters[one]]} times, the order is {order!r}"
        for one in letters
        if bool(calls[letters[one]]) != (one in order) or order.count(one) > calls[letters[one]]
    ]
    if known.model is None:
        return found
    nodes = sum(node.name == operator for node in known.model.operators)
    if not nodes and any(calls.values()):
        return [*found, "it was called, and the model has no such operator"]
    if is_allocated and nodes and "invoke" not in stages:
        found += Lifecycle(operator, calls, order, done).departures(nodes)
        # Who writes an image may reset it twice in a row; the samples' own code does not.
        times = order.count("r") if known.lifecycles is not None else calls["reset"] // nodes
        if calls["reset"] != times * nodes:
            found.append(f"reset was called {calls['reset']} times for {nodes} nodes")
    elif calls["init"] != calls["free"] or calls["prepare"] > calls["init"]:
        found.append(f"init, prepare and free were called {calls['init']}, {calls['prepare']} and"
                     f" {calls['free']} times")  # fmt: skip
    elif not is_allocated and calls["invoke"]:
        found.append(f"invoke was called {calls['invoke']} times, and nothing was allocated")
    return found


def _allocations(ledger: Ledger, known: Known, *, whole: bool) -> None:
    """All types once and in order, or none; their counts are the model's."""
    records = ledger.take("allocation")
    if not records:
        if whole and "allocation" in known.required and not ledger.has("failed"):
            ledger.missing("no allocation records came", "allocation")
        return
    told = tuple(record.text("type") for record in records)
    if whole and told != ALLOCATIONS:
        message = f"allocations of {', '.join(told)[:200]} came, not each type once and in order"
        ledger.contradicts(message, "allocation", records[0].line)
    arena = ledger.take("arena")
    taken = sum(record.integer("used") for record in records)
    if arena and taken > arena[-1].integer("declared"):
        message = f"allocations take {taken} bytes of an arena of {arena[-1].integer('declared')}"
        ledger.contradicts(message, "allocation")
    for record in records:
        requested, used = record.integer("requested"), record.integer("used")
        if requested > used:
            message = f"allocation of {record.text('type')}: {used} bytes for {requested}"
            ledger.contradicts(message, "allocation", record.line)
        _counted(ledger, record, known.model)


def _counted(ledger: Ledger, record: Record, model: Model | None) -> None:
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
    if kind == "eval_tensor" and requested != wanted * _EVAL_TENSOR:
        message = f"allocation of {kind} says {requested} bytes for {wanted} tensors"
        ledger.contradicts(message, "allocation", record.line)


def _stacks(ledger: Ledger, known: Known, *, whole: bool) -> None:
    records = ledger.take("stack")
    if whole and not records and "stack" in known.required:
        ledger.missing("no stack record came", "stack")
    names = [record.text("name") for record in records]
    for name in sorted({name for name in names if names.count(name) > 1}):
        ledger.unexpected(f"stack {name} came {names.count(name)} times", "stack")
    for record in records:
        size, used = record.integer("size"), record.integer("used")
        if not used or used > size:
            message = f"stack {record.text('name')} says {used} of {size} bytes are used"
            ledger.contradicts(message, "stack", record.line)
        limit = known.stack_bytes if record.text("name") == "main" else None
        if limit is not None and size > limit:
            message = f"stack main says {size} bytes, the ELF has {limit}"
            ledger.contradicts(message, "stack", record.line)


def _failed(ledger: Ledger) -> None:
    for record in ledger.take("failed"):
        if record.integer("status") == 0:
            message = f"failed at {record.text('stage')!r} with status 0"
            ledger.contradicts(message, "failed", record.line)


def _end(ledger: Ledger, known: Known, *, whole: bool) -> None:
    """`end` counts the good inferences; its status is 0, or that of the last failure."""
    ends, failed = ledger.take("end"), ledger.take("failed")
    if whole and not ends and "end" in known.required:
        ledger.missing("no end record came", "end")
    for record in ends[:1]:
        done, told = len(good_inferences(ledger)), record.integer("inferences")
        if told != done:
            message = f"end says {told} inferences, {done} ended with status 0"
            ledger.contradicts(message, "end", record.line)
        status = record.integer("status")
        wanted = failed[-1].integer("status") if failed else 0
        if status != wanted:
            other = f"failed says {wanted}" if failed else "nothing failed"
            ledger.contradicts(f"end says status {status}, {other}", "end", record.line)
