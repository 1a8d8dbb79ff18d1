"""The order of findings in a result: the first cause first, then what followed from it."""

import pytest

from harness.base.findings import Finding, Kind
from harness.case.causes import in_sequence, with_reasons
from harness.uart import Console


def found(kind: Kind, time: float | None) -> Finding:
    return Finding(kind, kind.value, time=time)


@pytest.mark.parametrize(
    ("findings", "lines"),
    [
        ([found(Kind.FAULT, 0.2), found(Kind.PREPARE_FAILED, 0.1)],
         ["prepare_failed", "then: fault"]),
        ([found(Kind.FAULT, 0.1), found(Kind.KERNEL_PANIC, 0.2), found(Kind.REBOOTED, None)],
         ["fault", "then: kernel_panic", "then: rebooted"]),
        ([found(Kind.MISSING_OPERATOR, 0.1), found(Kind.MISSING_OPERATOR, 0.2)],
         ["missing_operator", "missing_operator"]),
        ([found(Kind.DMA_REFUSED, 0.1), found(Kind.FAULT, 0.2)],
         ["dma_refused", "then: fault"]),
        ([found(Kind.UNPARSED_VALUE, 0.1), found(Kind.FAULT, 0.2)],
         ["unparsed_value", "fault"]),
        ([found(Kind.RECORD_TRUNCATED, None), found(Kind.FAULT, 0.2)],
         ["fault", "record_truncated"]),
    ],
)  # fmt: skip
def test_findings_are_told_in_the_order_of_time(findings, lines):
    assert in_sequence(findings) == lines


NODE = "Node VAR_HANDLE (number 0f) failed to prepare with status 1"


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ("VAR_HANDLE requires variables.", f"VAR_HANDLE requires variables. {NODE}"),
        ("kernels/add.cc:87 a->type != b->type (1 != 9)",
         f"kernels/add.cc:87 a->type != b->type (1 != 9) {NODE}"),
        ("starting the interpreter", NODE),
        ("Didn't find op for builtin opcode 'ADD'", NODE),
    ],
)  # fmt: skip
def test_a_refused_node_has_what_its_kernel_printed_before_it(before, message):
    console = Console()
    console.feed(f"boot\n{before}\n{NODE}\n".encode())
    console.finish()
    assert with_reasons(console.findings, console)[-1].message == message
