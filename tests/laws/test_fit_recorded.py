"""Recorded requests through `fit`: what was answered stays as it is, what was refused is mended."""

from __future__ import annotations

import interlingua as il
from interlingua.adapt.fit.fit import Fitted, fit
from interlingua.profiles.profile import profile_of
from tests.laws.corpus import Record, corpus_or_skip
from tests.laws.fits import recorded, refusals


def fitted(record: Record) -> tuple[il.Request, Fitted]:
    """A recorded request, read, and fitted to the model that it was made for."""
    assert record.dialect is not None
    assert record.model is not None
    request = il.dialect(record.dialect).read_request(record.request, record.model)
    profile = profile_of(record.model, recorded.provider_of(record), record.dialect)
    return request, fit(request, profile, dialect=record.dialect)


def test_l11_fit_leaves_what_was_answered_as_it_is() -> None:
    corpus_or_skip()
    changed = {}
    for record in recorded.asked(200):
        request, done = fitted(record)
        if done.value != request or done.report:
            changed[record.id] = str(done.report)
    assert changed == {}


def test_l12_fit_mends_what_was_refused_for_its_form() -> None:
    corpus_or_skip()
    still = {}
    for record in recorded.asked(400):
        if not recorded.judged(record):
            continue
        _, done = fitted(record)
        assert record.dialect is not None
        assert record.model is not None
        wire = il.dialect(record.dialect).write_request(done.value, done.recorder).wire
        found = refusals(recorded.provider_of(record), record.dialect, record.model, wire)
        if found:
            still[record.id] = [str(each) for each in found]
    assert still == {}
