"""Checks of an image's records against independent sources.

``docs/records.md`` names the source for each field. :class:`Known` holds facts from before the run
(model, table, ELF, the host's inputs), :class:`Measured` the harness's own measurements of it;
:func:`check_evidence` reads every record of every boot and returns findings.
"""

from harness.case.evidence.check import check_evidence
from harness.case.evidence.known import NOT_MEASURED, Fact, Known, Measured, known_of

__all__ = ["NOT_MEASURED", "Fact", "Known", "Measured", "check_evidence", "known_of"]
