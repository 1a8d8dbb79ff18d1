"""One module per family of operators; :mod:`harness.reference.registry` holds their table."""
