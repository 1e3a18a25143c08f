"""Rows of batch files."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.adapt.presets import BATCHES
from tests.adapt.batch_rows import CHAT, to


@pytest.mark.parametrize("name", BATCHES)
def test_the_body_of_a_batch_is_the_request_itself(name: str) -> None:
    line = to(name).wire
    body = line["params"] if name == "anthropic-batch" else line["body"]
    assert body == il.convert(CHAT, "openai-chat", BATCHES[name]).wire
    assert 64 in body.values()
    other = {**CHAT, "messages": CHAT["messages"][:2]}
    assert il.convert(other, "openai-chat", name).wire["custom_id"] != line["custom_id"]
    assert to(name).wire == line
