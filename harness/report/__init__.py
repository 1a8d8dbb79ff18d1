"""Reports of results: terminal, JSON, JUnit XML, HTML, LCOV; pages of studies and the history.

Each report is a module, imported only when it is needed.
"""
