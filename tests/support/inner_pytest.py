"""pytest in a process of its own, as tests of the plugin start it."""

#: Imports no installed plugin: half of a short session is the import of those that nobody asked
#: for. tests/dist.py runs a session that finds the plugin by its entry point.
ENVIRONMENT = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
#: What such a session needs instead.
ARGUMENTS = ("-p", "harness.pytest_plugin", "-p", "no:cacheprovider")
