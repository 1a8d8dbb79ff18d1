"""One module an operator family; :mod:`harness.reference.registry` holds the table of them."""
