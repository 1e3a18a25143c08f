"""Recorded requests under the checker: those that were answered, and those that were refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.laws import corpus
from tests.laws.corpus import Record
from tests.laws.fits import Refusal, refusals

ELSEWHERE = Path(__file__).with_name("not_about_fit.toml")
PROVIDERS = {"google": "gemini", "google-vertex": "vertex"}
"""A recording's word for a provider, and ours."""


def provider_of(record: Record) -> str:
    return PROVIDERS.get(record.provider, record.provider)


def asked(status: int) -> Iterator[Record]:
    """Requests with a dialect of ours and the name of a model that were answered so."""
    for record in corpus.records():
        known = record.request is not None and record.dialect and record.model
        if known and record.status == status:
            yield record


def judged(record: Record) -> list[Refusal]:
    """What the checker has against a recorded request."""
    assert record.dialect is not None
    assert record.model is not None
    return refusals(provider_of(record), record.dialect, record.model, record.request)


def not_about_fit() -> dict[str, str]:
    """Refused requests that no rule could have known, with the reason."""
    entries = tomllib.loads(ELSEWHERE.read_text(encoding="utf-8"))["reason"]
    return {record: entry["why"] for entry in entries for record in entry["records"]}
