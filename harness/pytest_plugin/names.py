"""Names that the plugin's parts share; costs nothing to import."""

#: The attribute of an item, and of its report, with the results of its cases as JSON. (Workers of
#: xdist send reports to the process that collects them.)
RESULTS = "hil_results"
#: The same for its requested cases: case, target, turn and reason, as JSON.
ATTEMPTS = "hil_attempts"
