"""Formats with a place for what they cannot show give back whatever was written."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua import transcripts
from interlingua.model.message import Message
from interlingua.transcripts import Transcript
from tests.effort import examples
from tests.laws.strategies import conversations


@pytest.mark.parametrize(
    ("format", "name"),
    [("ui-message", "a.json"), ("ag-ui", "a.jsonl"), ("ag-ui", "a.json"), ("ag-ui", "a.sse")],
)
@settings(max_examples=examples(12), deadline=None)
@given(messages=conversations(with_raw=True, failures=True))
def test_any_conversation_comes_back(format: str, name: str, messages: list[Message]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        transcripts.write(Transcript(format="made-up", messages=tuple(messages)), path, format)
        arrived = transcripts.read(path, format)
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, messages)]
    assert not arrived.report.entries
