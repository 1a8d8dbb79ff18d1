"""The chips' peripherals, one file each; :data:`MODELS` finds them by name."""

from __future__ import annotations

from harness.simulator.peripherals.application_core import (
    CacheControl,
    ClockAndReset,
    Dcnf,
    Erratum160,
    Erratum160Nvmc,
    LargeIpc,
    LfrcCalibration,
    Mutex,
    ProtectedCtrlAp,
    RegulatorsAndOscillators,
)
from harness.simulator.peripherals.base import Chip, Device, Nordic
from harness.simulator.peripherals.clock import Clock
from harness.simulator.peripherals.dppi import Dppic
from harness.simulator.peripherals.egu import Egu
from harness.simulator.peripherals.gpio import Gpio
from harness.simulator.peripherals.gpiote import Gpiote
from harness.simulator.peripherals.nvmc import Nvmc, ProtectedNvmc
from harness.simulator.peripherals.rtc import Rtc
from harness.simulator.peripherals.spu import LargeSpu, Spu
from harness.simulator.peripherals.storage import CtrlAp, Fpu, Ipc, Regulators, Storage, Vmc
from harness.simulator.peripherals.timer import Timer
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.peripherals.wdt import Watchdog

#: ``model`` in platforms/chips/*.toml -> class.
MODELS: dict[str, type[Device]] = {
    "cache": CacheControl,
    "clock": Clock,
    "clock_reset": ClockAndReset,
    "ctrlap": CtrlAp,
    "ctrlap_approtect": ProtectedCtrlAp,
    "dcnf": Dcnf,
    "dppi": Dppic,
    "egu": Egu,
    "erratum160": Erratum160,
    "fpu": Fpu,
    "gpio": Gpio,
    "gpiote": Gpiote,
    "ipc": Ipc,
    "ipc_large": LargeIpc,
    "lfrc_calibration": LfrcCalibration,
    "mutex": Mutex,
    "nvmc": Nvmc,
    "nvmc_erratum160": Erratum160Nvmc,
    "nvmc_approtect": ProtectedNvmc,
    "regulators": Regulators,
    "regulators_oscillators": RegulatorsAndOscillators,
    "rtc": Rtc,
    "spu": Spu,
    "spu_large": LargeSpu,
    "storage": Storage,
    "timer": Timer,
    "uarte": Uarte,
    "vmc": Vmc,
    "wdt": Watchdog,
}

__all__ = ["MODELS", "Chip", "Device", "Nordic"]
