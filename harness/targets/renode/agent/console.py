"""The console: what the UARTE prints, with its time, and what it is given."""

import re

import System
from Antmicro.Renode.Time import TimeInterval

SEARCHED = 1024  # bytes before the newest line in which a match may begin
KEPT = 65536  # largest number of console bytes kept for searching
ENDRX, RXD_MAXCNT, RXD_AMOUNT = 0x110, 0x538, 0x53C  # UARTE
LOOK_AGAIN = System.UInt64(20)  # us after which the receive buffer is checked again
LATIN_1 = System.Text.Encoding.GetEncoding(28591)


class AgentConsole(object):
    """Sends the output of ``uart`` line by line; calls ``matched`` when it matches the pattern."""

    def __init__(self, machine, uart, now, matched):
        self.machine, self.uart, self.now, self.matched = machine, uart, now, matched
        self.printed = System.Collections.Generic.List[System.Byte]()
        self.add = self.printed.Add
        self.sent = 0  # number of its bytes that have been sent; a tail is kept for searching
        self.incoming = []
        self.pattern = None
        self.searched = 0  # output before this is not searched
        self.uart.CharReceived += self.on_char

    def close(self):
        self.uart.CharReceived -= self.on_char
        self.incoming = []

    def on_char(self, byte, *_):
        self.add(byte)
        if byte == 10:
            self.flush()

    def search(self, pattern):
        """Searches the output from now on for a regular expression, in hex; "" for none."""
        self.pattern = re.compile(bytearray.fromhex(pattern).decode("latin-1")) if pattern else None
        self.searched = self.printed.Count

    def flush(self):
        """Sends the output since the last call with its time, and searches it for the pattern."""
        begin, count = self.sent, self.printed.Count
        if count == begin:
            return
        data = self.printed.GetRange(begin, count - begin).ToArray()
        send("console %d %s" % (self.now(), in_hex_bytes(data)))
        self.sent = count
        if self.pattern is not None:
            first = max(self.searched, begin - SEARCHED)
            text = LATIN_1.GetString(self.printed.GetRange(first, count - first).ToArray())
            if self.pattern.search(text):
                self.pattern = None
                self.matched()
        if count > KEPT:
            self.printed.RemoveRange(0, count - SEARCHED)
            self.searched = max(0, self.searched - (count - SEARCHED))
            self.sent = SEARCHED

    def write(self, text):
        idle = not self.incoming
        self.incoming.extend(bytearray.fromhex(text))
        if idle:
            self.deliver(None)

    def deliver(self, *_):
        """Passes as many bytes to the UARTE as fit into its buffer, and reschedules itself.

        Further bytes would stay in Renode's FIFO, from which each STARTRX takes only one byte, so
        that longer transfers would stall.
        """
        room = 0
        if not self.uart.ReadDoubleWord(ENDRX):
            room = int(self.uart.ReadDoubleWord(RXD_MAXCNT) - self.uart.ReadDoubleWord(RXD_AMOUNT))
        burst, self.incoming = self.incoming[:room], self.incoming[room:]
        for byte in burst:
            self.uart.WriteChar(byte)
        if self.incoming:
            self.machine.ScheduleAction(TimeInterval.FromMicroseconds(LOOK_AGAIN), self.deliver)
