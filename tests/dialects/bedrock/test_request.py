"""Requests: turns, instructions, tools, and the body around them."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.bedrock import DIALECT
from interlingua.errors import ReadError
from interlingua.model.blocks import (
    Cache,
    TextBlock,
)
from interlingua.model.exchange import Continues
from interlingua.model.message import Message
from tests.dialects.bedrock.wires import (
    MODEL,
    body,
    losses,
    read,
    text,
    user,
    write,
)


def test_model_and_stream_come_from_the_url() -> None:
    request = DIALECT.read_request(body(), MODEL, True)
    assert (request.model, request.options.stream) == (MODEL, True)
    written = DIALECT.write_request(request)
    assert (written.wire, written.model, written.stream) == (body(), MODEL, True)


def test_a_model_in_the_body_goes_home_and_can_be_changed() -> None:
    request = read(body(modelId="amazon.nova-lite-v1:0"))
    assert request.model == "amazon.nova-lite-v1:0"
    wire = DIALECT.write_request(request.replace(model=MODEL)).wire
    assert wire == body(modelId=MODEL)


# -- cache points ---------------------------------------------------------------------------------


def test_a_longer_time_than_there_is_becomes_the_longest() -> None:
    wire, report = write(Message.user([TextBlock("Hi", cache=Cache("12h"))]))
    assert wire["messages"][0]["content"][1] == {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert losses(report) == [("approximated", "$.messages[0].content[0].cache")]


# -- errors ---------------------------------------------------------------------------------------


def test_history_that_a_provider_keeps_is_reported() -> None:
    _, report = write(Message.user("Hi"), continues=Continues(response_id="resp_1"))
    assert [(loss.path, loss.severity) for loss in report.entries] == [("$.continues", "error")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"messages": 5}, "$.messages"),
        (body({"role": "tool", "content": []}), "$.messages[0].role"),
        (body({"role": "user", "content": "Hi"}), "$.messages[0].content"),
        (body(user(text("a"), {"toolUse": {"name": 5}})), "$.messages[0].content[1].toolUse"),
        (body(user({"image": {"source": {"bytes": 5}}})), "$.messages[0].content[0].image.source"),
        (body(system=[{"text": 5}]), "$.system[0].text"),
        (body(toolConfig={"tools": [{"toolSpec": {"name": 1}}]}), "$.toolConfig.tools[0].toolSpec"),
        (body(inferenceConfig={"maxTokens": "many"}), "$.inferenceConfig.maxTokens"),
        (body(requestMetadata=[1]), "$.requestMetadata"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path.startswith(path)
    assert caught.value.what == "bedrock request"
