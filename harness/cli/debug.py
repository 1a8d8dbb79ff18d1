"""``tflm-hil debug``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.base import numbers
from harness.base.errors import UsageError
from harness.base.power_on import DEFAULT_SEED, seed_of
from harness.cli.options import GroupedCommand, case_options, number_option, options_in
from harness.cli.parameters import CASE, EXISTING, FILE_OR_WORD, IMAGE_OR_CASES, Name
from harness.targets.registry import DEFAULT
from harness.uart.echo import Echo

if TYPE_CHECKING:
    from harness.case import Case
    from harness.case.overlay import CaseLayer
    from harness.case.subject import Subject
    from harness.debug.gdb import GdbCall
    from harness.debug.replay import Breakpoint, Rerun
    from harness.elf import Image


@dataclass(frozen=True, kw_only=True)
class DebugOptions:
    """The options of ``tflm-hil debug``."""

    what: Subject
    names: tuple[str, ...]
    layers: tuple[CaseLayer, ...]
    place: str
    timeout: float
    guard: float
    port: int | None
    gdb: str | None
    batch: Path | None


@click.command(cls=GroupedCommand)
@click.argument("what", metavar="IMAGE|SAMPLE|hil.toml", type=IMAGE_OR_CASES)
@click.option("--case", "names", metavar="NAME", type=CASE, multiple=True,
              help="The case of a case file.")  # fmt: skip
@case_options(("also_load", "resolver", "builder", "chip", "targets"))
@click.option("--at", "place", metavar="WHERE[-COUNT]", default="main",
              type=Name(lambda: ("main", "fault", "hang", "inference ")),
              help="Stop at fault, hang, main, 'inference N', a function or 0xADDRESS; with -COUNT "
              "COUNT instructions earlier.  [default: main, or the reset]")  # fmt: skip
@number_option("--timeout", check=numbers.seconds, default=60.0, metavar="SECONDS",
               help="Time limit for reaching it, on the target's clock.")  # fmt: skip
@number_option("--guard", check=numbers.seconds, default=300.0, metavar="SECONDS",
               help="Time limit for reaching it, on the wall clock.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), metavar="N",
              help="Only start the gdb server, on this TCP port of 127.0.0.1 (0: any free "
              "one).")  # fmt: skip
@click.option("--gdb", metavar="PATH", type=FILE_OR_WORD,
              help="The gdb.  [default: arm-none-eabi-gdb, arm-zephyr-eabi-gdb, "
              "gdb-multiarch]")  # fmt: skip
@click.option("--batch", type=EXISTING, metavar="FILE",
              help="Run the gdb commands in FILE; their output goes to standard output, the exit "
              "code is that of gdb.")  # fmt: skip
@options_in(DebugOptions)
def debug(options: DebugOptions) -> int:
    """Run an image up to a location, and debug it with gdb.

    gdb connects through pyOCD (extra: pyocd) to the debug port of the simulator or a board; without
    pyOCD, to a board through J-Link's gdb server; and to Renode's gdb server. Symbols,
    breakpoints, watchpoints, single steps and Zephyr's threads are supported. Runs on the
    simulator are deterministic, so `--at fault-1000` stops a thousand instructions before the
    fault. The console is shown on standard error. Servers listen on 127.0.0.1 only.

    \b
    tflm-hil debug build/zephyr/zephyr.elf
    tflm-hil debug hello_world --at "inference 2"
    tflm-hil debug hil.toml --case wake_word --at fault-1000 --batch commands.gdb
    tflm-hil debug zephyr.elf --port 3333           # for an editor
    tflm-hil debug zephyr.elf --target board --board dk1
    """
    from harness.debug import gdb, replay  # noqa: PLC0415 - see cli/__init__
    from harness.debug.simulator import DebuggedSimulator  # noqa: PLC0415
    from harness.targets.board.probe import require_pyocd  # noqa: PLC0415

    if options.port is not None and (options.gdb or options.batch):
        raise UsageError("--port starts no gdb", hint="omit --gdb and --batch, or --port")
    case = _case(options)
    image = _image(case)  # reports contradicting arguments before a missing program
    if case.target == "simulator":
        require_pyocd("debugging")
    if options.port:
        gdb.listen(options.port).close()
    program = None if options.port is not None else gdb.find_gdb(options.gdb)
    call = gdb.GdbCall(program, options.batch, options.port or 0)
    if not image.symbols:
        click.echo(f"{image.path} has no symbols: gdb shows addresses only;"
                   f" {image.symbols_hint()}", err=True)  # fmt: skip
    if case.target == "renode":
        return _debug_renode(case, image, call, options)
    if case.target != "simulator":
        return _debug_board(case, image, call, options)
    found = _stopped(case, image, options, replay)
    steps = program is not None and found.machine.core.executed > 0
    first = gdb.run_up_to(replay.next_address(found.machine)) if steps else []
    session = DebuggedSimulator(found, Echo(sys.stderr))
    try:
        command = gdb.pyocd_server(session.probe, found.machine.memory_map.tools.pyocd_target)
        return gdb.debug(session, command, call, image.path, click.echo, first)
    finally:
        session.close()
        found.machine.close()


def _debug_board(case: Case, image: Image, call: GdbCall, options: DebugOptions) -> int:
    """Flashes a board, and debugs it from its reset on."""
    from harness.base.platforms import board_with  # noqa: PLC0415
    from harness.debug import board, gdb  # noqa: PLC0415
    from harness.targets import open_target  # noqa: PLC0415
    from harness.targets.board.session import BoardSession  # noqa: PLC0415

    place = _place(image, options)
    first = board.first_commands(place, case.target)
    with open_target(case.target, image, **case.target_options) as session:
        assert isinstance(session, BoardSession)
        kit = board_with(image.chip.key)
        command = board.server_command(session.board, kit, place)
        debuggee = board.DebuggedBoard(session, Echo(sys.stderr))
        return gdb.debug(debuggee, command, call, image.path, click.echo, first)


def _debug_renode(case: Case, image: Image, call: GdbCall, options: DebugOptions) -> int:
    """Debugs an image on Renode, in a separate network namespace, from its reset on."""
    from harness.base import process  # noqa: PLC0415
    from harness.debug import gdb, renode  # noqa: PLC0415
    from harness.targets.renode import RenodeServer  # noqa: PLC0415
    from harness.targets.renode.session import RenodeSession  # noqa: PLC0415

    first = renode.first_commands(_place(image, options), renode.fault_handlers(image), "renode")
    renode.check_network()
    given = case.target_options
    program = str(given["renode"]) if "renode" in given else None
    with gdb.listen(call.port) as socket:
        port = socket.getsockname()[1]
        server = RenodeServer(program, gdb=socket)
        seed = seed_of(str(given.get("power_on", DEFAULT_SEED)))
        with RenodeSession(image, server, owns_server=True, power_on=seed) as session:
            folder = server.folder
            assert folder is not None
            description = renode.description(folder)
            debuggee = renode.DebuggedRenode(session, Echo(sys.stderr), description)
            debuggee.begin()
            if call.program is None:
                gdb.serve(debuggee, port, click.echo, lambda: not session.agent.gone)
                return 0
            before = [f"set tdesc filename {description}"]
            command = gdb.gdb_command(call, port, image.path, first, before)
            return process.interactive(command, debuggee.poll)


def _place(image: Image, options: DebugOptions) -> Breakpoint | None:
    """The location to stop at; None is the reset, also for an image without main()."""
    from harness.debug import replay  # noqa: PLC0415

    if options.place == "main" and image.symbol("main") is None:
        return None
    place: Breakpoint = replay.Breakpoint.parse(options.place, image)
    return place


def _case(options: DebugOptions) -> Case:
    """The case given by the arguments. Raises :class:`UsageError` if there are several."""
    from harness.case.plan import Request, plan  # noqa: PLC0415

    what = options.what
    made = plan(Request(what, options.layers, options.names))
    named = list(dict.fromkeys(case.name for case in made.cases))
    if len(named) > 1:
        hint = f"--case {' or --case '.join(named)}" if what.case_file else "name one --resolver"
        raise UsageError(
            f"{what.text} has {len(named)} cases, but only one can be debugged at a time", hint=hint
        )
    if len(made.cases) > 1 and made.named:
        raise UsageError("only one target can be debugged at a time", hint="name one --target")
    for note in made.notes:
        click.echo(f"tflm-hil: {note}", err=True)
    return next((case for case in made.cases if case.target == DEFAULT), made.cases[0])


def _image(case: Case) -> Image:
    from harness.case.samples import elf_of  # noqa: PLC0415
    from harness.elf import combined  # noqa: PLC0415

    image = combined.read(elf_of(case), case.also_load, case.chip)
    _ = image.chip  # raises if it is not the chip of the case
    return image


def _records(case: Case) -> list[list[bytes]]:
    """The lines that the host sends for each inference; empty without inputs."""
    if case.input_file is None or case.model is None:
        return []
    from harness.case.feed import hand_over  # noqa: PLC0415
    from harness.case.inputs import load_inputs  # noqa: PLC0415
    from harness.model import Model  # noqa: PLC0415
    from harness.uart.records import fill_blocks  # noqa: PLC0415

    sends: list[list[bytes]] = []
    sequence = 0
    for number, row in enumerate(load_inputs(case.input_file, Model.from_file(case.model))):
        lines = [fill_blocks(line) for _, line, _ in hand_over(sequence, number, row)]
        sequence += len(lines)
        sends.append(lines)
    return sends


def _stopped(case: Case, image: Image, options: DebugOptions, replay: Any) -> Rerun:
    """The simulator, stopped at the location."""
    from harness.targets import simulator  # noqa: PLC0415

    sends = _records(case)

    def make() -> Rerun:
        given: dict[str, Any] = case.target_options
        session = simulator.open(image, **given)
        made: Rerun = replay.Rerun(session.machine, sends)
        return made

    place = _place(image, options)
    if place is None:
        return make()
    lead = 0 if options.port is not None else replay.lead_of(place)
    found: Rerun = replay.stop_at(make, place, options.timeout, options.guard, lead=lead)
    return found
