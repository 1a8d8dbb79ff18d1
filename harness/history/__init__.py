"""Results over time: a database of runs, trends, gates, calibration."""
