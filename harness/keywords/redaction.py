"""Passwords and tokens are hidden in Robot's results, log and output."""

from __future__ import annotations

from harness.base.secrets import redacted
from robot import result, running


class Redaction:
    """A listener that redacts messages, and the arguments of keywords.

    It covers the suites that import the library, also their own keywords.
    """

    ROBOT_LISTENER_API_VERSION = 3

    def log_message(self, message: result.Message) -> None:
        """Redacts a message of the log."""
        message.message = redacted(message.message)

    def message(self, message: result.Message) -> None:
        """Redacts a message of Robot itself, such as one on standard error."""
        message.message = redacted(message.message)

    def start_keyword(self, data: running.Keyword, result: result.Keyword) -> None:
        """Redacts the arguments of a call."""
        result.args = [redacted(one) if isinstance(one, str) else one for one in result.args]

    def end_body_item(self, data: object, result: result.Keyword) -> None:
        """Redacts the error of a keyword, a loop or a branch."""
        result.message = redacted(result.message)

    def end_test(self, data: object, result: result.TestCase) -> None:
        """Redacts the error of a test."""
        result.message = redacted(result.message)

    def end_suite(self, data: object, result: result.TestSuite) -> None:
        """Redacts the error of a suite's set-up or tear-down."""
        result.message = redacted(result.message)
