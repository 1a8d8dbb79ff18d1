"""Spoilt consoles that may pass, each with the reason why nothing is lost.

A row names a record kind, its field, the changes (all shell patterns) and the kinds of run. The
tests fail for a row that no mutant uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from spoil import Mutant


@dataclass(frozen=True)
class Exemption:
    record: str
    field: str
    changes: tuple[str, ...]
    reason: str
    kinds: str = "*"

    def covers(self, kind: str, mutant: Mutant) -> bool:
        return (
            fnmatchcase(mutant.record, self.record)
            and fnmatchcase(mutant.field, self.field)
            and any(fnmatchcase(mutant.change, one) for one in self.changes)
            and fnmatchcase(kind, self.kinds)
        )


_SOME = ("plus one", "minus one", "doubled and more")
_NAMES = ("another known one*", "unknown", "cut")
_MEASURED = "only the device measures it; what bounds it (the run, the whole, the arena) still does"
_LABEL = "a name that the image gives itself: of an ELF of one's own nothing else tells it"
_ASKED_AGAIN = "the host asks again, and is told again: the record was taken once"
_OPTIONAL = "an ELF of one's own need not say it"
_OF_A_TEST = "the place, name or message of a test of Unity: its state and the tally are checked"
_INTERRUPTED = "a run that the expected reset ends: the boot after it tells the test's result"
_OWN = "ELF of*"

EXEMPTIONS: tuple[Exemption, ...] = (
    # figures of the device's own
    Exemption("inference", "ticks", _SOME, _MEASURED),
    Exemption("op", "ticks", _SOME, _MEASURED),
    Exemption("allocation", "requested", (*_SOME, "zero"), _MEASURED),
    Exemption("allocation", "used", _SOME, _MEASURED),
    Exemption("allocation", "count", (*_SOME, "zero"), _MEASURED),
    Exemption("arena", "used", _SOME, _MEASURED),
    Exemption("stack", "used", _SOME, _MEASURED),
    Exemption(
        "stack",
        "size",
        ("minus one",),
        "the ELF's stack may hold a guard beside what is painted: only a larger one is wrong",
    ),
    Exemption(
        "output",
        "hex",
        ("lowest bit of the first byte",),
        "a float's last bit: the order of its sums explains as much",
        "hello_world_float*",
    ),
    Exemption(
        "output",
        "hex",
        ("highest bit of the last byte",),
        "a float: -0.0 is 0.0",
        "digits_cnn*",
    ),
    # a conversation that goes on
    Exemption(
        "ack",
        "of",
        ("minus one",),
        _ASKED_AGAIN,
        "*console",
    ),
    Exemption("ack", "", ("dropped",), _ASKED_AGAIN, "*console"),
    # an ELF of one's own
    Exemption("boot", "sample", _NAMES, _LABEL, _OWN),
    Exemption("boot", "board", _NAMES, _LABEL, _OWN),
    Exemption("boot", "build", _NAMES, _LABEL, _OWN),
    Exemption("boot", "runtime", ("another known one*",), _LABEL, _OWN),
    Exemption("resolver", "name", _NAMES, _LABEL, _OWN),
    Exemption("inference", "source", ("another known one*",), _LABEL, _OWN),
    Exemption("stack", "name", _NAMES, _LABEL, _OWN),
    Exemption("lifecycle", "", ("dropped", "all are dropped"), _OPTIONAL, _OWN),
    Exemption("lifecycle", "operator", ("another known one*",), _LABEL, _OWN),
    Exemption("lifecycle", "reset", _SOME, "who writes an image may reset it twice in a row", _OWN),
    Exemption("op", "", ("all are dropped",), _OPTIONAL, _OWN),
    Exemption("allocation", "", ("all are dropped",), _OPTIONAL, _OWN),
    Exemption("resolver", "", ("dropped", "all are dropped"), _OPTIONAL, _OWN),
    Exemption("stack", "", ("dropped", "all are dropped"), _OPTIONAL, _OWN),
    Exemption(
        "input",
        "hex",
        ("lowest bit of the first byte",),
        "a float's last bit, in an input that only the image tells, moves the output by less than"
        " the tolerance",
        "ELF of atan*",
    ),
    Exemption(
        "input",
        "hex",
        ("lowest bit of the first byte",),
        "an input that only the image tells, where its neighbour has the same output",
        "ELF of hello_world*",
    ),
    # results in text
    Exemption(
        "result",
        "",
        ("replayed after the end",),
        "after a cycle the sample begins again: one more right result",
        "text of hello_world",
    ),
    Exemption(
        "result",
        "number 1",
        ("zero",),
        "x = pi lies between two steps of the input; its six decimals fit the y of both",
        "text of hello_world",
    ),
    # suites of tests
    Exemption("result", "number *", ("*",), _OF_A_TEST, "Unity*"),
    Exemption("result", "", ("swapped with the next",), _OF_A_TEST, "Unity*"),
    Exemption("result", "word 0", ("unknown",), _OF_A_TEST, "Unity"),
    Exemption("result", "word [124]", ("unknown",), _OF_A_TEST, "Unity with*"),
    Exemption("result", "word [135]", ("unknown",), _OF_A_TEST, "Unity repeated*"),
    Exemption(
        "closing",
        "",
        ("swapped with the next",),
        "the next repetition's first result comes early: its tally counts it",
        "Unity repeated*",
    ),
    Exemption(
        "*",
        "",
        ("a reset, then all again",),
        "the case expects resets, not their number; all tests run again",
        "*resets the chip",
    ),
    Exemption(
        "begin",
        "*",
        ("dropped", "cut off inside", "unknown"),
        _INTERRUPTED,
        "*resets the chip",
    ),
    Exemption(
        "*",
        "",
        ("a fault dump before it",),
        "a test may provoke faults while it runs; its own words decide",
        "*test*",
    ),
    Exemption(
        "begin",
        "*",
        ("unknown", "cut off inside", "swapped with the next"),
        "the older form names a test once, where it begins: nothing can contradict it",
        "*older form",
    ),
    Exemption("end", "number *", ("larger", "smaller", "zero"), "a duration", "ztest*"),
    Exemption("row", "number *", ("larger", "smaller", "zero"), "a duration", "ztest*"),
    Exemption(
        "total",
        "number [05]",
        ("larger", "smaller", "zero"),
        "a percentage of the counts beside it, and a duration",
        "ztest*",
    ),
    Exemption(
        "*",
        "",
        ("swapped with the next",),
        "lines of a summary in another order say the same",
        "ztest*",
    ),
)
