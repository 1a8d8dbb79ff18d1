"""Documents say which form they have, and another form is not read as this one."""

import pytest
from results import case_result

from harness.base.errors import UsageError
from harness.base.form import FORMAT
from harness.history.keep import document
from harness.history.run import Occasion, from_document


def test_a_document_has_the_version_of_its_form_first():
    written = document([case_result()], Occasion.here())
    assert next(iter(written.items())) == ("format", FORMAT)
    assert from_document(written, Occasion.here()).cases


def test_a_document_without_a_version_is_read():
    written = document([case_result()], Occasion.here())
    del written["format"]
    assert from_document(written, Occasion.here()).cases


@pytest.mark.parametrize("version", [2, "1", None])
def test_another_form_is_refused(version):
    written = {**document([case_result()], Occasion.here()), "format": version}
    with pytest.raises(UsageError, match="this version of tflm-hil reads 1"):
        from_document(written, Occasion.here(), where="a.json")
