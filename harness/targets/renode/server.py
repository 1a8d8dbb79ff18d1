"""Renodes that serve many cases: one process, whose machines are reused or replaced; a pool."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from enum import Enum
from pathlib import Path

from harness.base import paths, platforms
from harness.base.clock import RESETS_IN_A_LOOP
from harness.base.closing import Closing
from harness.base.errors import EnvironmentMissing, TargetLost, UsageError
from harness.elf import Image
from harness.targets.renode.find import RenodeProgram, find
from harness.targets.renode.link import AgentLink
from harness.targets.renode.process import RenodeProcess, monitor_path
from harness.targets.renode.releases import PINNED, shown

#: Virtual seconds between synchronisations; measured in tests/benchmarks/bench_renode.py.
QUANTUM = 0.001
#: Peripherals that are scripts of this project.
_SCRIPTED = ("nvmc", "dppic")
#: Machines that one process may make: from 1.17 on each leaves a copy of the translation library
#: (over 1 MB) in the process's temporary folder until the process ends.
_MACHINES = 50
#: Firmware leaves attribution to the SPU by setting SAU_CTRL.ALLNS. In Renode the SPU's regions are
#: regions of the SAU, so ENABLE is written instead.
_SAU_FOLLOWS = "value = 1 if offset == 0xDD0 and value & 3 == 2 else value"


class Security(Enum):
    """The security states of a machine, by the platform description that has them."""

    NONE = "nrf9160dk.repl"
    STATES = "nrf9160dk_trustzone.repl"  # one world, whose exceptions look as on the chip
    WORLDS = "nrf9160dk_worlds.repl"


class RenodeServer(Closing):
    """Starts Renode when it is first needed or was lost, and ends it on close().

    It serves one session at a time. Between sessions the machine is reset and its memories are
    cleared, which takes a tenth of the time of a new one; after a session that faulted, hung or
    was traced a new machine is made. ``connect`` replaces the process (tests).
    """

    def __init__(
        self,
        renode: str | Path | None = None,
        *,
        quantum: float = QUANTUM,
        connect: Callable[[], AgentLink] | None = None,
    ) -> None:
        self.program: RenodeProgram | None = None if connect else find(renode)
        self.quantum = quantum
        self.starts = self.machines = 0  # how often Renode was started, and a machine made
        self.busy = False  # a session is open
        self._reusable = False
        self._security = Security.NONE  # of the machine
        self._made = 0  # machines of the present process
        self._connect = connect
        self._process: RenodeProcess | None = None
        self._client: AgentLink | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Known bugs of this version."""
        return self.program.warnings if self.program else ()

    @property
    def client(self) -> AgentLink:
        """The connection; starts Renode if none runs."""
        if self._process is not None and not self._process.alive:
            self.lost()
        if self._client is None:
            self._client = self._start()
        return self._client

    @property
    def folder(self) -> Path | None:
        """Renode's own folder, which is removed with it; None if ``connect`` is used."""
        return self._process.folder if self._process is not None else None

    def _start(self) -> AgentLink:
        self.starts += 1
        self._made = 0
        if self._connect is not None:
            return self._connect()
        assert self.program is not None
        self._process = RenodeProcess(self.program)
        return self._process.link

    def machine(
        self,
        image: Image,
        folder: Path,
        vectors: int,
        *,
        non_secure: bool = False,
        both_worlds: bool = False,
    ) -> AgentLink:
        """A clean machine with ``image`` in its memories, ready to run.

        ``folder`` takes the image's segments. :meth:`release` gives the machine back. Raises
        :class:`EnvironmentMissing` for ``both_worlds`` on a Renode without TrustZone-M.
        """
        if self.busy:
            raise UsageError(
                "this Renode runs another session",
                hint="close that one first, or give each session a server of its own",
            )
        security = self._needed(non_secure=non_secure, both_worlds=both_worlds)
        try:
            again = self._reusable and security is self._security
            if self._made >= _MACHINES and not again:
                self.lost()
            client = self.client
            if again:
                client.call("hil['agent'].recycle()")
            else:
                for command in self._platform(security):
                    client.command(command)
                client.call("remember()")
                self.machines += 1
                self._made += 1
                self._security = security
            self._reusable = False
            for command in _loading(image, folder):
                client.command(command)
            client.call(f"hil['agent'] = {agent_call(vectors)}")
        except TargetLost:
            self.lost()
            raise
        self.busy = True
        return client

    def release(self, *, reusable: bool) -> None:
        """A session is over; ``reusable`` if its machine may serve the next one."""
        self._reusable = reusable and self._client is not None
        self.busy = False

    @property
    def _modern(self) -> bool:
        return self.program is not None and self.program.version >= (1, 17, 0)

    def _needed(self, *, non_secure: bool, both_worlds: bool) -> Security:
        if both_worlds and not self._modern:
            version = shown(self.program.version) if self.program else "this version"
            raise EnvironmentMissing(
                f"Renode {version} has no TrustZone-M: it cannot run a secure and a non-secure"
                " image together",
                hint=f"Renode {shown(PINNED)} (tflm-hil doctor --install --with renode), or the"
                " target simulator",
            )
        if both_worlds:
            return Security.WORLDS
        return Security.STATES if self._modern and not non_secure else Security.NONE

    def _platform(self, security: Security) -> list[str]:
        """Monitor commands that make a machine with empty memories."""
        chip = platforms.chip_table()
        description = monitor_path(paths.platforms() / security.value)
        commands = [
            "Clear",
            "emulation SetGlobalAdvanceImmediately true",
            "emulation Mode SynchronizedTimers",  # a button's level reaches its pin at once
            f'emulation SetGlobalQuantum "{self.quantum:.6f}"',
            f'mach create "{platforms.DEFAULT_BOARD}"',
            f"machine LoadPlatformDescription {description}",
        ]
        if self._modern:
            commands.append("sysbus.nvic FilterCcrDiv0Write false")
        if security is Security.WORLDS:
            (spu,) = chip.peripheral("SPU").addresses
            commands.append(_model("spu", spu, "attribution"))
            commands.append(f'sysbus SetHookBeforePeripheralWrite sysbus.nvic "{_SAU_FOLLOWS}"')
        for name in _SCRIPTED:
            block = chip.peripheral(name.upper())
            secure, nonsecure = block.addresses
            commands.append(_model(name, secure))
            commands.append(f"sysbus Redirect {nonsecure:#x} {secure:#x} {block.size:#x}")
        return commands

    def lost(self) -> None:
        """Renode hangs or died: kill it; the next machine starts a new one."""
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
    """Gives each session a Renode that no other session has open.

    One after another, sessions share one process; a second that is open at the same time gets a
    process of its own. Pass one pool to every ``open(..., pool=pool)`` of a run.
    """

    def __init__(self) -> None:
        self._servers: list[tuple[str, RenodeServer]] = []
        self._missing: dict[str, EnvironmentMissing] = {}

    @property
    def starts(self) -> int:
        """How often a Renode was started."""
        return sum(server.starts for _, server in self._servers)

    def server(self, renode: str | Path | None = None) -> RenodeServer:
        """A server that is not busy, of the program ``renode``.

        Raises :class:`EnvironmentMissing` if there is none or it is too old. Later
        calls raise the same error again, because asking Renode for its version takes a second.
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


def agent_call(vectors: int) -> str:
    """The agent's constructor for an image whose vector table is at ``vectors``.

    Renode executes one instruction a cycle, as the built-in simulator does.
    """
    chip, console = platforms.chip_table(), platforms.board_table().console.uarte.lower()
    ram = chip.area("ram")
    arguments = f"{(ram.origin, ram.end)}, {RESETS_IN_A_LOOP}"
    return f"Agent('{console}', {chip.cpu_hz // 1_000_000}, {vectors:#x}, {arguments})"


def _model(script: str, address: int, name: str = "") -> str:
    path = monitor_path(paths.platforms() / "peripherals" / f"{script}.py")
    return f'machine PyDevFromFile {path} {address:#x} 0x1000 True "{name or script}"'


def _loading(image: Image, folder: Path) -> list[str]:
    """Monitor commands that load the image; its segments go to ``folder``."""
    commands = []
    for index, segment in enumerate(image.loaded):
        path = folder / f"segment{index}.bin"
        path.write_bytes(segment.data)
        if segment.data:
            commands.append(f"sysbus LoadBinary {monitor_path(path)} {segment.load_address:#x}")
    return commands
