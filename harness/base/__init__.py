"""Shared by every room: errors, findings, files, tables, numbers, text, the clock."""
