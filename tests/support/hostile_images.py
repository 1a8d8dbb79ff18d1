"""Hostile images (tests/hostile): small firmware that breaks a rule of the chip, and its twins.

``NAME.c`` is compiled with HOSTILE=1 and, for the correct twin, with HOSTILE=0. A table ``*.toml``
has a row for each image (:class:`HostileImage`): the chip's behaviour, and how sure that is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kept_images import kept

from harness.base.expected import Expected
from harness.base.platforms import chip_table
from harness.build.toolchain import Toolchain
from harness.case.case import Case
from harness.case.result import CaseResult

FOLDER = Path(__file__).resolve().parents[1] / "hostile"
_FLAGS = (
    "-x", "c", "-mthumb", "-mfloat-abi=hard", "-O2", "-g", "-ffreestanding", "-nostdlib",
    "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip


@dataclass(frozen=True)
class HostileImage:
    """An image that breaks one rule, the chip's behaviour, and the verdict expected on it."""

    name: str
    chapter: str  # the table's name
    rule: str
    chip: str  # the chip's behaviour
    sure: int  # percent
    source: str  # document and section of the rule
    verdict: str  # of the hostile build: "firmware" or "fail"
    says: str  # the cause: part of the reason, a problem or a finding's message
    finding: str = ""  # kind of a finding, if one is expected
    flags: tuple[str, ...] = ()  # further compiler flags
    options: Mapping[str, object] = field(default_factory=dict)  # of the simulator
    case: Mapping[str, Any] = field(default_factory=dict)  # further fields of harness.Case
    renode: str = ""  # where Renode differs: "pass", or a part of the reason there
    keep_off: str = ""  # reason why no board should run it; "": boards may

    def build(self, toolchain: Toolchain, folder: Path, *, hostile: bool) -> Path:
        """Compile the image, or its twin, to an ELF in ``folder``."""
        elf = folder / f"{self.name}-{'hostile' if hostile else 'twin'}.elf"
        chip, source = chip_table(), FOLDER / f"{self.name}.c"
        frame = FOLDER / "image.ld"
        command = [
            str(toolchain.compiler), *_FLAGS, f"-mcpu={chip.core}", f"-mfpu={chip.fpu}",
            *self.flags, f"-DHOSTILE={int(hostile)}", f"-T{frame}", str(source),
        ]  # fmt: skip
        return kept(elf, command, read=(source, frame, FOLDER / "image.h"))

    def case_of(self, elf: Path) -> Case:
        """A case on the simulator that expects the line ``ok`` and no finding."""
        return Case(
            elf.stem,
            elf,
            options=self.options,
            scraper="/^(?P<said>ok)$/",
            expect=Expected(values=({"said": "ok"},)),
            reference="none",
            **self.case,
        )

    def contradiction(self, result: CaseResult) -> str:
        """Describe how ``result`` contradicts the row of the hostile build; "" if it does not."""
        judgement, findings = result.judgement, result.evidence.findings
        if str(judgement.verdict) != self.verdict:
            return f"the verdict is {judgement}, not {self.verdict}"
        texts = [judgement.reason, *judgement.problems, *(one.message for one in findings)]
        if not any(self.says in text for text in texts):
            return f"nothing says {self.says!r}: {'; '.join(texts)}"
        kinds = [str(one.kind) for one in findings]
        if self.finding and self.finding not in kinds:
            return f"no finding {self.finding}, but {', '.join(kinds) or 'none'}"
        return ""


def hostile_images() -> list[HostileImage]:
    """The images, table by table."""
    return [
        HostileImage(name, path.stem, **row)
        for path in sorted(FOLDER.glob("*.toml"))
        for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items()
    ]
