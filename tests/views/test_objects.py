"""The libraries themselves, where they are installed: what they make of what we write.

`make libraries` fetches them and runs this. Each takes what we write, and what it serialises then
is what we wrote, with its own defaults beside it; signatures come back through its objects.
"""

from __future__ import annotations

import logging
from base64 import b64decode
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.errors import InterlinguaError
from interlingua.model.base import same
from interlingua.model.blocks import (
    Cache,
    ImageBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.views import view
from interlingua.views.base import standard
from interlingua.views.objects import LIBRARIES, _from_objects, _to_objects, view_of
from tests.laws.corpus import corpus_or_skip, records
from tests.laws.strategies import conversations
from tests.views.comparing import few

pytestmark = pytest.mark.filterwarnings("ignore")

DEFAULTS: tuple[Any, ...] = (
    None,
    False,
    0,
    "",
    [],
    "success",
    "complete",
    "conversation",
    "5m",
    "input_document",
)
FILLED = {"timestamp", "identifier", "media_type", "content_file_digests"} | {
    f"{kind}_mimetype" for kind in ("image", "video", "document")
}
"""What the libraries make up where it is not told: times, and what follows from data or a URL."""


def library(name: str) -> str:
    """The name of a view whose library is here; else the test is skipped."""
    if find_spec(LIBRARIES[name].module) is None:
        pytest.skip(f"{name} is not installed: make libraries")
    return name


def serialised(name: str, wire: Any) -> Any:
    """What the library writes of what it read."""
    return LIBRARIES[name].dump(LIBRARIES[name].load(wire))


def is_default(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_default(item) for item in value.values())
    return value in DEFAULTS


def differences(ours: Any, theirs: Any, path: str = "$") -> Iterator[str]:
    """Where the library's JSON says something other than ours, its defaults apart."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours:
            if key in theirs:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
            else:
                yield f"{path}.{key} is gone"
        for key in theirs.keys() - ours.keys() - FILLED:
            if not is_default(theirs[key]):
                yield f"{path}.{key} is new: {theirs[key]!r}"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif not same(ours, theirs):
        yield f"{path}: {ours!r} became {theirs!r}"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("name", LIBRARIES)
@few
@given(st.booleans().flatmap(lambda stored: conversations(stored, False, failures=True)))
def test_their_own_serialisation_of_what_we_wrote_is_what_we_wrote(
    name: str, messages: tuple[Message, ...]
) -> None:
    wire = view(library(name)).write(messages).wire
    assert not list(differences(wire, serialised(name, wire)))


@pytest.mark.parametrize("name", LIBRARIES)
@few
@given(conversations(True, False, failures=True))
def test_reading_what_they_serialise_gives_what_we_wrote(
    name: str, messages: tuple[Message, ...]
) -> None:
    wire = view(library(name)).write(messages).wire
    before, after = view(name).read(wire), view(name).read(serialised(name, wire))
    assert [each.role for each in after] == [each.role for each in before]
    for one, other in zip(before, after, strict=True):
        assert list(map(_unfilled, other.content)) == list(map(_unfilled, one.content))


def _unfilled(block: Any) -> Any:
    """Without what libraries fill in: how long a cache lasts, and the media type of something that
    they have not got, which they guess."""
    if isinstance(block, ToolResultBlock):
        return block.replace(content=tuple(map(_unfilled, block.content)))
    if block.cache is not None and block.cache.ttl == "5m":
        block = block.replace(cache=Cache())
    if getattr(block, "source", None) is not None and block.source.kind in ("url", "file_id"):
        return block.replace(media_type=None)
    return block


@pytest.mark.parametrize("name", LIBRARIES)
def test_recorded_traffic_goes_through_their_objects(name: str) -> None:
    corpus_or_skip()
    library(name)
    judged = 0
    for record in islice(records(), 0, None, 10):
        assert record.dialect is not None
        try:
            messages = il.dialect(record.dialect).read_request(record.request).messages
        except InterlinguaError:
            continue
        if not all(map(_has_its_bytes, messages)):
            continue
        wire = view(name).write(messages, record.dialect).wire
        found = list(differences(wire, serialised(name, wire)))
        assert not found, (record.id, found)
        judged += 1
    assert judged > 100


def _has_its_bytes(message: Message) -> bool:
    """Whether all data is base64: recordings have some that was cut out by whoever made them."""
    try:
        for block in every_block(message):
            if getattr(block, "source", None) is not None and block.source.kind == "base64":
                b64decode(standard(block.source.data), validate=True)
    except ValueError:
        return False
    return True


def every_block(message: Message) -> Iterator[Any]:
    for block in message.content:
        yield block
        if isinstance(block, ToolResultBlock):
            yield from block.content


SIGNATURE, SEALED = "c2lnbmF0dXJl", "c2VhbGVk"
CALL = ToolUseBlock("call_1", "add", {"a": 1, "b": 2})
PIXEL = ImageBlock(Source("base64", "iVBORw0KGgo="), "image/png")


def conversation(provider: str, protocol: str, *content: Any) -> list[Message]:
    metadata = MessageMetadata(
        model=f"{provider}:a-model",
        provider=provider,
        protocol=protocol,
        response_model="a-model",
        response_id="resp_1",
        stop_reason=StopReason.TOOL_USE,
        usage=Usage(10, 5, 3, 2, 4),
    )
    return [
        Message.system("Be brief."),
        Message.user(["Look.", PIXEL]),
        Message.assistant([*content, CALL]).replace(metadata=metadata),
        Message.tool_result("call_1", "3", is_error=True, tool_name="add"),
    ]


SIGNED = {
    "anthropic": conversation(
        "anthropic",
        "anthropic",
        ThinkingBlock("Hm.", SIGNATURE),
        RedactedThinkingBlock(SEALED),
        TextBlock("I add."),
    ),
    "gemini": [
        each.replace(
            content=tuple(
                [b.replace(signature=SIGNATURE) if b == CALL else b for b in each.content]
            )
        )
        for each in conversation("gemini", "gemini", TextBlock("I add."))
    ],
    "openai-responses": conversation(
        "openai", "openai-responses", ThinkingBlock("Hm.", SIGNATURE, "rs_1"), TextBlock("I add.")
    ),
}


@pytest.mark.parametrize("protocol", SIGNED)
@pytest.mark.parametrize("name", LIBRARIES)
def test_signatures_calls_images_and_errors_come_back_through_objects(
    name: str, protocol: str
) -> None:
    messages = SIGNED[protocol]
    objects = _to_objects(library(name), messages, None)
    assert view_of(objects) in (name, None)
    back = _from_objects(name, objects)
    for before, after in zip(messages, back, strict=True):
        assert list(map(_failed, after.content)) == list(map(_failed, before.content))
    dropped = [loss.path for loss in objects.report.entries if loss.kind == "dropped"]
    flagged = "is_error" in {path.rpartition(".")[2] for path in dropped}
    assert back[3].content[0].is_error != flagged  # type: ignore[union-attr]  # it is a result
    result = il.convert(objects, name, protocol, model="a-model").wire
    for secret in (SIGNATURE, SEALED) if protocol == "anthropic" else (SIGNATURE,):
        assert secret in str(result)


def _failed(block: Any) -> Any:
    """LlamaIndex has no place for failures and items of OpenAI none for the name of a tool, and the
    report says so; and they always tell how closely to look at an image."""
    if isinstance(block, ImageBlock):
        return block.replace(detail=None)
    if isinstance(block, ToolResultBlock):
        return block.replace(is_error=True, tool_name=None)
    return block


@pytest.mark.parametrize("name", LIBRARIES)
def test_objects_are_recognised_and_converted_as_they_are(name: str) -> None:
    objects = _to_objects(library(name), SIGNED["anthropic"], None)
    assert il.detect(objects).dialect == name
    assert il.convert(objects, name, "anthropic", model="a-model").wire["system"] == "Be brief."


@pytest.mark.parametrize("protocol", SIGNED)
def test_items_are_what_the_agents_sdk_types(protocol: str) -> None:
    library("openai-agents")
    from agents.items import ItemHelpers, TResponseInputItem
    from pydantic import TypeAdapter

    items = list(_to_objects("openai-agents", SIGNED[protocol], None))
    TypeAdapter(list[TResponseInputItem]).validate_python(items)
    assert ItemHelpers.input_to_new_input_list(items) == items
