"""Names that the plugin's parts share; costs nothing to import."""

#: The attribute of an item, and of its report, with the results of its cases as JSON. A report is
#: what xdist's workers send home.
RESULTS = "hil_results"
