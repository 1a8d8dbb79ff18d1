"""Renode's end of the link to the harness; runs inside Renode as IronPython 2.7, never imported.

Renode inherits two pipes and opens no port. A request is a line (``monitor TEXT`` or ``agent
PYTHON``), an answer any number of lines and then ``done`` or ``failed HEX``. Lines of an answer
are sent immediately, so that the harness has the output even if Renode hangs later.
"""

import System
from Antmicro.Renode.UserInterface import CommandInteractionEater

UTF_8 = System.Text.UTF8Encoding(False)


def in_hex(text):
    return System.BitConverter.ToString(UTF_8.GetBytes(text)).replace("-", "")


class HarnessLink(object):
    """Carries out requests in order, until the harness closes its end."""

    def __init__(self, requests, answers):
        self.requests = System.IO.StreamReader(opened(requests, System.IO.FileAccess.Read), UTF_8)
        self.answers = System.IO.StreamWriter(opened(answers, System.IO.FileAccess.Write), UTF_8)
        self.answers.NewLine = "\n"
        self.answers.AutoFlush = True
        self.send = self.answers.WriteLine

    def serve(self):
        self.send("done")  # the first answer: ready
        while True:
            request = self.requests.ReadLine()
            if request is None:
                return
            self.answer(*request.split(" ", 1))

    def answer(self, kind, text):
        try:
            if kind == "monitor":
                self.monitor(text)
            else:
                exec(text, globals())
        except Exception as error:
            self.send("failed " + in_hex(str(error)))
        else:
            self.send("done")

    def monitor(self, text):
        """Runs a command of Renode's Monitor; sends its output, and raises its error.

        Scripts that the command includes write to ``monitor.Interaction``.
        """
        output = CommandInteractionEater()
        usual, monitor.Interaction = monitor.Interaction, output
        try:
            understood = monitor.Parse(text, output)
        finally:
            monitor.Interaction = usual
        if output.HasError or not understood:
            raise RuntimeError(output.GetError() or "not understood: " + text)
        self.send("said " + in_hex(output.GetContents()))


def opened(number, access):
    """Opens a descriptor by its path, since Mono accepts only descriptors that it has opened."""
    mode, share = System.IO.FileMode.Open, System.IO.FileShare.ReadWrite
    return System.IO.FileStream("/dev/fd/%d" % number, mode, access, share, 1)


def serve(requests, answers):
    hil["link"] = HarnessLink(requests, answers)
    hil["link"].serve()


def send(line):
    hil["link"].send(line)


hil = {}
