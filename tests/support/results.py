"""Results of cases, for tests: fields of all parts side by side."""

from dataclasses import fields

from harness.case.result import CaseResult, Evidence, Judgement, Measures, Setup, Verdict

DEFAULTS = {
    "name": "case",
    "sample": "",
    "resolver": "",
    "builder": "prebuilt",
    "target": "simulator",
    "verdict": Verdict.PASS,
    "reason": "fine",
}


def case_result(**given: object) -> CaseResult:
    """A result with these fields, in whichever part they are; it passed if none is given."""
    values = DEFAULTS | given
    parts = (
        kind(**{f.name: values.pop(f.name) for f in fields(kind) if f.name in values})
        for kind in (Setup, Judgement, Evidence, Measures)
    )
    result = CaseResult(*parts)
    assert not values, f"no field of a result: {', '.join(values)}"
    return result
