"""Checks of an image's records against everything that is known without them.

``docs/records.md`` lists what each field is checked against. :class:`Known` is what is known before
the run (model, table, ELF, the host's inputs), :class:`Measured` what the harness itself counted;
:func:`check_evidence` reads every record of every boot and gives findings.
"""

from harness.case.evidence.check import check_evidence
from harness.case.evidence.known import Fact, Known, Measured, known_of

__all__ = ["Fact", "Known", "Measured", "check_evidence", "known_of"]
