"""Hostile images: small firmware that breaks a rule of the chip, each with a correct twin.

A folder (``tests/hostile``) has their sources, ``NAME.c``, compiled with HOSTILE=1 and, for the
twin, with HOSTILE=0; and tables ``*.toml`` with a row for each image, which gives the chip's
behaviour and how sure that is. :func:`conform` compares simulator and boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from harness.base import files, tables
from harness.base.errors import UsageError
from harness.base.expected import Expected
from harness.base.grid import Grid, Row, escaped
from harness.base.platforms import chip_table
from harness.build.toolchain import Toolchain
from harness.case.case import Case, LastLine
from harness.case.result import CaseResult, Verdict
from harness.case.run import run_case
from harness.targets.registry import DEFAULT

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
class _ImageRow:
    rule: str
    chip: str
    sure: Annotated[int, _percent]
    source: str
    verdict: Literal["firmware", "fail"]
    says: str
    finding: str = ""
    flags: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    case: Mapping[str, object] = field(default_factory=dict)
    keep_off: str = ""


@dataclass(frozen=True)
class HostileImage:
    """An image that breaks one rule, the chip's behaviour, and the verdict expected on it."""

    name: str
    chapter: str  # the table's name
    source_file: Path
    rule: str
    chip: str  # the chip's behaviour
    sure: int  # percent
    source: str  # document and section of the rule
    verdict: Verdict  # of the hostile build
    says: str  # the cause: part of the reason, a problem or a finding's message
    finding: str = ""  # kind of a finding, if one is expected
    flags: tuple[str, ...] = ()  # further compiler flags
    options: Mapping[str, object] = field(default_factory=dict)  # of the simulator
    case: Mapping[str, Any] = field(default_factory=dict)  # further fields of harness.Case
    keep_off: str = ""  # reason why no board should run it; "": boards may

    def build(self, toolchain: Toolchain, folder: Path, *, hostile: bool) -> Path:
        """Compile the image, or its twin, to an ELF in ``folder``; raise :class:`BuildFailed`."""
        kind = "hostile" if hostile else "twin"
        elf = folder / f"{self.name}-{kind}.elf"
        chip, here = chip_table(), self.source_file.parent
        toolchain.run(
            [toolchain.compiler, *_FLAGS, f"-mcpu={chip.core}", f"-mfpu={chip.fpu}", *self.flags,
             f"-DHOSTILE={int(hostile)}", f"-T{here / 'image.ld'}", self.source_file, "-o", elf],
            self.source_file.name, folder,
        )  # fmt: skip
        return elf

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
        if judgement.verdict is not self.verdict:
            return f"the verdict is {judgement}, not {self.verdict}"
        texts = [judgement.reason, *judgement.problems, *(one.message for one in findings)]
        if not any(self.says in text for text in texts):
            return f"nothing says {self.says!r}: {'; '.join(texts)}"
        kinds = [str(one.kind) for one in findings]
        if self.finding and self.finding not in kinds:
            return f"no finding {self.finding}, but {', '.join(kinds) or 'none'}"
        return ""


def read(folder: Path, names: Iterable[str] = ()) -> list[HostileImage]:
    """Read the images of a folder, table by table, or those of ``names``.

    Raises :class:`UsageError` for an invalid table or an unknown name.
    """
    images = [one for path in sorted(folder.absolute().glob("*.toml")) for one in _table(path)]
    if not images:
        raise UsageError(
            f"{folder} holds no hostile images", hint="a checkout has them in tests/hostile"
        )
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
        row = tables.read(_ImageRow, table, f"{path}: {name}")
        source_file = path.parent / f"{name}.c"
        if not source_file.is_file():
            raise UsageError(f"{path}: there is no {source_file.name}")
        yield HostileImage(
            name, path.stem, source_file,
            **{**vars(row), "verdict": Verdict(row.verdict)},
        )  # fmt: skip


#: Seconds on a board's clock for one run, enough for all output of an image.
_SECONDS = 3.0
#: Characters of a console shown in a table.
_SHOWN = 120


@dataclass(frozen=True)
class Answer:
    """The consoles of an image, or of its twin, on the simulator and on a board."""

    image: HostileImage
    hostile: bool
    simulator: str  # lines of the console
    board: str  # lines of the console
    failure: str = ""  # reason why the board did not run it; "" if it did

    @property
    def agrees(self) -> bool:
        """Whether both consoles are equal."""
        return not self.failure and self.board == self.simulator

    def to_json(self) -> dict[str, object]:
        """The answer as JSON types."""
        return {
            "image": self.image.name,
            "build": "hostile" if self.hostile else "twin",
            "rule": self.image.rule,
            "chip": self.image.chip,
            "sure": self.image.sure,
            "simulator": self.simulator,
            "board": self.board,
            "failure": self.failure,
            "agrees": self.agrees,
        }


def conform(
    images: Iterable[HostileImage], folder: Path, target: str, options: Mapping[str, object]
) -> Iterator[Answer]:
    """Run each image and its twin on the simulator and on the boards of ``target``.

    Each run starts with flash and reset and ends after a few seconds, so that an image that hangs
    or locks up the chip does not affect the next. Images that could harm a board are left out.

    Raises :class:`EnvironmentMissing` without a compiler; a board's failure is in its answer.
    """
    toolchain = Toolchain.find()
    for image in images:
        if image.keep_off:
            continue
        for hostile in (True, False):
            case = image.case_of(image.build(toolchain, folder, hostile=hostile))
            simulated = run_case(case, folder / DEFAULT)
            on_board = replace(
                case.on(target), options=options, end=LastLine("^ok$"), timeout=_SECONDS
            )
            result = run_case(on_board, folder / target, on_error="record")
            broken = result.judgement.verdict in (Verdict.ERROR, Verdict.SKIPPED)
            failure = result.judgement.reason if broken else ""
            yield Answer(image, hostile, _printed(simulated), _printed(result), failure)


def _printed(result: CaseResult) -> str:
    if result.evidence.console is None:
        return ""
    text = result.evidence.console.read_bytes().decode("ascii", "backslashreplace")
    return "\n".join(line.rstrip() for line in text.splitlines())


def table(answers: Sequence[Answer]) -> Grid:
    """A table with a row for each answer: expected, simulator, board."""
    rows: list[Row] = [
        [one.image.name if one.hostile else f"{one.image.name} (twin)",
         one.image.chip if one.hostile else "ok", f"{one.image.sure} %", _short(one.simulator),
         one.failure or _short(one.board), "yes" if one.agrees else "no"]
        for one in answers
    ]  # fmt: skip
    heads = ["image", "expected of the chip", "sure", "simulator", "board", "agree"]
    return Grid(heads, frozenset((2,)), rows)


def _short(text: str) -> str:
    line = "; ".join(text.splitlines()) or "(nothing)"
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


def report(answers: Sequence[Answer], board: str) -> str:
    """Format the answers in Markdown: the table, and the full consoles of those that differ."""
    differ = [one for one in answers if not one.agrees]
    parts = [f"# Conformance of {escaped(board)}", "",
             f"{len(answers) - len(differ)} of {len(answers)} runs printed the same on board and "
             "simulator.", "", table(answers).markdown()]  # fmt: skip
    for one in differ:
        name = one.image.name if one.hostile else f"{one.image.name} (twin)"
        parts += ["", f"## {name}", "", f"{one.image.rule}: {one.image.chip}"
                  f" ({one.image.sure} %, {one.image.source})"]  # fmt: skip
        for place, text in (("simulator", one.simulator), ("board", one.failure or one.board)):
            parts += ["", f"{place}:", "", *(f"    {line}" for line in text.splitlines())]
    return "\n".join(parts) + "\n"
