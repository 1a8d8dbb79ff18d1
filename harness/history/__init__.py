"""Results over time: a database of runs, what moved between them, gates, a site."""
