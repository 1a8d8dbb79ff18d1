"""The chip's debug port: what a probe reaches over SWD, and a server for probes' software."""

from harness.simulator.debug_port.port import DebugPort, TransferError

__all__ = ["DebugPort", "TransferError"]
