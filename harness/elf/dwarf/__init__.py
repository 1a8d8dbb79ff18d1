"""Debug information: entries, line tables and the format that both share."""
