"""Results as JUnit XML, in the form that CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from harness.case.columns import properties
from harness.case.result import CaseResult, Verdict
from harness.case.tally import Tally
from harness.report.problems import console_lines, problem_lines, result_files, start_notes

# Characters that are not allowed in XML 1.0, even escaped; consoles may contain them.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_ELEMENT = {
    Verdict.FAIL: "failure",
    Verdict.FLAKY: "failure",
    Verdict.FIRMWARE: "failure",
    Verdict.USAGE: "error",
    Verdict.ERROR: "error",
    Verdict.SKIPPED: "skipped",
}


def legal(text: str) -> str:
    """``text`` with each illegal character of XML replaced by ``#xNN``, as in pytest."""
    return _ILLEGAL.sub(lambda match: f"#x{ord(match.group()):02X}", text)


def junit(results: Sequence[CaseResult], tally: Tally | None = None) -> str:
    """A ``testsuite`` with a ``testcase`` for each result, and for each test run by an image.

    Its ``system-out`` contains the counts of ``tally``, by default those of ``results``.
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
    """Adds the tests run by the image; an expected failure counts as skipped."""
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
        expected = test.state != "skip" and result.passed
        element = "skipped" if expected or test.state == "skip" else "failure"
        counts[element] += 1
        message = f"{test.state}, as expected" if expected else test.state
        child = ElementTree.SubElement(row, element, message=message)
        child.text = legal("\n".join(test.messages))


def _add_properties(case: ElementTree.Element, result: CaseResult) -> None:
    """Adds builder, chip and measures, for CI servers that record figures."""
    row = ElementTree.SubElement(case, "properties")
    chip = {"chip": result.setup.chip} if result.setup.chip else {}
    for name, value in {"builder": result.setup.builder, **chip, **properties(result)}.items():
        ElementTree.SubElement(row, "property", name=name, value=legal(str(value)))


def _add_console(case: ElementTree.Element, result: CaseResult) -> None:
    """Adds the files of the case in the form of GitLab and Jenkins, and its last console lines.

    GitLab uses the first tag of a failure, relative to the project's folder; the plugin JUnit
    Attachments of Jenkins uses all, relative to the workspace.
    """
    lines = [f"[[ATTACHMENT|{path}]]" for path in map(_from_here, result_files(result))]
    lines += start_notes([result])
    # The output of a device must not attach files.
    lines += [line.replace("[[ATTACHMENT|", "[[ATTACHMENT |") for line in console_lines(result)]
    if lines:
        ElementTree.SubElement(case, "system-out").text = legal("\n".join(lines))


def _from_here(path: Path) -> str:
    """A path relative to the working folder, which is the workspace of a job; absolute outside."""
    whole = path.absolute()
    here = Path.cwd()
    return (whole.relative_to(here) if whole.is_relative_to(here) else whole).as_posix()


def _text(result: CaseResult) -> str:
    hint = [f"hint: {result.judgement.hint}"] if result.judgement.hint else []
    console = [f"console: {result.evidence.console}"] if result.evidence.console else []
    details = [result.evidence.details] if result.evidence.details else []
    return "\n".join([*problem_lines(result), *hint, *details, *console])
