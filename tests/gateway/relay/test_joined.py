"""Which calls can be completed, and with what."""

from __future__ import annotations

import json

import pytest

import interlingua as il
from interlingua.gateway.relay.joined import CallSeam, CutCall, SeamError, cut_call
from interlingua.model.events import (
    BlockStart,
    Event,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)

WHOLE = json.dumps({"path": "a", "text": "words " * 60})
START = ToolUseStart(1, "call_1", "write")
CALL = CutCall(START, WHOLE[:300])
ANCHOR = WHOLE[250:300]
SCHEMA = {"type": "object", "required": ["path", "text"]}


def request(**tool: object) -> il.Request:
    known = {"name": "write", "description": "Writes.", "input_schema": SCHEMA, **tool}
    return il.Request((il.Message.user("hi"),), tools=(il.ToolDefinition(**known),))  # type: ignore[arg-type]  # by name


def test_a_call_is_found_if_it_alone_is_held_back() -> None:
    pieces: list[Event] = [ToolUseInputDelta(1, WHOLE[:9]), ToolUseInputDelta(1, WHOLE[9:20])]
    assert cut_call([START, *pieces]) == CutCall(START, WHOLE[:20])
    thought = BlockStart(0, il.ThinkingBlock("hm"))
    other = ToolUseStart(2, "call_2", "write")
    for held in (
        [],
        [thought, START],
        [START, ToolUseEnd(1, {}), other],
        [START.replace(call_type="custom")],
        [START.replace(executor="provider")],
    ):
        assert cut_call(held) is None


def test_only_long_calls_of_functions_with_a_schema_are_completed() -> None:
    assert CALL.schema(request()) == SCHEMA
    assert CALL._replace(arguments="{").schema(request()) is None
    assert CALL.schema(request(name="other")) is None
    assert CALL.schema(request(input_schema=None)) is None
    assert CALL.schema(request(kind="custom")) is None


def test_the_rest_is_joined_where_the_arguments_ended() -> None:
    seam = CallSeam(CALL, ANCHOR, SCHEMA)
    for piece in (ANCHOR[:7], ANCHOR[7:] + WHOLE[300:310], WHOLE[310:], "\n"):
        seam.add(piece)
    assert seam.arguments() == (WHOLE, json.loads(WHOLE))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ANCHOR[:20],
        ANCHOR,
        ANCHOR + WHOLE[300:-1],
        ANCHOR + WHOLE[300:] + "}",
        WHOLE[300:],
        f"```{ANCHOR}{WHOLE[300:]}```",
    ],
)
def test_a_rest_that_is_not_proved_is_not_used(text: str) -> None:
    with pytest.raises(SeamError):
        joined(text)


def joined(text: str) -> object:
    seam = CallSeam(CALL, ANCHOR, SCHEMA)
    seam.add(text)
    return seam.arguments()


def test_arguments_that_do_not_fit_the_schema_are_not_used() -> None:
    seam = CallSeam(CALL, ANCHOR, {"type": "object", "required": ["mode"]})
    seam.add(ANCHOR + WHOLE[300:])
    with pytest.raises(SeamError):
        seam.arguments()
