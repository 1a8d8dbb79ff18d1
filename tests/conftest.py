"""For all tests. The case files here are there to be run by tests, some of them to fail: the pytest
plugin of this package, which an editable install brings, does not collect them."""

collect_ignore = ["cases"]
