"""A turn as routing sees it."""

from __future__ import annotations

import pytest

from interlingua.model.blocks import DocumentBlock, Source, TextBlock
from interlingua.model.exchange import Options, ResponseFormat
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from interlingua.routing import Needs, needs_of, turn_of
from tests.routing.needs import CALL, PNG


def test_needs_are_read_from_the_messages_the_tools_and_the_options() -> None:
    assert needs_of([Message.user("hi")]) == Needs()
    assert needs_of([Message.system("be brief"), Message.user("hi")]).system_prompt
    assert needs_of([Message.developer("be brief")]).system_prompt
    assert not needs_of([Message.system("")]).system_prompt
    assert needs_of([], [ToolDefinition("look")]).tools
    assert needs_of([Message.assistant([CALL])]).tools
    assert not needs_of([Message.assistant([CALL.replace(executor="provider")])]).tools
    options = Options(max_output_tokens=7, response_format=ResponseFormat("json_schema"))
    needs = needs_of([], (), options, 5)
    assert (needs.input_tokens, needs.output_tokens, needs.structured_output) == (5, 7, True)
    assert not needs_of([], (), Options(response_format=ResponseFormat("text"))).structured_output


@pytest.mark.parametrize(
    "message",
    [
        Message.user(["look", PNG]),
        Message.tool_result("tu_1", [PNG]),
        Message.user([DocumentBlock(Source("blocks", content=(TextBlock("x"), PNG)))]),
    ],
    ids=["user", "tool result", "inside a document"],
)
def test_images_are_found_wherever_they_stand(message: Message) -> None:
    assert needs_of([message]).image_media_types == ("image/png",)


def test_a_turn_knows_what_is_in_the_new_message_and_what_in_history() -> None:
    history = [Message.user([PNG]), Message.assistant([CALL])]
    message = Message.user("and now?")
    turn = turn_of(history, message, needs_of([*history, message]), sticky="b:text")
    assert (turn.text, turn.has_images, turn.has_tool_calls_in_history) == ("and now?", False, True)
    assert turn.needs.images
    assert turn.sticky == "b:text"
