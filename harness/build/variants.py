"""Variants: a sample in a resolver configuration, with its registrations and expected result.

The comment at the head of ``zephyr_samples/resolvers.toml`` explains the table's keys. A
:class:`Variant` has the operators to add in their order, the slots of the resolver, and the arena.
CMake runs this module as well, with a Python that has the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.expected import Expected
from harness.base.findings import Kind

#: The runtimes of samples.
RUNTIMES = ("standalone", "tflm")

#: Findings of an arena that is too small.
_OF_ARENA = (Kind.ARENA_TOO_SMALL, Kind.ALLOCATION_FAILED)

_FORMULA = re.compile(r"(?P<base>[a-z]+)(?P<difference>[+-]\d+)?")


@dataclass(frozen=True)
class Sample:
    """A model with the application that runs it.

    ``model`` is a file name in ``zephyr_samples/models``, ``application`` a folder of
    ``zephyr_samples``, ``sources`` the C++ files of the application and of ``common``, relative to
    ``zephyr_samples``. ``arena`` and ``arena_minimum`` are in bytes, the latter by runtime, with
    the revision for tflite-micro (``tflm@8d404de7``). ``refused`` is the operator whose Prepare
    fails, by revisions that cannot run the model with any arena.

    ``operators`` are the builtins that the model needs, in the order of their first use.

    ``inputs`` is a file in ``models`` and an array in it (``digits_test.npz:int8``), whose first
    ``inferences`` rows are linked into the image; ``:pixels/16`` converts bytes to float32, divided
    by 16; "" means that the application generates its inputs. The last of the ``inferences`` rows
    are those of ``vectors`` (``digits_vectors.npz:int8``), inputs that detect mistakes of kernels.
    ``rows`` is the number of rows that a host sends through the console, 0 for all; the vectors
    follow them.
    """

    name: str
    title: str
    application: str
    model: str
    arena: int
    operators: tuple[str, ...]
    custom_operators: tuple[str, ...]
    inferences: int
    inputs: str = ""
    vectors: str = ""
    rows: int = 0
    override: str = ""
    arena_minimum: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """All operators that the model needs, builtins first."""
        return self.operators + self.custom_operators


@dataclass(frozen=True)
class Addition:
    """An ``Add*`` call: ``method`` of the resolver, ``own`` for a kernel of the application."""

    operator: str
    method: str
    custom: bool = False
    own: bool = False


@dataclass(frozen=True)
class Variant:
    """A sample in a configuration on a runtime: the input of a build."""

    sample: Sample
    configuration: Configuration
    runtime: str
    additions: tuple[Addition, ...]
    slots: int
    arena: int
    expect: Expected
    minimum: str = ""  # key in ``arena_minimum`` of the value of ``arena``
    refused: str = ""  # the operator whose Prepare fails with this tflite-micro

    @property
    def checked(self) -> bool:
        """True if the application tests the results of ``Add*``."""
        return self.configuration.checked

    @property
    def console(self) -> bool:
        """True if the host sends the inputs through the console."""
        return self.configuration.console


@dataclass(frozen=True)
class Configuration:
    """A resolver configuration of the table, without a sample."""

    name: str
    title: str
    add: tuple[str, ...]
    slots: str
    arena: str
    repeat: bool
    replace: tuple[str, ...]
    checked: bool
    console: bool
    requires: tuple[str, ...]
    outputs: bool
    findings: tuple[Mapping[str, str], ...]

    def applies_to(self, sample: Sample) -> bool:
        """True if the sample meets this configuration's requirements."""
        has = {
            "custom": bool(sample.custom_operators),
            "override": bool(sample.override),
            "arena_minimum": bool(sample.arena_minimum),
        }
        return all(has[requirement] for requirement in self.requires)


@dataclass(frozen=True)
class Table:
    """The table of samples and configurations, read from ``path``.

    ``tflite_micro`` contains the dates of the revisions with separate figures, oldest first.
    """

    path: Path
    samples: Mapping[str, Sample]
    configurations: Mapping[str, Configuration]
    spare: tuple[str, ...]
    runtimes: Mapping[str, tuple[str, ...]]
    methods: Mapping[str, str]
    tflite_micro: Mapping[str, date] = field(default_factory=dict)

    def sample(self, name: str) -> Sample:
        """The sample called ``name``; raises UsageError with the known names."""
        if name not in self.samples:
            known = ", ".join(self.samples)
            raise UsageError(f"there is no sample {name!r}", hint=f"samples: {known}")
        return self.samples[name]

    def configuration(self, name: str, sample: Sample) -> Configuration:
        """The configuration called ``name``; raises UsageError if ``sample`` has no such one."""
        row = self.configurations.get(name)
        if row is not None and row.applies_to(sample):
            return row
        known = ", ".join(
            row.name for row in self.configurations.values() if row.applies_to(sample)
        )
        raise UsageError(
            f"sample {sample.name!r} has no resolver configuration {name!r}",
            hint=f"configurations of {sample.name}: {known}",
        )

    def pairs(self) -> list[tuple[Sample, Configuration]]:
        """Every sample with every configuration that applies to it, in the table's order."""
        return [
            (sample, row)
            for sample in self.samples.values()
            for row in self.configurations.values()
            if row.applies_to(sample)
        ]

    def variant(
        self, sample: str, configuration: str, runtime: str = "standalone", revision: str = ""
    ) -> Variant:
        """``sample`` in ``configuration`` on ``runtime``; raises UsageError for unknown names.

        ``revision`` of tflite-micro is one of :meth:`minima`, "" the last of them.
        """
        if runtime not in self.runtimes:
            raise UsageError(f"there is no runtime {runtime!r}", hint=", ".join(self.runtimes))
        known = self.sample(sample)
        row = self.configuration(configuration, known)
        return _VariantMaker(self, known, row, runtime, revision).variant()

    def minima(self, sample: Sample) -> list[str]:
        """The revisions of tflite-micro with figures for ``sample``, oldest first."""
        measured = sample.arena_minimum.keys() | sample.refused.keys()
        return [one for one in self.tflite_micro if f"tflm@{one}" in measured]

    def nearest(self, sample: Sample, commit: str, day: date | None) -> str:
        """The revision of :meth:`minima` to use for ``commit``, dated ``day``.

        It is the commit itself, or the nearest in time, or the last without commit and date; ""
        without figures for ``sample``.
        """
        known = self.minima(sample)
        if commit:
            known = [one for one in known if commit.startswith(one)] or known
        if day is not None and known:
            return min(known, key=lambda one: abs((self.tflite_micro[one] - day).days))
        return known[-1] if known else ""


class _VariantMaker:
    """Makes the variant of a configuration for a sample on a runtime."""

    def __init__(
        self,
        table: Table,
        sample: Sample,
        configuration: Configuration,
        runtime: str,
        revision: str = "",
    ) -> None:
        self.table = table
        self.sample = sample
        self.configuration = configuration
        self.runtime = runtime
        self.revision = revision

    def variant(self) -> Variant:
        row = self.configuration
        additions = self._additions()
        counts = {"added": len(additions), "needed": len(self.sample.needed)}
        slots = self._number(row.slots, counts)
        if slots < 1:
            raise self._broken(f"slots {row.slots!r} is {slots}; a resolver has at least one")
        arenas = {"declared": self.sample.arena}
        minimum = self._minimum()
        if minimum in self.sample.arena_minimum:
            arenas["minimum"] = self.sample.arena_minimum[minimum]
        elif minimum in self.sample.refused:
            arenas["minimum"] = self.sample.arena
        arena = self._number(row.arena, arenas)
        refused = self._refused(minimum, additions)
        expect = self._expectation(additions, slots, refused)
        return Variant(
            self.sample, row, self.runtime, additions, slots, arena, expect,
            minimum if refused or row.arena.startswith("minimum") else "", refused,
        )  # fmt: skip

    def _minimum(self) -> str:
        """The key in ``arena_minimum``, which need not exist."""
        if self.runtime != "tflm":
            return self.runtime
        return f"tflm@{self.revision or ''.join(self.table.minima(self.sample)[-1:])}"

    def operators(self, selector: str) -> tuple[str, ...]:
        """The operators denoted by a selector, or the operator of this name."""
        chosen = self._chosen(selector)
        for name in chosen:
            if name not in self.table.methods and name not in self.sample.custom_operators:
                raise self._broken(f"{name!r} is neither a selector nor an operator")
        return chosen

    def _chosen(self, selector: str) -> tuple[str, ...]:
        sample = self.sample
        match selector:
            case "NEEDED":
                return sample.needed
            case "BUILTIN":
                return sample.operators
            case "CUSTOM":
                return sample.custom_operators
            case "FIRST":
                return sample.operators[:1]
            case "LAST":
                return sample.operators[-1:]
            case "BUT_LAST":
                return sample.operators[:-1]
            case "SPARE" | "SPARE2":
                spare = [name for name in self.table.spare if name not in sample.needed]
                return tuple(spare[:1] if selector == "SPARE" else spare[1:2])
            case "OVERRIDE":
                return (sample.override,) if sample.override else ()
            case "ALL":
                every = self.table.runtimes[self.runtime]
                return tuple(dict.fromkeys((*sample.operators, *every)))
        return (selector,)

    def _additions(self) -> tuple[Addition, ...]:
        row = self.configuration
        names = [name for selector in row.add for name in self.operators(selector)]
        if not row.repeat:
            names = list(dict.fromkeys(names))
        own = {name for selector in row.replace for name in self.operators(selector)}
        custom = set(self.sample.custom_operators)
        return tuple(
            Addition(
                name,
                "AddCustom" if name in custom else self.table.methods[name],
                custom=name in custom,
                own=name in own,
            )
            for name in names
        )

    def _number(self, formula: str, bases: Mapping[str, int]) -> int:
        if formula.isdecimal():
            return int(formula)
        match = _FORMULA.fullmatch(formula)
        if match is None or match["base"] not in bases:
            raise self._broken(f"cannot compute {formula!r} from {', '.join(bases)}")
        return bases[match["base"]] + int(match["difference"] or 0)

    def _refused(self, minimum: str, additions: Sequence[Addition]) -> str:
        """The operator whose Prepare fails, "" if none does or an earlier error occurs."""
        operator = self.sample.refused.get(minimum, "")
        reached = self.configuration.outputs or self.configuration.arena.startswith("minimum")
        own = any(one.own for one in additions if one.operator == operator)
        return operator if reached and not own else ""

    def _expectation(self, additions: Sequence[Addition], slots: int, refused: str) -> Expected:
        row = self.configuration
        findings: list[tuple[str, str]] = []
        values: list[tuple[str, str, str, int]] = []
        for entry in row.findings:
            word = entry["subject"]
            for subject in self.operators(word) if word else ("",):
                findings.append((entry["kind"], subject))
                if entry.get("declared") == "slots":
                    values.append((entry["kind"], subject, "declared", slots))
        if refused:
            findings = [(kind, subject) for kind, subject in findings if kind not in _OF_ARENA]
            findings += [(Kind.PREPARE_FAILED, refused), (Kind.ALLOCATION_FAILED, "")]
        kept, left = register(additions, slots, checked=row.checked)
        return Expected(
            row.outputs and not refused,
            tuple(findings),
            declared=tuple(values),
            registered=len(kept),
            refused=len(left),
        )

    def _broken(self, message: str) -> UsageError:
        return broken(
            self.table.path,
            f"configuration {self.configuration.name!r} for sample {self.sample.name!r}: {message}",
        )


def register(
    additions: Sequence[Addition], slots: int, *, checked: bool
) -> tuple[list[str], list[tuple[Kind, str]]]:
    """The registrations that MicroMutableOpResolver<slots> accepts and refuses.

    For builtins it first checks for a duplicate, for custom operators for a free slot. A
    ``checked`` application stops at the first refusal.
    """
    kept: list[str] = []
    refused: list[tuple[Kind, str]] = []
    for addition in additions:
        full, twice = len(kept) >= slots, addition.operator in kept
        if not full and not twice:
            kept.append(addition.operator)
            continue
        duplicate = twice and not (addition.custom and full)
        kind = Kind.DUPLICATE_OPERATOR if duplicate else Kind.RESOLVER_TOO_SMALL
        refused.append((kind, addition.operator))
        if checked:
            break
    return kept, refused


def broken(path: Path, message: str) -> UsageError:
    """The error for an invalid table at ``path``."""
    return UsageError(f"{path.name}: {message}", hint=explained(path))


def explained(path: Path) -> str:
    """The hint of errors in the table at ``path``."""
    return f"the comment at its head explains the keys: {path}"
