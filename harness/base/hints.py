"""The hints that stand beside a verdict, a row each: the text, and the evidence that earns it.

A hint is given where something that was seen shows that it helps. For each one
``tests/integration/test_hints.py`` has an image that earns it and one that looks alike and does
not. Errors of usage and of the environment, which are not verdicts on firmware, have hints of their
own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NewType

from harness.base.findings import Finding, Kind

#: The text of a :class:`Hint`. Results, and errors that are verdicts, take no other.
HintText = NewType("HintText", str)
NO_HINT = HintText("")
#: Findings of a resolver that lacks an operator.
_LACKS = (Kind.MISSING_OPERATOR, Kind.MISSING_CUSTOM_OPERATOR, Kind.RESOLVER_TOO_SMALL)


class Hint(Enum):
    """What to try. The text has names of facts in braces, which :meth:`told` replaces."""

    LARGER_ARENA = (
        "declare a larger arena; `tflm-hil arena IMAGE` then finds the smallest that works",
        "TFLM's message of memory that is missing, and the chip has as much",
    )
    BEYOND_RAM = (
        "{wanted:,} B are more than the chip's RAM: is the model in the image damaged?",
        "such a message that asks for more than the chip's RAM",
    )
    CONVERT_MODEL = ("{remedy}", "the model: types or operators that tflite-micro refuses")
    NAME_MODEL = (
        "`model` names the .tflite that the image was built with; build again if it has changed",
        "the bytes of a model in the image, or its CRC-32 on the console, which are not the case's",
    )
    GIVE_MODEL = (
        "--model, or `model` in a case file",
        "the console has outputs, and the case no model to compare them with",
    )
    ONE_LAYOUT = (
        "a #pragma pack without its end, or a macro that only some files define",
        "values differ, and two files lay out a structure of one header differently",
    )
    COMPARE_RESULTS = (
        "give {reference}",
        "a scraper reads results, and the case compares them with nothing",
    )
    LIST_A_ROUND = (
        "with `end = 'never'`, expect.values begin again after the last: list a whole round",
        "results that come again are wrong, and those of the first round were right",
    )
    REAL_VALUES = (
        'does the image print real values (form = "real")?',
        "a number with a fraction, which the scale of the tensor can give",
    )
    OTHER_SCRAPER = (
        "--scraper {name} reads {results} from it",
        "that scraper reads results from the console, and the case's own none",
    )
    NEEDS_SCRAPER = (
        "an image that prints no records is read by a scraper: {known}, or a /regex/; "
        "`tflm-hil init` writes a case file for its text",
        "the console has no record, and text with numbers that no scraper was given for",
    )
    SEND_INPUT = (
        "the image waits for input: give --inputs, or `inputs` in a case file",
        "a `ready` record is the last one, and the case has no inputs",
    )
    LARGER_GUARD = (
        "{timeout:g} s take this machine about {needed:,.0f} s: give it a larger guard (--guard, "
        "or `guard` in a case file)",
        "the guard ended the run while lines came, or Invoke() was running",
    )
    MORE_TIME = (
        "it needs more time (--timeout, or `timeout` in a case file)",
        "the deadline ended the run while results came, or calls of Invoke() returned",
    )
    NEVER_ENDS = (
        'firmware that never ends, or sleeps for good: --end never, or `end = "never"` in a case '
        'file; firmware with a last line: --end /REGEX/, or `end = {{ line = "REGEX" }}`',
        "all results came, no last line is declared, and the image never rests",
    )
    DROP_KEY = (
        "leave the key out, or change the case so that it counts",
        "a run that passes, in which a key of the case had no effect",
    )
    ASSERT_SOMETHING = (
        'wait for a line, compare something, or say checks = "none"',
        "a session has ended without an assertion",
    )
    CHECK_VERDICT = (
        "assert hil.run(...), or check its verdict",
        "a result that failed, and the test never looked at it",
    )
    COUNT_CALLS = (
        "the kernel counts its calls with hil::Lifecycle",
        "the image has ended, and printed no record of the operator's calls",
    )
    WITHOUT_STRIP = (
        "pass the ELF before it was stripped",
        "an ELF file without symbols",
    )
    ALSO_LOAD = (
        "add the ELF with --also-load app.elf",
        "a HEX or binary file, of a command that loads an ELF beside it",
    )
    PASS_ELF = (
        "pass the ELF instead",
        "a HEX or binary file, of a command that loads one file",
    )
    READ_LATER = (
        "--timeout gives it more time, --until names the function at which the resolver is read",
        "an image that did not get to AllocateTensors() in the time that it had",
    )
    RESOLVER_LACKS = (
        "`tflm-hil resolver check IMAGE MODEL` lists what the resolver lacks",
        "TFLM's message of an operator that is missing, or of a resolver that is full",
    )
    NOT_THE_ARENA = (
        "the operator refuses its tensors at any size of the arena",
        "`tflm-hil arena`: TFLM's message of a Prepare that failed, and none of missing memory",
    )
    WHERE_IT_HANGS = (
        "--at hang shows where it is then",
        "`tflm-hil debug --at`: the image rests before it reaches the place",
    )
    DEBUG_LONGER = (
        "--timeout gives it more time",
        "`tflm-hil debug --at`: the image still runs at the deadline",
    )
    OWN_INPUTS = (
        "an image with inputs of its own takes no --inputs",
        "`tflm-hil campaign --inputs`: inferences came, and the image asked for no input",
    )
    LARGER_COUNT = (
        "a larger --count narrows the intervals",
        "`tflm-hil campaign`: a rate is within its budget, and its interval is not",
    )

    def __init__(self, text: str, evidence: str) -> None:
        self.text, self.evidence = text, evidence

    def told(self, **facts: object) -> HintText:
        """The text with ``facts``."""
        return HintText(self.text.format(**facts))


def either(first: HintText, second: HintText) -> HintText:
    """A hint that names two ways."""
    return HintText(f"{first}, or {second}")


def for_findings(findings: Sequence[Finding], ram: int) -> HintText:
    """The hint of the first of ``findings`` that has one, on a chip with ``ram`` bytes of RAM."""
    for first in findings:
        if first.kind in _LACKS:
            return Hint.RESOLVER_LACKS.told()
        if first.kind is Kind.ARENA_TOO_SMALL:
            small = [one for one in findings if one.kind is Kind.ARENA_TOO_SMALL]
            wanted = max(one.value("requested") or 0 for one in small)
            hint = Hint.BEYOND_RAM if wanted > ram else Hint.LARGER_ARENA
            return hint.told(wanted=wanted)
    return NO_HINT
