"""Results -> terminal, JSON, JUnit XML, HTML, LCOV; studies and the history as pages.

Import the module of a report: each one loads what it needs, and a command needs few.
"""
