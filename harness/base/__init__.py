"""What every room needs: errors, findings, files, tables, numbers, text, the clock."""
