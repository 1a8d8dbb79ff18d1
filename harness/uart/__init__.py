"""The console: bytes -> lines -> records, and known messages -> typed findings.

The source of the bytes does not matter: a simulator, Renode, a board or a saved capture.
"""

from harness.uart.console import Console, ProfilerEntry
from harness.uart.lines import Line, LineSplitter
from harness.uart.records import Record, encode
from harness.uart.scrapers import Scraper, scraper
from harness.uart.tensors import TensorKey, Tensors

__all__ = [
    "Console",
    "Line",
    "LineSplitter",
    "ProfilerEntry",
    "Record",
    "Scraper",
    "TensorKey",
    "Tensors",
    "encode",
    "scraper",
]
