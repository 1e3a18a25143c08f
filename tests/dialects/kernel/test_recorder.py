"""Losses find their places, in a long history as well."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from interlingua.adapt.history.retell import retell
from interlingua.dialects.kernel import recorder
from interlingua.model.blocks import TYPE_OF, DocumentBlock, Source, TextBlock, ToolResultBlock
from interlingua.model.blocks import ToolUseBlock as Call
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message
from tests.laws import strategies

OURS = frozenset({Message, *TYPE_OF})


def spoken(value: Any) -> dict[int, Any]:
    """What the index of all places has of messages and blocks."""
    kinds: dict[int, type] = {}

    def note(item: Any) -> None:
        kinds[id(item)] = type(item)
        for name in getattr(item, "__struct_fields__", ()):
            inner = getattr(item, name)
            for each in inner if type(inner) is tuple else (inner,):
                note(each)

    note(value)
    return {key: at for key, at in recorder._all_paths(value).items() if kinds[key] in OURS}


@settings(max_examples=60)
@given(strategies.requests(with_raw=True))
def test_the_index_of_blocks_is_that_of_everything_as_far_as_it_goes(request: Request) -> None:
    assert recorder._message_paths(request) == spoken(request)


@settings(max_examples=30)
@given(strategies.responses(with_raw=True))
def test_the_index_of_an_answer_has_its_alternatives(response: Response) -> None:
    assert recorder._message_paths(response) == spoken(response)


def test_a_block_that_stands_in_several_places_has_all_of_them() -> None:
    text = TextBlock("again")
    document = DocumentBlock(Source("blocks", content=(text,)))
    message = Message.of_result(ToolResultBlock("a", (document, text)))
    request = Request((message, Message.user("hi").replace(content=(text,)), message))
    assert recorder._message_paths(request) == spoken(request)
    assert [path for path, _ in recorder._message_paths(request)[id(text)]] == [
        "$.messages[0].content[0].content[0].source.content[0]",
        "$.messages[0].content[0].content[1]",
        "$.messages[1].content[0]",
        "$.messages[2].content[0].content[0].source.content[0]",
        "$.messages[2].content[0].content[1]",
    ]


def test_a_loss_in_every_call_of_a_long_history_needs_no_index_of_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []

    def count(origin: Any) -> Any:
        made.append(origin)
        return {}

    monkeypatch.setattr(recorder, "_all_paths", count)
    messages: list[Message] = []
    for number in range(30):
        call = Call(f"call_{number}", "look", {})
        messages.append(Message.user("go on"))
        messages.append(Message.assistant("so").replace(content=(TextBlock("so"), call)))
        messages.append(Message.of_result(ToolResultBlock(call.id, (TextBlock("seen"),))))
    losses = retell(Request(tuple(messages)), "gemini").report.entries
    assert made == []
    assert [loss.path for loss in losses] == [
        f"$.messages[{3 * number + 1}].content[1].signature" for number in range(30)
    ]
