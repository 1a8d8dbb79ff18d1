"""Every resolver configuration of the samples: told by the ELF before it runs, and by the live
table after."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import needs
import pytest

from harness import footprint, resolver
from harness.base import paths
from harness.build.builders import build_one
from harness.build.configurations import load
from harness.cli import main
from harness.elf import Image
from harness.model import Model
from harness.resolver import AuditVerdict
from harness.resolver.stop_point import run_past_registration
from harness.targets import open_target

SAMPLE = "digits"
#: Configuration -> what the audit must say, and what is in the table (None: the needed operators).
EXPECTED = {
    "exact": {AuditVerdict.OK},
    "missing": {AuditVerdict.MISSING, AuditVerdict.UNUSED},
    "empty": {AuditVerdict.EMPTY, AuditVerdict.MISSING, AuditVerdict.TOO_LARGE},
    "too_small": {AuditVerdict.TOO_SMALL},
    "too_small_rev": {AuditVerdict.MISSING, AuditVerdict.TOO_SMALL, AuditVerdict.UNUSED},
    "too_large": {AuditVerdict.TOO_LARGE},
    "duplicate": {AuditVerdict.DUPLICATE, AuditVerdict.TOO_LARGE},
    "all": {AuditVerdict.UNUSED},
}


def image(configuration: str, sample: str = SAMPLE) -> Image:
    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_one(sample, configuration))


def model(sample: str = SAMPLE) -> Model:
    return Model.from_file(paths.models() / load().samples[sample].model)


@pytest.mark.parametrize("configuration", EXPECTED)
def test_the_audit_tells_the_configuration_without_running(configuration: str) -> None:
    audit = resolver.check(image(configuration), model())
    assert set(audit.verdicts) == EXPECTED[configuration]
    variant = load().variant(SAMPLE, configuration, "standalone")
    assert audit.declared == variant.slots
    accepted = list(dict.fromkeys(addition.operator for addition in variant.additions))
    assert set(audit.registered) == set(accepted[: variant.slots])


@pytest.mark.parametrize("configuration", EXPECTED)
def test_the_live_table_holds_what_was_accepted_in_that_order(configuration: str) -> None:
    firmware = image(configuration)
    variant = load().variant(SAMPLE, configuration, "standalone")
    accepted = list(dict.fromkeys(addition.operator for addition in variant.additions))
    with open_target("simulator", firmware) as session:
        assert run_past_registration(session, firmware).reached
        (live,) = resolver.dump(session, firmware)
    assert list(live.operators) == accepted[: variant.slots]
    assert live.slots == variant.slots
    assert all(one.invoke and one.file.endswith(".cc") for one in live.registrations)


@pytest.mark.parametrize(
    ("configuration", "verdict"),
    [("exact", AuditVerdict.OK), ("custom", AuditVerdict.OK),
     ("custom_missing", AuditVerdict.MISSING), ("custom_too_small", AuditVerdict.TOO_SMALL),
     ("custom_duplicate", AuditVerdict.DUPLICATE)],
)  # fmt: skip
def test_custom_operators_are_audited_like_builtins(
    configuration: str, verdict: AuditVerdict
) -> None:
    audit = resolver.check(image(configuration, "atan"), model("atan"))
    assert verdict in audit.verdicts
    custom = next(one for one in audit.operators if one.custom)
    assert custom.operator == "Atan"


def test_the_live_table_names_a_custom_operator() -> None:
    firmware = image("custom", "atan")
    with open_target("simulator", firmware) as session:
        run_past_registration(session, firmware)
        (live,) = resolver.dump(session, firmware)
    assert [(one.operator, one.custom) for one in live.registrations] == [
        ("Atan", True), ("ADD", False),
    ]  # fmt: skip


def test_an_unused_slot_costs_what_the_audit_says() -> None:
    exact, large = image("exact"), image("too_large")
    grown = footprint.regions(large)[1].used - footprint.regions(exact)[1].used
    wasted = resolver.check(large, model()).wasted
    assert abs(grown - wasted) < 16  # alignment


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["virtual-board", pytest.param("renode", marks=pytest.mark.needs("renode"))]
)
def test_other_targets_show_the_same_table(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A board is read through its debug probe, some time after its start."""
    elf = str(image("exact").path)
    code = main(["resolver", "dump", elf, "--target", target, "--timeout", "2", "--json", "-"])
    said = capsys.readouterr()
    assert code == 0, said.err
    (table,) = json.loads(said.out)["resolvers"]
    operators = [row["operator"] for row in table["registrations"]]
    assert operators == list(load().samples[SAMPLE].operators)
    assert all("Invoke" in row["invoke"] for row in table["registrations"])


def test_a_stripped_image_is_audited_live(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stripped = tmp_path / "stripped.elf"
    elf = image("missing").path
    subprocess.run(["arm-none-eabi-strip", "-o", str(stripped), str(elf)], check=True)
    assert main(["resolver", "check", str(stripped), SAMPLE + "_int8"]) == 5
    assert "cannot tell whether the resolver of stripped.elf" in capsys.readouterr().err
    assert main(["resolver", "check", "--live", str(stripped), SAMPLE + "_int8"]) == 1
    said = capsys.readouterr()
    lacking = load().samples[SAMPLE].operators[-1]
    assert f"operator {lacking} is needed by the model and not registered" in said.out
    assert "is wrong for" in said.err
