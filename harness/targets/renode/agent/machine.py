"""The state of a machine: what a reset forgets, and the way back to the state of a new one."""

import System
from Antmicro.Renode.Peripherals.CPU import RegisterValue
from Antmicro.Renode.Peripherals.Memory import ArrayMemory

MASKS = ("BASEPRI_S", "BASEPRI_NS")  # copies in the NVIC
AIRCR, VECTKEY, ITNS = 0xE000ED0C, 0x05FA0000, 0xE000E380
#: Registers of MPU and FPU in each world that take any value: MAIR0, MAIR1, FPCAR, RNR.
PLAIN = (0xE000EDC0, 0xE000EDC4, 0xE000EF38, 0xE000ED98)
SAU_RNR = 0xE000EDD8
#: Properties of the core with a region each: what selects it, its base, its limit. By these the
#: regions of both worlds are read in a tenth of the time that the bus takes.
MPU = ("PmsaV8Rnr", "PmsaV8Rbar", "PmsaV8Rlar")
MPU_NS = tuple(name + "_NS" for name in MPU)
SAU = ("SAURegionNumber", "SAURegionBaseAddress", "SAURegionLimitAddress")
#: Registers that firmware can change: SysTick, NVIC, SCB, CPACR, NSACR, MPU, FPU.
KEPT_BY_CORE = (
    (0xE000E014, 0xE000ED0C, 0xE000ED10, 0xE000ED14, 0xE000ED24)
    + (CFSR, HFSR, 0xE000ED88, 0xE000ED8C, 0xE000ED94, 0xE000EF34, 0xE000EF3C)
    + tuple(range(0xE000E100, 0xE000E10C, 4))
    + tuple(range(0xE000E200, 0xE000E20C, 4))
    + tuple(range(0xE000E400, 0xE000E444, 4))
    + tuple(range(0xE000ED18, 0xE000ED24, 4))
)
KEPT_WITH_TRUSTZONE = (
    (0xE000EDE4, 0xE000EDD0)  # SFSR, SAU_CTRL
    + tuple(range(ITNS, ITNS + 12, 4))
    + tuple(at + NON_SECURE for at in (0xE000E010, 0xE000E014, 0xE000ED08, 0xE000ED10))
    + tuple(at + NON_SECURE for at in (0xE000ED14, 0xE000ED24, CFSR, 0xE000ED94, 0xE000EF34))
)


class MachineState(object):
    """Resets what Renode's reset forgets; restores a used machine to its first state.

    ``registers`` are those that the architecture leaves undefined after a reset: number -> value.
    """

    def __init__(self, machine, core, vectors, registers):
        self.machine, self.core, self.registers = machine, core, registers
        self.nvic = machine["sysbus.nvic"]
        self.vectors = System.UInt32(vectors)

    def after_reset(self):
        """Resets vectors, undefined registers, masks and SysTick."""
        cpu = self.core.cpu
        cpu.VectorTableOffset = self.vectors
        for number, value in self.registers.items():
            cpu.SetRegister(number, RegisterValue.Create(value, System.UInt32(32)))
        for name in MASKS:  # a copy, which Renode does not reset with the core's register
            setattr(self.nvic, name, System.Byte(0))
        if self.core.worlds:
            self.core.write_word(AIRCR, VECTKEY)  # PRIS, BFHFNMINS, SYSRESETREQS, PRIGROUP
            for address in range(ITNS, ITNS + 12, 4):
                self.core.write_word(address, 0)
        for value in (TICKINT, 0):  # the model acts on changes only, and its copy is 0 already
            self.core.write_word(SYST_CSR, value)
        self.core.word(SYST_CSR)  # clears COUNTFLAG

    def recycle(self):
        """Restores the state of a new machine; returns the registers that differ from it.

        Renode's reset does not change memories. Flash and RAM are written as a whole with the next
        image (harness/targets/renode/machine.py).
        """
        for storage, content in hil["storage"]:
            storage.WriteBytes(0, content, 0, content.Length)
        self.machine.Reset()  # after the memories, since it drops code translated from them
        self.machine["sysbus.chip"].PowerOn()
        self.after_reset()
        now = self.system()
        return [name for name in sorted(now) if now[name] != hil["core"][name]]

    def system(self):
        """Values of the registers that firmware can change, except VTOR, by name."""
        core = self.core
        seen = dict((name, int(getattr(self.nvic, name))) for name in MASKS)
        kept = KEPT_BY_CORE + (KEPT_WITH_TRUSTZONE if core.worlds else ()) + self.plain()
        seen.update(("0x%08x" % address, core.word(address)) for address in kept)
        for unit, count in self.units():
            selected = getattr(core.cpu, unit[0])
            for region in range(count):
                setattr(core.cpu, unit[0], System.UInt32(region))
                for name in unit[1:]:
                    seen["%s[%d]" % (name, region)] = int(getattr(core.cpu, name))
            setattr(core.cpu, unit[0], selected)
        return seen

    def plain(self):
        """Addresses of the registers that take any value, in both worlds."""
        if not self.core.worlds:
            return PLAIN
        return PLAIN + tuple(at + NON_SECURE for at in PLAIN) + (SAU_RNR,)

    def units(self):
        """The units with regions, and how many each has."""
        regions = self.core.word(MPU_TYPE) >> 8 & 0xFF
        units = [(MPU, regions)]
        if self.core.worlds:
            units += [(MPU_NS, regions), (SAU, int(self.core.cpu.NumberOfSAURegions))]
        return units


def save_initial_state():
    """Resets a new machine, and saves the state to which a used one is restored.

    Without the reset it differs from a used one: NSACR is 0xCFF. The state is the content of
    memories such as FICR and UICR, and the core's registers after the first agent's reset.
    """
    monitor.Machine.Reset()
    monitor.Machine["sysbus.chip"].PowerOn()
    storage = monitor.Machine.GetPeripheralsOfType[ArrayMemory]()
    hil["storage"] = [(one, one.ReadBytes(0, int(one.Size))) for one in storage]
    hil["core"] = None
    watch_exceptions(monitor.Machine)


def load(contents):
    """Fills memories, by name, from files of their size."""
    for name, path in contents:
        data = System.IO.File.ReadAllBytes(path)
        monitor.Machine["sysbus." + name].WriteBytes(0, data, 0, data.Length)
