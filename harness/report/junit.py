"""Results as JUnit XML, the dialect that CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from harness.case.columns import properties
from harness.case.result import CaseResult, Verdict
from harness.case.tally import Tally
from harness.report.problems import console_lines, problem_lines, result_files

# Characters that XML 1.0 cannot hold, escaped or not; a device's console may have them.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_ELEMENT = {
    Verdict.FAIL: "failure",
    Verdict.FIRMWARE: "failure",
    Verdict.ERROR: "error",
    Verdict.SKIPPED: "skipped",
}


def legal(text: str) -> str:
    """``text`` with each character that XML cannot hold written as ``#xNN``, as pytest does."""
    return _ILLEGAL.sub(lambda match: f"#x{ord(match.group()):02X}", text)


def junit(results: Sequence[CaseResult], tally: Tally | None = None) -> str:
    """A ``testsuite`` with a ``testcase`` for each result, and for each test that an image ran.

    Its output is the counts of ``tally``; without one those of ``results``.
    """
    counts = dict.fromkeys(("failure", "error", "skipped"), 0)
    suite = ElementTree.Element("testsuite", name="tflm-hil")
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=legal(f"{result.setup.sample or 'firmware'}.{result.setup.target}"),
            name=legal(result.setup.name),
            time=f"{result.measures.wall_seconds:.3f}",
        )
        _add_properties(case, result)
        element = _ELEMENT.get(result.judgement.verdict)
        if element:
            counts[element] += 1
            child = ElementTree.SubElement(case, element, message=legal(result.judgement.reason))
            child.text = legal(_text(result))
        _add_console(case, result)
        _add_tests(suite, result, counts)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(counts["failure"]))
    suite.set("errors", str(counts["error"]))
    suite.set("skipped", str(counts["skipped"]))
    counted = str(tally or Tally.of(results))
    ElementTree.SubElement(suite, "system-out").text = legal(counted)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_tests(suite: ElementTree.Element, result: CaseResult, counts: dict[str, int]) -> None:
    """Add the tests that the image ran; a failure that the case expects counts as skipped."""
    for test in result.evidence.tests:
        row = ElementTree.SubElement(
            suite,
            "testcase",
            classname=legal(f"{result.setup.name}.{result.setup.target}"),
            name=legal(test.name),
            time=f"{test.seconds or 0.0:.3f}",
        )
        if test.state == "pass":
            continue
        known = test.state != "skip" and result.passed
        element = "skipped" if known or test.state == "skip" else "failure"
        counts[element] += 1
        message = f"{test.state}, as known" if known else test.state
        child = ElementTree.SubElement(row, element, message=message)
        child.text = legal("\n".join(test.messages))


def _add_properties(case: ElementTree.Element, result: CaseResult) -> None:
    """Add builder, chip and the measures, for CI servers that keep figures over time."""
    row = ElementTree.SubElement(case, "properties")
    chip = {"chip": result.setup.chip} if result.setup.chip else {}
    for name, value in {"builder": result.setup.builder, **chip, **properties(result)}.items():
        ElementTree.SubElement(row, "property", name=name, value=legal(str(value)))


def _add_console(case: ElementTree.Element, result: CaseResult) -> None:
    """Add the case's files as GitLab and Jenkins read them, and the last lines of its console.

    GitLab takes the first tag of a failure, relative to the project's folder; the plugin JUnit
    Attachments of Jenkins takes all, relative to the workspace.
    """
    lines = [f"[[ATTACHMENT|{path}]]" for path in map(_from_here, result_files(result))]
    # A device could name any file of the workspace.
    lines += [line.replace("[[ATTACHMENT|", "[[ATTACHMENT |") for line in console_lines(result)]
    if lines:
        ElementTree.SubElement(case, "system-out").text = legal("\n".join(lines))


def _from_here(path: Path) -> str:
    """A path relative to the working folder, which is a job's workspace; absolute elsewhere."""
    whole = path.absolute()
    here = Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _text(result: CaseResult) -> str:
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    console = [f"console: {result.evidence.console}"] if result.evidence.console else []
    details = [result.evidence.details] if result.evidence.details else []
    return "\n".join([*problem_lines(result), *hint, *details, *console])
