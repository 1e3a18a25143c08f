"""Metadata for targets that take it with conditions."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il


def converted(**body: Any) -> il.Converted:
    wire = {"model": "gpt-4o", "input": "hi", "metadata": {"team": "x"}, **body}
    return il.convert(wire, "openai-responses", "openai-chat")


def test_chat_has_metadata_of_answers_that_are_stored() -> None:
    done = converted(store=True)
    assert done.wire["metadata"] == {"team": "x"}
    assert done.wire["store"] is True
    assert not list(done.report)


@pytest.mark.parametrize("body", [{}, {"store": False}])
def test_metadata_of_other_answers_is_reported_and_not_sent_to_chat(body: dict[str, bool]) -> None:
    done = converted(**body)
    assert "metadata" not in done.wire
    assert done.wire.get("store") is not True
    assert "$.options.metadata" in [loss.path for loss in done.report]


def test_metadata_goes_home_to_chat_as_it_came() -> None:
    chat = il.dialect("openai-chat")
    wire = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "metadata": {"a": "b"}}
    assert chat.write_request(chat.read_request(wire)).wire == wire
