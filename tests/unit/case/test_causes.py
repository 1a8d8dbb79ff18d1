"""The order of findings in a result: the first cause first, then what followed from it."""

import pytest

from harness.base.findings import Finding, Kind
from harness.case.causes import in_sequence


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
