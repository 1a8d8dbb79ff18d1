"""Reads the core, its system control space and its memory, as firmware sees them."""

import System

# Renode's register numbers of a Cortex-M.
R0, SP, LR, PC, CONTROL, BASEPRI, OTHER_SP, XPSR = 0, 13, 14, 15, 18, 19, 22, 25
PRIMASK, FAULTMASK = 28, 30
CORE = tuple(range(16)) + (XPSR,)
IPSR = 0x1FF
NON_SECURE = 0x20000  # offset from a register of the SCS to its non-secure alias
# Of the system control space (Armv8-M ARM, D1.2).
ICSR, CFSR, HFSR, MMFAR, BFAR = 0xE000ED04, 0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38
MPU_TYPE, MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = tuple(range(0xE000ED90, 0xE000EDA4, 4))
FPCCR, FPCCR_TS = 0xE000EF34, 1 << 26
#: SPU: FLASHREGION[n].PERM, RAMREGION[n].PERM, PERIPHID[n].PERM; SECATTR of each.
REGIONS, PERIPHERALS, SECATTR = (0x600, 0x700), 0x800, 0x10


class Core(object):
    """The core of a machine; with ``spu``, its address and counts, of both security states."""

    def __init__(self, machine, ram, spu):
        self.bus, self.cpu = machine.SystemBus, machine["sysbus.cpu"]
        self.ram, self.spu = ram, spu
        self.chip = machine["sysbus.chip"]
        self.worlds = bool(self.cpu.TrustZoneEnabled)

    def register(self, number):
        return int(self.cpu.GetRegister(number).RawValue)

    def registers(self, numbers=CORE):
        return [self.register(number) for number in numbers]

    def word(self, address):
        """The word at ``address``, read as the core, since the NVIC is visible to it only."""
        return int(self.bus.ReadDoubleWord(System.UInt64(address & 0xFFFFFFFF), self.cpu))

    def write_word(self, address, value):
        self.bus.WriteDoubleWord(System.UInt64(address), System.UInt32(value), self.cpu)

    def bytes(self, address, size):
        return in_hex_bytes(self.bus.ReadBytes(System.UInt64(address), size))

    def is_secure(self):
        return not self.worlds or bool(self.cpu.SecureState)

    def status(self):
        """The fault status of both states: CFSR, HFSR, SFSR, CFSR_NS, MMFAR, BFAR, SFAR, MMFAR_NS.

        Without security states the last of each kind are 0. SFSR reads 0 by the bus.
        """
        cpu = self.cpu
        if not self.worlds:
            return [self.word(CFSR), self.word(HFSR), 0, 0, self.word(MMFAR), self.word(BFAR), 0, 0]
        return self.as_secure(
            lambda: [
                self.word(CFSR), self.word(HFSR), int(cpu.SecureFaultStatus),
                int(cpu.FaultStatusNonSecure), self.word(MMFAR), self.word(BFAR),
                int(cpu.SecureFaultAddress), int(cpu.MemoryFaultAddressNonSecure),
            ]
        )  # fmt: skip

    def as_secure(self, ask):
        """What ``ask()`` returns when registers are read in the secure state."""
        if self.is_secure():
            return ask()
        self.cpu.SecureState = True
        try:
            return ask()
        finally:
            self.cpu.SecureState = False

    def context(self):
        """The registers, CONTROL, whether SP is PSP, the other stack pointer, and the state.

        Renode does not show the stack pointers of the other security state.
        """
        control, other = self.registers((CONTROL, OTHER_SP))
        process = int(bool(self.cpu.IsUsingProcessSP))
        return self.registers() + [control, process, other, int(self.is_secure())]

    def state(self, context):
        """What a call stack needs: ``context``, attribution, VTOR, FPCCR.TS, MPU, and RAM."""
        vectors = self.cpu.VectorTableOffset
        if self.worlds and not context[-1]:
            vectors = self.cpu.VectorTableOffsetNonSecure
        return "%s %s %x %d %s %s" % (
            ",".join("%x" % value for value in context),
            ",".join(self.attribution()) if self.is_divided() else "-",
            int(vectors),
            bool(self.word(FPCCR) & FPCCR_TS),
            ",".join("%x:%x:%x" % region for region in self.regions()) or "-",
            self.bytes(self.ram[0], self.ram[1] - self.ram[0]),
        )

    def regions(self):
        """Number, RBAR and RLAR of the enabled regions of the MPU; [] if it is off."""
        if not self.word(MPU_CTRL) & 1:
            return []
        selected, found = self.word(MPU_RNR), []
        for number in range(self.word(MPU_TYPE) >> 8 & 0xFF):
            self.write_word(MPU_RNR, number)
            base, limit = self.word(MPU_RBAR), self.word(MPU_RLAR)
            if limit & 1:
                found.append((number, base, limit))
        self.write_word(MPU_RNR, selected)
        return found

    def is_divided(self):
        """True once anything is non-secure: a region, a peripheral, or the core itself."""
        return bool(self.chip.IsDivided) or not self.is_secure()

    def attribution(self):
        """The SECATTR bits of flash regions, RAM regions and peripherals: "1" is secure."""
        at, flash, ram, peripherals = self.spu
        places = zip(REGIONS + (PERIPHERALS,), (flash, ram, peripherals))
        return [
            "".join(
                "01"[bool(self.word(at + first + 4 * number) & SECATTR)] for number in range(count)
            )
            for first, count in places
        ]


def in_hex_bytes(data):
    return System.BitConverter.ToString(data).replace("-", "")
