"""Hostile images: small firmware that the chip refuses, ruins or keeps silent, each with a twin.

A folder holds them (``tests/hostile``): ``NAME.c``, compiled with HOSTILE=1 and, as the twin that
does the same in the right way, with HOSTILE=0; and tables ``*.toml`` with a row for each, which
says what the chip does and how sure that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.base import files, tables
from harness.base.errors import UsageError
from harness.base.platforms import board_table
from harness.build.toolchain import Toolchain
from harness.case.case import Case
from harness.case.result import CaseResult, Verdict

_FLAGS = (
    "-x", "c", "-mthumb", "-mfloat-abi=hard", "-O2", "-g", "-ffreestanding", "-nostdlib",
    "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip


@tables.check("percent")
def _percent(value: int) -> int:
    if not 0 <= value <= 100:
        raise ValueError(f"{value} is not a percentage")
    return value


@dataclass(frozen=True)
class _Row:
    rule: str
    chip: str
    sure: Annotated[int, _percent]
    source: str
    verdict: Literal["firmware", "fail"]
    says: str
    finding: str = ""
    flags: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    case: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HostileImage:
    """One behaviour: the rule that it breaks, what the chip does, and what the harness must say."""

    name: str
    chapter: str  # the table's name
    source_file: Path
    rule: str
    chip: str  # what the chip does
    sure: int  # percent
    source: str  # document and section of the rule
    verdict: Verdict  # of the hostile build
    says: str  # stands in the reason or in a finding's message: the cause
    finding: str = ""  # the kind of a finding that must be there
    flags: tuple[str, ...] = ()  # further ones of the compiler
    options: Mapping[str, object] = field(default_factory=dict)  # of the target
    case: Mapping[str, Any] = field(default_factory=dict)  # further fields of harness.Case

    def build(self, toolchain: Toolchain, folder: Path, *, hostile: bool) -> Path:
        """Compile the image, or its twin, to an ELF in ``folder``. Raises :class:`BuildFailed`."""
        kind = "hostile" if hostile else "twin"
        elf = folder / f"{self.name}-{kind}.elf"
        chip, here = board_table().chip, self.source_file.parent
        toolchain.run(
            [toolchain.compiler, *_FLAGS, f"-mcpu={chip.core}", f"-mfpu={chip.fpu}", *self.flags,
             f"-DHOSTILE={int(hostile)}", f"-T{here / 'image.ld'}", self.source_file, "-o", elf],
            self.source_file.name, folder,
        )  # fmt: skip
        return elf

    def case_of(self, elf: Path, target: str) -> Case:
        """The case that expects the line ``ok`` and nothing else."""
        return Case(
            elf.stem,
            elf,
            target=target,
            target_options=self.options,
            scraper="/^(?P<said>ok)$/",
            values=({"said": "ok"},),
            reference=False,
            **self.case,
        )

    def contradiction(self, result: CaseResult) -> str:
        """Why ``result`` is not what must come of the hostile build; "" if it is."""
        judgement, findings = result.judgement, result.evidence.findings
        if judgement.verdict is not self.verdict:
            return f"the verdict is {judgement}, not {self.verdict}"
        told = [judgement.reason, *judgement.problems, *(one.message for one in findings)]
        if not any(self.says in text for text in told):
            return f"nothing says {self.says!r}: {'; '.join(told)}"
        kinds = [str(one.kind) for one in findings]
        if self.finding and self.finding not in kinds:
            return f"no finding {self.finding}, but {', '.join(kinds) or 'none'}"
        return ""


def read(folder: Path, names: Iterable[str] = ()) -> list[HostileImage]:
    """The images of a folder, or those of ``names``, by table.

    Raises :class:`UsageError` for a table or a name that makes no sense.
    """
    images = [one for path in sorted(folder.glob("*.toml")) for one in _table(path)]
    if not images:
        raise UsageError(f"{folder} holds no hostile images")
    known = {image.name: image for image in images}
    if len(known) < len(images):
        twice = sorted({one.name for one in images if known[one.name] is not one})
        raise UsageError(f"{folder}: {', '.join(twice)} stands in two tables")
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise UsageError(f"no hostile image {unknown[0]!r}", hint=f"one of {', '.join(known)}")
    return [known[name] for name in names] or images


def _table(path: Path) -> Iterable[HostileImage]:
    for name, table in files.read_toml(path).items():
        row = tables.read(_Row, table, f"{path}: {name}")
        source_file = path.parent / f"{name}.c"
        if not source_file.is_file():
            raise UsageError(f"{path}: there is no {source_file.name}")
        yield HostileImage(
            name, path.stem, source_file,
            **{**vars(row), "verdict": Verdict(row.verdict)},
        )  # fmt: skip
