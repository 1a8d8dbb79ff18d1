"""Results -> terminal table, JUnit XML, HTML."""

from harness.report.html import html
from harness.report.junit import junit
from harness.report.table import print_failures, print_table

__all__ = ["html", "junit", "print_failures", "print_table"]
