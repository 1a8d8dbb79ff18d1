"""What a request runs: ``plan`` says which case on which target, ``execute`` runs it.

Command line, pytest's plugin and Robot's keywords differ in how a request is written and a result
is shown, and in nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.base.errors import UsageError
from harness.base.platforms import chip_called
from harness.base.secrets import redacted
from harness.base.tables import plain
from harness.base.text import short
from harness.build.table import ALL, load
from harness.case.case import Case
from harness.case.overlay import CaseLayer, LayerKind, NamedLayers, Overlay, environment
from harness.case.subject import Subject
from harness.case.tally import Tally
from harness.elf import combined
from harness.targets.opening import Targets
from harness.targets.registry import DEFAULT, Ability, all_options, target, who_can

if TYPE_CHECKING:
    from harness.case.result import CaseResult
    from harness.case.run import Calibrate, Look


@dataclass(frozen=True)
class Request:
    """What was asked for. ``layers`` are those of the door, the lowest first.

    ``names`` and ``tags`` select cases of a case file. ``needs`` are abilities that each target
    must have, by the option that needs them.
    """

    subject: Subject
    layers: tuple[CaseLayer, ...] = ()
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    allow_skips: bool = False
    needs: tuple[tuple[str, Ability], ...] = ()


@dataclass(frozen=True)
class Item:
    """A case on one target.

    ``origins``: each given key with its value as written, and who wrote it.
    """

    case: Case
    origins: tuple[tuple[str, object, str], ...] = ()

    def __str__(self) -> str:
        missing = target(self.case.target).lacks()
        lines = [f"{self.case.name} on {self.case.target}"]
        lines += [f"  skipped: {missing}"] if missing else []
        lines += [f"  {key} = {plain(value)}   ({origin})" for key, value, origin in self.origins]
        return redacted("\n".join(lines))


@dataclass(frozen=True)
class Plan:
    """What runs. ``named`` are the targets that the user asked for, in place of a file's."""

    items: tuple[Item, ...]
    named: frozenset[str] = frozenset()
    allow_skips: bool = False
    notes: tuple[str, ...] = ()

    @property
    def cases(self) -> list[Case]:
        """The cases, each on one target."""
        return [item.case for item in self.items]

    def tally(self, results: Iterable[CaseResult]) -> Tally:
        """The tally of the ``results`` so far."""
        attempts = Tally.of(results).attempts
        return Tally(attempts, len(self.items), self.named, self.allow_skips)

    def __str__(self) -> str:
        return "\n".join(map(str, self.items))


def plan(request: Request) -> Plan:
    """The plan of a request.

    Raises :class:`UsageError` for a request that names what there is not, that contradicts itself,
    or that gives what nothing takes.
    """
    rows = _rows(request)
    overlays = [(row, _overlay(row, request)) for row in rows]
    alone = len(rows) == 1
    cases = [(row, overlay, _case(row, overlay, alone=alone)) for row, overlay in overlays]
    cases = _with_tags(cases, request.tags)
    items = [
        Item(on, tuple((key, *value) for key, value in overlay.origins(on).items()))
        for _, overlay, case in cases
        for on in map(case.on, dict.fromkeys(case.targets))
    ]
    _refuse_unused_options(request.layers, items)
    _refuse_missing_abilities(items, request.needs)
    notes = dict.fromkeys(note for _, overlay, _ in cases for note in overlay.notes)
    return Plan(tuple(items), _named(overlays), request.allow_skips, tuple(notes))


def _rows(request: Request) -> tuple[NamedLayers, ...]:
    """The cases that the subject stands for, without the door's layers."""
    subject = request.subject
    if subject.case_file is not None:
        from harness.case.casefile import rows_of  # noqa: PLC0415 - most runs have no case file

        return _selected(rows_of(subject.case_file), request.names, str(subject.case_file))
    if request.names or request.tags:
        option = "--case" if request.names else "--tag"
        raise UsageError(f"{option} selects cases of a case file", hint="name a hil.toml")
    if subject.elf is not None:
        values = {"elf": subject.elf}
        return (_row(f"image {subject.text}", combined.name_of(subject.elf), values),)
    resolvers = [layer.values.get("resolver") for layer in request.layers]
    chosen = next((str(one) for one in reversed(resolvers) if one), "exact")
    names = [chosen] if chosen != ALL else _configurations(subject.sample)
    return tuple(
        _row(
            f"sample {subject.sample}",
            f"{subject.sample}-{name}",
            {"sample": subject.sample},
            resolver=name,
        )
        for name in names
    )


def _row(origin: str, name: str, values: Mapping[str, object], resolver: str = "") -> NamedLayers:
    layers = [CaseLayer(LayerKind.SAMPLE, origin, {"name": name, **values})]
    if resolver:
        layers.append(CaseLayer(LayerKind.ENVIRONMENT, origin, {"resolver": resolver}))
    return NamedLayers(name, "", tuple(layers))


def _configurations(sample: str) -> list[str]:
    table = load()
    table.sample(sample)
    names = [row.name for known, row in table.pairs() if known.name == sample]
    if not names:
        raise UsageError(f"the table has no configuration of sample {sample}")
    return names


def _selected(
    rows: tuple[NamedLayers, ...], names: Collection[str], path: str
) -> tuple[NamedLayers, ...]:
    known = [row.name for row in rows]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise UsageError(f"{path} has no case {unknown!r}", hint=f"it has {', '.join(known)}")
    return tuple(row for row in rows if not names or row.name in names)


def _overlay(row: NamedLayers, request: Request) -> Overlay:
    door = request.layers
    if request.subject.sample:
        door = tuple(map(_without_all, door))
    overlay, own = Overlay([*row.layers, environment(), *door]), Overlay(row.layers)
    _refuse_other_chip(row, overlay, own)
    _refuse_options_of_file(row, own)
    return overlay


def _without_all(layer: CaseLayer) -> CaseLayer:
    if layer.values.get("resolver") != ALL:
        return layer
    values = {name: value for name, value in layer.values.items() if name != "resolver"}
    return replace(layer, values=values)


def _case(row: NamedLayers, overlay: Overlay, *, alone: bool) -> Case:
    case = overlay.case(row.place, alone=alone)
    for key in ("resolver", "builder"):
        one = overlay.written.get(key)
        if case.elf is not None and one is not None and one.layer.source is LayerKind.DOOR:
            image = case.name if row.place else case.elf
            raise UsageError(f"{one.origin} cannot be used here: {image} is an image already built")
    return case


def _refuse_options_of_file(row: NamedLayers, own: Overlay) -> None:
    """Raise :class:`UsageError` for an option that none of the file's targets takes."""
    targets: Any = own.written["targets"].value if "targets" in own.written else (DEFAULT,)
    known = all_options()
    for path, one in own.written.items():
        table, _, name = path.partition(".")
        if table != "options" or one.layer.source is LayerKind.BOARD:
            continue
        if name not in known or not set(known[name][1]) & set(targets):
            raise UsageError(
                f"{row.place}: options: no option {short(name)} of {' or '.join(targets)}",
                hint=f"options of targets: {', '.join(known)}",
            )


def _refuse_other_chip(row: NamedLayers, overlay: Overlay, own: Overlay) -> None:
    """Raise :class:`UsageError` if the file says another chip than the user."""
    named = overlay.written.get("chip")
    if named is None or named.layer.source <= LayerKind.FILE:
        return
    asked, known = chip_called(str(named.value)), own.written.get("chip")
    if known and known.value and chip_called(str(known.value)) != asked:
        raise UsageError(
            f"{named.origin} {asked.name}, but case {row.name!r} is for the "
            f"{chip_called(str(known.value)).name}",
            hint="leave the chip out, or choose other cases",
        )


def _with_tags(
    cases: list[tuple[NamedLayers, Overlay, Case]], tags: tuple[str, ...]
) -> list[tuple[NamedLayers, Overlay, Case]]:
    known = dict.fromkeys(tag for _, _, case in cases for tag in case.tags)
    unknown = next((tag for tag in tags if tag not in known), None)
    if unknown is not None:
        raise UsageError(
            f"no case has the tag {unknown!r}", hint=f"tags: {', '.join(known) or 'none'}"
        )
    return [one for one in cases if not tags or set(tags) & set(one[2].tags)]


def _named(overlays: Iterable[tuple[NamedLayers, Overlay]]) -> frozenset[str]:
    """The targets that were asked for by name."""
    written = (overlay.written.get("targets") for _, overlay in overlays)
    asked = [one.value for one in written if one and one.layer.source > LayerKind.FILE]
    return frozenset(name for names in asked if isinstance(names, (list, tuple)) for name in names)


def _refuse_unused_options(layers: Iterable[CaseLayer], items: Collection[Item]) -> None:
    """Raise :class:`UsageError` for options that the user gave for targets on which nothing runs.

    Those of a file may be for targets that the user left out.
    """
    used = {item.case.target for item in items}
    for layer in layers:
        options: Any = layer.values.get("options", {})
        for name in options if layer.source is LayerKind.DOOR else ():
            takers = all_options()[name][1] if name in all_options() else []
            if used.isdisjoint(takers):
                raise UsageError(
                    f"{layer.origin_of(f'options.{name}')} cannot be used here: nothing runs on "
                    f"{' or '.join(takers)}",
                    hint=f"add --target {takers[0]}" if takers else "",
                )


def _refuse_missing_abilities(items: Iterable[Item], needs: Iterable[tuple[str, Ability]]) -> None:
    for item in items:
        all_needs = [*needs, *([("press", Ability.PINS)] if item.case.press else [])]
        for option, ability in all_needs:
            if not target(item.case.target).can(ability):
                raise UsageError(
                    f"{option} cannot be used here: {item.case.target} cannot {ability}",
                    hint=f"--target {' or '.join(who_can(ability))}",
                )


def one_case(subject: Subject, *layers: CaseLayer) -> Case:
    """The case of an image or a sample, for what runs no more than one.

    Raises :class:`UsageError` as :func:`plan`, and if the layers give several cases.
    """
    first, *others = plan(Request(subject, layers)).cases
    if others:
        raise UsageError(
            f"{subject.text} has {1 + len(others)} cases, and only one can be used here",
            hint="name one --resolver",
        )
    return first


def load_cases(path: Path, names: Sequence[str] = ()) -> list[Case]:
    """Read a case file: one case for each target of each ``[[case]]``, or of those in ``names``.

    ``[defaults]`` and ``[peripherals]`` fill in keys that a ``[[case]]`` leaves out. Paths are
    relative to the file. Raises :class:`UsageError` that names the case and the key.
    """
    made = plan(Request(Subject(str(path), case_file=path), names=tuple(names)))
    for note in made.notes:
        logging.getLogger(__name__).warning("%s", note)
    return made.cases


def execute(
    made: Plan,
    folder: Callable[[Case], Path],
    pools: Targets,
    *,
    look: Callable[[Case], Look | None] = lambda case: None,
    echo: Callable[[int, Case], Callable[[bytes], None] | None] = lambda number, case: None,
    calibrate: Calibrate | None = None,
    trace: bool = False,
    on_error: Literal["raise", "record"] = "record",
    passing: tuple[type[Exception], ...] = (),
) -> Iterator[CaseResult]:
    """Run the items in turn, and yield the result of each.

    ``folder`` gives the folder for the files of a case. ``echo`` is called before each case with
    its number, from 1, and returns the display of its console. The others are as in
    :func:`~harness.case.run.run_case`.
    """
    from harness.case.repeat import CaseRun, of_repeated  # noqa: PLC0415 - a plan alone runs nothing
    from harness.case.result import Verdict  # noqa: PLC0415
    from harness.case.run import run_case  # noqa: PLC0415

    for number, item in enumerate(made.items, 1):
        case = item.case
        show, place = echo(number, case), folder(case)
        runs: list[CaseRun] = []
        while len(runs) < case.repeat:
            result = run_case(
                case,
                place,
                pools=pools,
                look=look(case),
                calibrate=calibrate,
                echo=show,
                trace=trace,
                on_error=on_error,
                passing=passing,
            )
            runs.append(CaseRun.of(result))
            if result.judgement.verdict in (Verdict.SKIPPED, Verdict.USAGE, Verdict.ERROR):
                break  # none of them is about the image
        yield of_repeated(runs, case.repeat)
