"""What was observed of one run or session, and the findings in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.base.findings import Finding, Kind, Topic, in_order
from harness.case.evidence import NOT_MEASURED, Measured
from harness.case.invocations import NO_INVOCATIONS, Invocations, completed
from harness.case.last_resorts import EXITS
from harness.elf import Image
from harness.model import Model
from harness.model.schema import SCHEMA_VERSION
from harness.targets.base import Counters, Fault, Stop
from harness.uart import Console
from harness.uart.scrapers.tests import TestScraper

#: Kinds of findings in the console that come with the program counter.
_WITH_PC = (Kind.FAULT, Kind.KERNEL_PANIC, Kind.STACK_OVERFLOW)


@dataclass(frozen=True)
class AtRest:
    """The state of a core at rest for good: asleep, in System OFF, or in a loop without effect."""

    branches: bool  # at a branch to itself, not asleep
    exception: int = 0  # number of the exception that it handles; 0: thread mode
    spins: bool = False  # in a loop around a WFI that does not sleep
    off: bool = False  # in System OFF


@dataclass(frozen=True)
class Observation:
    """The observations of one run, which :mod:`.judge` judges."""

    console: Console
    stop: Stop
    ended: bool  # the image ended by itself, or ran as long as the case requires
    complaint: str  # why feeding the image failed; "" if it did not
    where: str  # place of the core at the end; "" for an image that ended
    counters: Counters
    faults: tuple[Fault, ...]  # except those that its tests provoked
    target_findings: tuple[Finding, ...]
    sent: tuple[int, ...] | None = None  # transmissions of each host record; None: there were none
    at_rest: AtRest | None = None
    stuck: bool = False  # in a handler that has executed for longer than the image is watched
    last_resort: Finding | None = None  # the function in which the firmware gave up
    invocations: Invocations = NO_INVOCATIONS  # calls of the interpreter
    models: tuple[int, ...] = ()  # addresses of the root tables of models that interpreters got
    quiet: float | None = None  # seconds on the target's clock since it last printed; None: never
    measured: Measured = NOT_MEASURED  # by the target
    cause: str = ""  # why what the core waits for does not come; "" for an image that ended
    unwritten: str = ""  # text that stdout still holds; "" for an image that ended
    awaited: bool = False  # the case would read a result, or its end, in that text
    main_returned: bool = False  # the core rests where main() has returned to
    stacks: str = ""  # call stacks at the end, several lines; "" for an image that ended
    not_pressed: tuple[int, ...] = ()  # presses, by their number from 0, that did not begin
    missed_step: str = ""  # the step of the host that the image did not answer; "" for none

    def findings(self, model: Model | None = None, image: Image | None = None) -> list[Finding]:
        """The findings of console and target, in order, with names from model and image."""
        findings = [
            _with_version(_with_linkage(_with_place(_with_customs(finding, model), image), image))
            for finding in self.console.findings
        ]
        findings += self.target_findings  # an access is refused before the fault that follows
        for fault in self.faults:
            values = (("pc", fault.pc),)
            findings.append(Finding(Kind.FAULT, str(fault), fault.kind, 0, values, fault.time))
        last, kinds = self.last_resort, {known.kind for known in findings}
        refused = self.invocations.refused
        if refused and image is not None and not self._tells_refusals(findings):
            findings.append(completed(refused, image, model))
        if last and last.kind not in kinds and not _is_status_of_tests(last, self.console):
            findings.append(last)
        if self.stop is Stop.RESET_LOOP:
            return in_order([self._reset_loop(findings), *findings])
        return in_order([*findings, *self._resets(kinds)])

    def _tells_refusals(self, findings: Sequence[Finding]) -> bool:
        """Whether what the interpreter refused is told already, or is what a test wants."""
        tells = any(one.kind.topic in (Topic.RESOLVER, Topic.INTERPRETER) for one in findings)
        return tells or any(isinstance(one, TestScraper) for one in self.console.scrapers)

    def _reset_loop(self, findings: Sequence[Finding]) -> Finding:
        """It began when the console shows that the image booted again."""
        boots = (one.time for one in findings if one.kind is Kind.REBOOTED and one.line)
        text = f"the firmware reset itself {self.counters.resets} times"
        return Finding(Kind.RESET_LOOP, text, time=next(boots, None))

    def _resets(self, kinds: set[Kind]) -> list[Finding]:
        count = self.counters.resets
        if count and Kind.REBOOTED not in kinds:
            return [Finding(Kind.REBOOTED, f"the firmware reset itself ({count} times)")]
        return []


def _is_status_of_tests(last: Finding, console: Console) -> bool:
    """Whether ``last`` is the exit status of a test program that has reported its failures."""
    return last.subject in EXITS and any(one.reports_failures for one in console.scrapers)


def _with_place(finding: Finding, image: Image | None) -> Finding:
    """Add the function of a fault's address, which the ELF gives, to ``finding``."""
    if image is None or finding.kind not in _WITH_PC:
        return finding
    for name, word in (("pc", "in"), ("lr", "called from")):
        address = finding.value(name)
        place = image.locate(address) if address else None
        if place is not None and place.function:
            return replace(finding, message=f"{finding.message}, {word} {place}")
    return finding


def _with_linkage(finding: Finding, image: Image | None) -> Finding:
    """Add to a missing operator whether the image links it, so that it could be registered."""
    if image is None or finding.kind is not Kind.MISSING_OPERATOR or not image.symbols:
        return finding
    linked = {one.operator for one in image.registrations}
    if not linked:
        return finding
    held = finding.subject in linked
    what = "is linked, and was not in the resolver then" if held else "is not linked"
    return replace(finding, message=f"{finding.message} ({finding.subject} {what})")


def _with_version(finding: Finding) -> Finding:
    """Put before a schema version that no file has ever had what that means."""
    version = finding.value("version") if finding.kind is Kind.SCHEMA_MISMATCH else None
    if version is None or 0 < version <= SCHEMA_VERSION:
        return finding
    meaning = f"no .tflite has schema version {version}: GetModel() got something else"
    return replace(finding, message=f"{meaning} ({finding.message})")


def _with_customs(finding: Finding, model: Model | None) -> Finding:
    """Add the model's custom operators to a ``finding`` from TFLM's message, which names none."""
    unnamed = finding.kind is Kind.MISSING_CUSTOM_OPERATOR and not finding.subject
    if not unnamed or model is None or not model.custom_operator_names:
        return finding
    names = " or ".join(model.custom_operator_names)
    return replace(finding, subject=names, message=f"{finding.message} (the model's: {names})")
