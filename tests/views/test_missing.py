"""What holds for the messages of every other library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.errors import InterlinguaError
from interlingua.model.base import same
from interlingua.model.blocks import Block, ToolResultBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, rewrite
from interlingua.views import view
from tests.laws.corpus import Record, corpus_or_skip, records
from tests.laws.strategies import conversations
from tests.views.comparing import Comparison, few

LIBRARIES = ("pydantic-ai", "langchain", "llama-index", "llm-messages")
PROVENANCE = ("provider", "protocol", "model", "response_model", "raw_stop_reason")
EVERY = int(os.environ.get("INTERLINGUA_EVERY", "40"))
"""Of the recorded traffic, one in so many; `make libraries` takes all."""
DERIVED = (*PROVENANCE, "tool_name")


@pytest.mark.parametrize("name", LIBRARIES)
@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(
    name: str, messages: tuple[Message, ...]
) -> None:
    wire, report = view(name).write(messages)
    check(name, messages, view(name).read(wire), report)


def _aside(message: Message) -> Message:
    """Without who made it, since one word says provider, dialect and model; without names of tools,
    which a result may have from its call; and data in one of the two alphabets of base64."""
    metadata = message.metadata.replace(**dict.fromkeys(PROVENANCE))
    message = message.replace(metadata=metadata)
    return rewrite(message, lambda block: [_plain(block)])


def _plain(block: Any) -> Block:
    if isinstance(block, ToolResultBlock):
        content: Any = tuple(map(_plain, block.content))
        return block.replace(tool_name=None, content=content)
    source = getattr(block, "source", None)
    if source is None or source.kind != "base64":
        return block  # type: ignore[no-any-return]  # it is one
    data = source.data.translate(str.maketrans("-_", "+/"))
    plain: Block = block.replace(source=source.replace(data=data))
    return plain


@pytest.mark.parametrize("name", LIBRARIES)
def test_recorded_traffic_is_written_and_accounted_for(name: str) -> None:
    corpus_or_skip()
    for dialect, messages in recorded():
        wire, report = view(name).write(messages, dialect)
        check(name, messages, view(name).read(wire), report)


@cache
def recorded() -> list[tuple[str, tuple[Message, ...]]]:
    """Some recorded messages and their dialect, read once for all libraries."""
    some = islice(records(), 0, None, EVERY)
    return [(str(each.dialect), messages) for each in some for messages in _messages_of(each)]


def _messages_of(record: Record) -> Iterator[tuple[Message, ...]]:
    dialect = il.dialect(str(record.dialect))
    with suppress(InterlinguaError):
        yield dialect.read_request(record.request).messages
    with suppress(InterlinguaError):
        yield (dialect.read_response(record.response).message,)


def check(name: str, before: Sequence[Message], after: Sequence[Message], report: Report) -> None:
    """No silent loss, and no false alarm."""
    report.entries = [
        loss for loss in report.entries if loss.path.rpartition(".")[2] not in DERIVED
    ]
    Comparison(name, report).check(list(map(_aside, before)), list(map(_aside, after)))


@pytest.mark.parametrize("name", LIBRARIES)
def test_signatures_go_there_and_back(name: str) -> None:
    through = il.convert(SIGNED, "anthropic", name)
    home = il.convert(through.wire, name, "anthropic", model="claude-sonnet-4-6")
    reported = [loss for loss in through.report.entries if loss.path.startswith("$.messages")]
    lost = {loss.path.rpartition(".")[2] for loss in reported if loss.severity != "info"}
    assert lost <= {"is_error"}
    turns = home.wire["messages"]
    assert turns[:2] == SIGNED["messages"][:2]
    assert (turns[2] == SIGNED["messages"][2]) != bool(lost)
    assert home.wire["system"] == SIGNED["system"]
    abroad = il.convert(through.wire, name, "gemini", model="gemini-3-pro")
    assert "c2ln" not in abroad.json().decode()


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_is_written_is_recognised(name: str) -> None:
    wire = il.convert(SIGNED, "anthropic", name).wire
    found = il.detect(wire)
    assert (found.dialect, found.kind) == (name, "request")
    assert il.detect(wire[-2]).kind == "response"


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_comes_home_is_stable(name: str) -> None:
    wire = il.convert(SIGNED, "anthropic", name).wire
    assert same(il.convert(wire, name, name).wire, wire)


SIGNED: dict[str, Any] = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 64,
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "2 + 2?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "c2VhbGVk"},
                {"type": "text", "text": "I add."},
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "no such tool"}],
                    "is_error": True,
                }
            ],
        },
    ],
}
