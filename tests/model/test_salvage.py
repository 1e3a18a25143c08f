"""Reads stored JSON field by field."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from interlingua.errors import ReadError
from interlingua.model import message as message_module
from interlingua.model import salvage
from interlingua.model.base import same
from interlingua.model.blocks import Cache, ImageBlock, Source, TextBlock, UnknownBlock
from interlingua.model.codec import convert, dumps, loads
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from tests.model.stored import (
    BASE,
    HI,
    STRANGE,
    UNKNOWN_BLOCKS,
    UNKNOWN_FIELDS,
    block_with,
    message_with,
)

requirement = pytest.mark.requirement


@requirement("S002-103", "S002-102")
@pytest.mark.parametrize(("kind", "stored"), STRANGE)
def test_what_a_newer_program_wrote_is_kept_and_written_back(
    kind: Any, stored: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        value = loads(json.dumps(stored), kind)
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("WARNING", "stored_data_unknown")
    assert record.places  # type: ignore[attr-defined]

    written = dumps(value)
    assert same(json.loads(written), stored)
    assert dumps(loads(written, kind)) == written


@requirement("S002-103")
def test_an_unknown_block_takes_its_place_among_the_others() -> None:
    _, stored = UNKNOWN_BLOCKS["among others"]
    message = loads(json.dumps(stored))
    assert [type(block) for block in message.content] == [UnknownBlock, TextBlock, UnknownBlock]
    assert message.content[0] == UnknownBlock({salvage.KEY: {"type": "a"}})


@requirement("S002-103")
def test_the_warning_says_where_and_not_what(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        loads(
            json.dumps([BASE, block_with("text", text="hi", x_new="secret words")]), list[Message]
        )
    (record,) = caplog.records
    assert "$[1].content[0].x_new" in record.places[0]  # type: ignore[attr-defined]
    assert record.count == 1  # type: ignore[attr-defined]
    assert "secret" not in str(record.__dict__)


@requirement("S002-103")
def test_a_message_of_an_unknown_role_is_skipped_in_a_list_and_refused_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stored = [BASE, message_with(role="oracle"), message_with(x_new=1)]
    with caplog.at_level(logging.DEBUG):
        messages = loads(json.dumps(stored), list[Message])
        request = loads(json.dumps({"messages": stored}), Request)
    assert [message.role for message in messages] == [Role.USER, Role.USER]
    assert request.messages == tuple(messages)
    assert len(caplog.records) == 2
    for kind, data in [(Message, stored[1]), (Response, {"message": stored[1]})]:
        with pytest.raises(ReadError, match="oracle"):
            loads(json.dumps(data), kind)
    with pytest.raises(ReadError, match="oracle"):
        loads(json.dumps(stored), list[Message], strict=True)


@pytest.mark.parametrize(
    ("stored", "path"),
    [
        (message_with(content="hi"), "$.content"),
        (message_with(content=None), "$.content"),
        (message_with(content=[{"text": "hi"}]), "$.content[0].type"),
        (message_with(content=["hi"]), "$.content[0]"),
        (message_with(metadata=3), "$.metadata"),
        (block_with("text", text=12), "$.content[0].text"),
        (block_with("tool_use", id="a", name="b", input="{}"), "$.content[0].input"),
        ({"content": []}, "$"),
        ([], "$"),
        (None, "$"),
        (message_with(schema_version="1"), "$.schema_version"),
    ],
)
def test_what_is_wrong_and_not_just_new_is_refused_in_stored_data_too(
    stored: Any, path: str
) -> None:
    with pytest.raises(ReadError) as caught:
        loads(json.dumps({**stored, "x_new": 1} if isinstance(stored, dict) else stored))
    assert caught.value.path == path


def test_an_edit_wins_over_what_was_kept() -> None:
    message = loads(json.dumps(message_with(metadata={"status": "archived", "x_new": 1})))
    edited = message.replace(metadata=message.metadata.replace(status=MessageStatus.PARTIAL))
    again = loads(dumps(edited))
    assert again == edited
    assert again.metadata.status is MessageStatus.PARTIAL
    assert json.loads(dumps(again))["metadata"]["x_new"] == 1


def test_what_was_kept_of_a_part_goes_when_the_part_goes() -> None:
    message = loads(json.dumps(UNKNOWN_FIELDS["cache"][1]))
    (block,) = message.content
    edited = message.replace(content=(block.replace(cache=None),))
    again = loads(dumps(edited))
    assert again.content[0].cache is None
    assert dumps(again) == dumps(edited)


def test_an_unknown_block_that_gets_a_cache_mark_keeps_both() -> None:
    message = loads(json.dumps(block_with("hologram", x=1)))
    (block,) = message.content
    marked = message.replace(content=(block.replace(cache=Cache("5m")),))
    again = loads(dumps(marked), strict=True)
    assert again == marked
    assert again.content[0].cache == Cache("5m")


PRETENDING = [
    Message.user("x").replace(
        metadata=MessageMetadata(provider_raw={salvage.KEY: {"role": "system"}})
    ),
    Message.user("x").replace(metadata=MessageMetadata(provider_raw={salvage.KEY: {"name": "y"}})),
    Message.user("x").replace(metadata=MessageMetadata(extra={"model": "a:b", "status": "error"})),
    Message.user("x").replace(metadata=MessageMetadata(extra={"diagnostics": 5, "/usage/x": 1})),
    Message.user("x").replace(metadata=MessageMetadata(extra={"usage": {"x": 1}, "/x": 1})),
    Message.user([UnknownBlock({salvage.KEY: {"type": "text", "text": "evil"}})]),
    Message.user([UnknownBlock({salvage.KEY: {"type": "unknown", "raw": {}}})]),
    Message.user([UnknownBlock({salvage.KEY: {"no": "type"}})]),
    Message.user([UnknownBlock({salvage.KEY: {"type": "x"}, "gemini": {"y": 1}})]),
    Message.user([UnknownBlock({salvage.KEY: "x"})]),
    Message.user([TextBlock("x", raw={salvage.KEY: {"type": "thinking", "signature": "s"}})]),
    Message.user([TextBlock("x", raw={salvage.KEY: "no object"})]),
    Message.user([TextBlock("x", raw={salvage.KEY: {"/cache/ttl": "5m", "/0/1": 2, "/": 3}})]),
    Message.user([ImageBlock(Source("url", "x"), raw={salvage.KEY: {"/source/provider": "y"}})]),
]


@pytest.mark.parametrize("message", PRETENDING, ids=range(len(PRETENDING)))
def test_nothing_kept_can_pretend_to_be_a_field(message: Message) -> None:
    again = loads(dumps(message))
    assert again == message
    assert dumps(again) == dumps(message)
    (block,) = again.content
    assert (again.role, again.name, again.metadata.model) == (Role.USER, None, None)
    assert type(block) is type(message.content[0])


def rename_words(stored: dict[str, Any]) -> dict[str, Any]:
    stored = dict(stored)
    words = stored.pop("words")
    return {**stored, "content": [{"type": "text", "text": words}]}


def wrap_author(stored: dict[str, Any]) -> dict[str, Any]:
    return {**stored, "name": stored["name"].upper()}


@pytest.fixture
def version_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if two breaking changes had been made since version 1."""
    monkeypatch.setattr(message_module, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(salvage, "UPGRADES", {1: rename_words, 2: wrap_author})


OLD = b'{"role":"user","words":"hi","name":"ada","schema_version":1}'

YOUNGER = b'{"role":"user","content":[],"name":"ada","schema_version":2}'


@requirement("S002-107", "S002-102", "S002-101")
@pytest.mark.usefixtures("version_three")
@pytest.mark.parametrize("strict", [False, True])
def test_an_old_message_is_upgraded_step_by_step_when_read(strict: bool) -> None:
    message = loads(OLD, strict=strict)
    assert message == Message.user("hi", name="ADA")
    assert message.schema_version == 3
    assert loads(YOUNGER, strict=strict) == Message.user("", name="ADA")
    assert convert(json.loads(OLD), Message, strict) == message


@requirement("S002-107", "S002-102")
@pytest.mark.usefixtures("version_three")
def test_old_and_new_messages_stand_side_by_side() -> None:
    new = dumps(Message.user("new"))
    data = b"[" + new + b"," + OLD + b"," + YOUNGER + b"]"
    messages = loads(data, list[Message])
    assert [message.text for message in messages] == ["new", "hi", ""]
    assert {message.schema_version for message in messages} == {3}
    request = loads(b'{"messages":' + data + b"}", Request)
    assert request.messages == tuple(messages)


@requirement("S002-102")
@pytest.mark.usefixtures("version_three")
def test_upgrading_changes_the_value_and_not_what_is_stored() -> None:
    stored = json.loads(OLD)
    message = convert(stored, Message, strict=False)
    assert stored == json.loads(OLD)
    assert json.loads(dumps(message))["schema_version"] == 3
    assert loads(dumps(message)) == message


@requirement("S002-101")
@pytest.mark.usefixtures("version_three")
def test_a_version_without_a_way_up_is_refused() -> None:
    with pytest.raises(ReadError, match="version") as caught:
        loads(b'[{"role":"user","schema_version":0}]', list[Message])
    assert caught.value.path == "$[0].schema_version"


@requirement("S002-101", "S002-102")
def test_a_newer_version_keeps_its_number_and_its_fields() -> None:
    data = HI.replace(b'"schema_version":1', b'"schema_version":2,"x_new":1')
    message = loads(data)
    assert message.schema_version == 2
    assert dumps(message) == data
