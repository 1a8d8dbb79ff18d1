"""The console: what the UARTE prints, with its time, and what it is given."""

import re

import System

SEARCHED = 1024  # bytes before the newest line in which a match may begin
KEPT = 65536  # largest number of console bytes kept for searching
LATIN_1 = System.Text.Encoding.GetEncoding(28591)


class AgentConsole(object):
    """Sends the output of ``uart`` line by line; calls ``matched`` when it matches the pattern."""

    def __init__(self, uart, now, matched):
        self.uart, self.now, self.matched = uart, now, matched
        self.printed = System.Collections.Generic.List[System.Byte]()
        self.add = self.printed.Add
        self.sent = 0  # number of its bytes that have been sent; a tail is kept for searching
        self.pattern = None
        self.searched = 0  # output before this is not searched
        self.uart.CharReceived += self.on_char

    def close(self):
        self.uart.CharReceived -= self.on_char

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
        self.uart.Receive(System.Array[System.Byte](list(bytearray.fromhex(text))))
