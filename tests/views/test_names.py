"""Names of views."""

from __future__ import annotations

from interlingua import transcripts
from interlingua.adapt.formats import names


def test_no_format_has_the_name_of_a_transcript_format() -> None:
    assert not set(names()) & set(transcripts.formats())
