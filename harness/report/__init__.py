"""Results -> terminal table, JUnit XML, HTML; coverage -> profile and LCOV."""

from harness.report.coverage import lcov, print_profiles
from harness.report.html import About, html
from harness.report.junit import junit
from harness.report.table import print_failures, print_images, print_table

__all__ = [
    "About",
    "html",
    "junit",
    "lcov",
    "print_failures",
    "print_images",
    "print_profiles",
    "print_table",
]
