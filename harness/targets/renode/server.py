"""Processes of Renode: one headless Renode, a server that reuses it for many cases, a pool."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from harness.base import paths, process
from harness.base.closing import Closing
from harness.base.errors import (
    EnvironmentMissing,
    HilError,
    ProgramTimedOut,
    TargetLost,
    UsageError,
)
from harness.base.platforms import ChipTable, ConsoleWiring
from harness.base.power_on import DEFAULT_SEED
from harness.base.process import RunningProgram
from harness.elf import Image
from harness.targets.renode import machine
from harness.targets.renode.compiled import compiled_models, forget_compiled
from harness.targets.renode.description import SOURCES
from harness.targets.renode.differences import warnings_of_worlds
from harness.targets.renode.find import RenodeProgram, find
from harness.targets.renode.link import AgentLink, MonitorError, pipes
from harness.targets.renode.machine import QUANTUM, monitor_path

#: Machines per process: from 1.17 on each leaves a copy of the translation library (over 1 MB) in
#: the process's temporary folder until the process ends.
_MACHINES = 50
#: Wall-clock seconds for models that Renode has to compile.
_COMPILED = 120.0
_ISOLATED = Path(__file__).with_name("isolated.py")
#: Port of Renode's gdb server, in its own network.
GDB_PORT = 3333
#: Scripts that run inside Renode, in the order in which they are included.
AGENT = tuple(
    Path(__file__).with_name("agent") / f"{name}.py"
    for name in (
        "link", "core", "console", "exceptions", "rest", "machine", "calls", "log", "agent"
    )
)  # fmt: skip
#: Models in C#, which platform descriptions name.
#: Synchronous logging: an asynchronous logging thread may wait for its empty queue forever, and
#: after 10,000 further messages the emulation blocks.
_CONFIG = "[general]\nuse-synchronous-logging = True\ncompiler-cache-enabled = True\n"
#: Of .NET: no instrumented tier, which costs a second at the start; a third less memory after 200
#: cases, for a twentieth of the time.
_RUNTIME = {"DOTNET_TieredPGO": "0", "DOTNET_GCConserveMemory": "5"}


class RenodeProcess:
    """A running Renode and the :attr:`link` to it.

    The link is a pair of pipes that Renode inherits, so that it opens no port. Each process has a
    TMPDIR of its own, since Renode removes ``renode-*`` folders of other instances from it, and
    leaves a copy of its translation library there for each machine.

    With ``gdb``, a listening socket on loopback, Renode runs in a network of its own, and
    connections to that socket are forwarded to its port :data:`GDB_PORT`.
    """

    def __init__(
        self,
        program: RenodeProgram,
        *,
        patience: float = 60.0,
        gdb: socket.socket | None = None,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tflm-hil-renode-"))
        self.link, theirs = pipes()
        try:
            self._program = self._start(program, theirs, gdb)
        except BaseException:
            self.link.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        try:
            self._wait(patience)
        except BaseException:
            self.close()
            raise

    def _start(
        self, program: RenodeProgram, theirs: tuple[int, int], gdb: socket.socket | None
    ) -> RunningProgram:
        config, start = self.folder / "config", self.folder / "start.resc"
        config.write_text(_CONFIG)
        link, *_ = AGENT
        start.write_text(
            f"include {monitor_path(link)}\n" + 'python "serve({}, {})"\n'.format(*theirs)
        )
        # Without a window Renode's shell would poll a dummy forever, which takes a core; on a
        # console it waits for input from a pipe that is never written. It opens no port by default.
        command = [str(program.path), "--disable-xwt", "--console", "--plain", "--hide-log"]
        command += ["--config", str(config), start.name]
        cache = compiled_models(program.path) or self.folder
        inherited: tuple[int, ...] = theirs
        if gdb is not None:
            inherited = (*theirs, gdb.fileno())
            isolated = [sys.executable, "-I", str(_ISOLATED), str(gdb.fileno()), str(GDB_PORT)]
            command = [*isolated, *map(str, theirs), *command]
        return RunningProgram(
            command, folder=self.folder,
            environment={**_RUNTIME, "TMPDIR": str(self.folder), "XDG_CONFIG_HOME": str(cache)},
            open_input=True,  # if it is closed, Renode's shell polls it all the time
            descriptors=inherited, scratch=self.folder,
        )  # fmt: skip

    def _wait(self, patience: float) -> None:
        try:
            self.link.ready(patience)
        except HilError as error:
            failure = "ended while it started" if self._ends(10.0) else "did not start"
            last = process.last_line(self._program.output, "it printed nothing")
            hint = "start it by hand with --console to see why"
            raise TargetLost(f"Renode {failure}: {last}", hint=hint) from error
        self._include(*(paths.platforms() / "peripherals" / name for name in SOURCES))
        for file in AGENT[1:]:
            self._include(file)

    def _include(self, *files: Path) -> None:
        """Include files together: each further one that is compiled alone takes 140 MB.

        Raises :class:`EnvironmentMissing` with the first error in them.
        """
        try:
            self.link.command(f"include {' '.join(map(monitor_path, files))}", timeout=_COMPILED)
        except MonitorError as error:
            names = ", ".join(file.name for file in files)
            raise EnvironmentMissing(
                f"{error.message}", hint=f"Renode cannot run {names} of {files[0].parent}"
            ) from error

    @property
    def alive(self) -> bool:
        """Whether Renode runs."""
        return self._program.alive

    def _ends(self, seconds: float) -> bool:
        with suppress(ProgramTimedOut):
            self._program.wait(seconds)
        return not self.alive

    def close(self) -> None:
        """Kill Renode and remove its folder; safe to call twice."""
        self.link.close()
        self._program.close()


class RenodeServer(Closing):
    """Starts Renode when it is first needed or was lost, and ends it on close().

    It serves one session at a time. Between sessions the machine is reset and its memories are
    cleared, in a tenth of the time of a new one; after a session that faulted, hung or was traced a
    new machine is made. ``gdb`` is the socket for its gdb server (:class:`RenodeProcess`);
    ``connect`` replaces the process in tests.
    """

    def __init__(
        self,
        renode: str | Path | None = None,
        *,
        quantum: float = QUANTUM,
        gdb: socket.socket | None = None,
        connect: Callable[[], AgentLink] | None = None,
    ) -> None:
        self.program: RenodeProgram | None = None if connect else find(renode)
        self.quantum = quantum
        self.starts = self.machines = 0  # number of processes started, and of machines made
        self.busy = False  # a session is open
        self._reusable = False
        self._made_for: tuple[ChipTable, bool] | None = None  # chip of the machine, is it secure
        self._made = 0  # machines of the current process
        self._connect, self._gdb = connect, gdb
        self._process: RenodeProcess | None = None
        self._client: AgentLink | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes on known bugs of this version."""
        return self.program.warnings if self.program else ()

    @property
    def warnings_of_worlds(self) -> tuple[str, ...]:
        """Notes that concern only images of both worlds."""
        text = warnings_of_worlds(self.program.version) if self.program else ""
        return (text,) if text else ()

    @property
    def client(self) -> AgentLink:
        """The link; Renode is started if it does not run."""
        if self._process is not None and not self._process.alive:
            self.lost()
        if self._client is None:
            self._client = self._start()
        return self._client

    @property
    def folder(self) -> Path | None:
        """Renode's temporary folder, which is removed with it; None if ``connect`` is used."""
        return self._process.folder if self._process is not None else None

    def _start(self) -> AgentLink:
        self.starts += 1
        self._made = 0
        if self._connect is not None:
            return self._connect()
        assert self.program is not None
        try:
            self._process = RenodeProcess(self.program, gdb=self._gdb)
        except EnvironmentMissing:
            if not forget_compiled(self.program.path):
                raise
            self._process = RenodeProcess(self.program, gdb=self._gdb)
        return self._process.link

    def machine(
        self,
        image: Image,
        vectors: int,
        console: ConsoleWiring,
        *,
        non_secure: bool = False,
        power_on: int = DEFAULT_SEED,
    ) -> AgentLink:
        """Prepare a clean machine with ``image`` in its memories, until :meth:`release`.

        ``vectors`` is the address of its vector table, ``console`` the wiring of the UARTE that is
        heard; ``power_on`` is the seed of RAM and registers.
        """
        if self.busy:
            raise UsageError(
                "this Renode runs another session",
                hint="close that one first, or give each session a server of its own",
            )
        chip = image.chip
        try:
            client = self._clean(chip, non_secure=non_secure)
            with tempfile.TemporaryDirectory(prefix="image-", dir=self.folder) as folder:
                client.call(machine.load(image, Path(folder), power_on))
            client.call(machine.agent(chip, vectors, console, power_on))
        except TargetLost:
            self.lost()
            raise
        self.busy = True
        return client

    def _clean(self, chip: ChipTable, *, non_secure: bool) -> AgentLink:
        """Prepare a machine with empty memories: the last one if it can be reused, else a new one.

        A core that keeps a register's value over the reset is not reused.
        """
        reuse = self._reusable and (chip, non_secure) == self._made_for
        client = self.client
        self._reusable = False
        if reuse and not client.call("hil['agent'].recycle()"):
            return client
        if self._made >= _MACHINES:
            self.lost()
            client = self.client
        for command in machine.make(chip, non_secure=non_secure, quantum=self.quantum):
            client.command(command)
        client.call("save_initial_state()")
        self.machines += 1
        self._made += 1
        self._made_for = chip, non_secure
        return client

    def release(self, *, reusable: bool) -> None:
        """End a session; ``reusable``: its machine may serve the next one."""
        self._reusable = reusable and self._client is not None
        self.busy = False

    def lost(self) -> None:
        """Kill a Renode that hangs or has died; the next machine starts a new one."""
        self._reusable = False
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._process is not None:
            self._process.close()
            self._process = None

    def close(self) -> None:
        """End Renode; safe to call twice."""
        self.lost()


class RenodePool(Closing):
    """Gives each session a Renode that no other session uses.

    Successive sessions share one process; one that is open at the same time as another gets its
    own. Pass one pool to every ``open(..., pool=pool)`` of a run.
    """

    def __init__(self) -> None:
        self._servers: list[tuple[str, RenodeServer]] = []
        self._missing: dict[str, EnvironmentMissing] = {}

    @property
    def starts(self) -> int:
        """Number of processes started."""
        return sum(server.starts for _, server in self._servers)

    def server(self, renode: str | Path | None = None) -> RenodeServer:
        """Return a server of the program ``renode`` that is not busy.

        Raises :class:`EnvironmentMissing` if there is none or it is too old. Later calls raise the
        same error again, because ``renode --version`` takes a second.
        """
        program = str(renode or "")
        for name, server in self._servers:
            if name == program and not server.busy:
                return server
        if program in self._missing:
            raise self._missing[program]
        try:
            started = RenodeServer(renode)
        except EnvironmentMissing as missing:
            self._missing[program] = missing
            raise
        self._servers.append((program, started))
        return started

    def close(self) -> None:
        """End every Renode; safe to call twice."""
        with ExitStack() as stack:  # closes all, even if one raises
            for _, server in self._servers:
                stack.callback(server.close)
            self._servers = []
