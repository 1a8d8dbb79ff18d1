"""Names shared by the modules of the plugin; imports nothing."""

#: The attribute of an item, and of its report, with the results of its cases as JSON types.
#: (Workers of xdist send reports to the main process.)
RESULTS = "hil_results"
#: The attribute with its requested cases: case, target, status and reason, as JSON types.
ATTEMPTS = "hil_attempts"
