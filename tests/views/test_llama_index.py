"""The llama-index view, on JSON as llama-index-core 0.14.25 writes it (2026-11-17)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

import interlingua as il
from interlingua.errors import ReadError
from interlingua.model.base import same
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.views import llama_index


def said(role: str, *blocks: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    return {"role": role, "additional_kwargs": kwargs, "blocks": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"block_type": "text", "text": words}


def thought(words: str | None, **told: Any) -> dict[str, Any]:
    return {
        "block_type": "thinking",
        "content": words,
        "num_tokens": None,
        "additional_information": told,
    }


def called(id: str, given: Any) -> dict[str, Any]:
    return {
        "block_type": "tool_call",
        "tool_call_id": id,
        "tool_name": "add",
        "tool_kwargs": given,
    }


IMAGE = {
    "block_type": "image",
    "image": "AAAA",
    "path": None,
    "url": None,
    "image_mimetype": "image/png",
    "detail": "low",
}
DOCUMENT = {
    "block_type": "document",
    "data": None,
    "path": None,
    "url": "https://example.com/a.pdf",
    "title": "input_document",
    "document_mimetype": "application/pdf",
}
SOUND = {"block_type": "audio", "audio": None, "path": "a.mp3", "url": None, "format": "mp3"}
LISTED = {"id": "c3", "type": "function", "function": {"name": "add", "arguments": "{}"}}
HISTORY = [
    said("system", text("Be brief.")),
    said("developer", text("Do so.")),
    said(
        "user",
        text("Look:"),
        IMAGE,
        {"block_type": "cache", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        DOCUMENT,
        SOUND,
    ),
    said(
        "assistant",
        thought("Hm.", signature="c2ln"),
        thought(None, type="redacted_thinking", data="c2VhbGVk"),
        text("I add."),
        called("c1", {"a": 1}),
        called("c2", '{"a": '),
        {"block_type": "citable", "title": "t", "source": "s", "content": []},
    ),
    said("tool", text("3"), tool_call_id="c1", name="add"),
    said("model", thought("Hm.", id="rs_1", encrypted_content="ZW5j", type="reasoning")),
    said("assistant", text("Well."), called("c4", {}), thought_signatures=[None, "dGg="]),
    said("assistant", text("Now."), tool_calls=[LISTED]),
]


def test_messages_come_home_unchanged() -> None:
    before = deepcopy(HISTORY)
    wire, report = llama_index.write(llama_index.read(HISTORY))
    assert same(wire, before)
    assert same(HISTORY, before)
    assert not report.entries
    assert il.detect(HISTORY).dialect == "llama-index"


def test_what_messages_say() -> None:
    read = llama_index.read(HISTORY)
    assert read[1].role is Role.DEVELOPER
    assert read[2].content == (
        TextBlock("Look:"),
        ImageBlock(Source("base64", "AAAA"), "image/png", detail="low", cache=il.Cache("1h")),
        DocumentBlock(Source("url", "https://example.com/a.pdf"), "application/pdf"),
        AudioBlock(Source("file_ref", "a.mp3"), "audio/mpeg"),
    )
    assert read[3].content[:4] == (
        ThinkingBlock("Hm.", "c2ln"),
        RedactedThinkingBlock("c2VhbGVk"),
        TextBlock("I add."),
        ToolUseBlock("c1", "add", {"a": 1}),
    )
    assert isinstance(read[3].content[5], UnknownBlock)
    assert read[3].metadata.diagnostics
    assert read[4].content == (ToolResultBlock("c1", (TextBlock("3"),), tool_name="add"),)
    assert read[5].content == (ThinkingBlock("Hm.", "ZW5j", "rs_1"),)
    assert read[6].content[1] == ToolUseBlock("c4", "add", {}, signature="dGg=")
    assert read[7].content[1] == ToolUseBlock("c3", "add", {})


def test_each_signature_stands_where_its_integration_looks_for_it() -> None:
    def answer(protocol: str, block: Any) -> Any:
        message = Message.assistant([block]).replace(metadata=MessageMetadata(protocol=protocol))
        [wire] = llama_index.write([message]).wire
        return wire

    thinking = ThinkingBlock("Hm.", "c2ln")
    for protocol, word in (
        ("anthropic", "signature"),
        ("bedrock", "signature"),
        ("openai-responses", "encrypted_content"),
        ("gemini", "thought_signature"),
    ):
        reply = answer(protocol, thinking)["blocks"][0]["additional_information"]
        assert reply == {word: "c2ln"}
    call = ToolUseBlock("c", "add", {}, signature="c2ln")
    kwargs = answer("gemini", call)["additional_kwargs"]
    assert kwargs == {"thought_signatures": ["c2ln"]}
    assert answer("anthropic", call)["additional_kwargs"] == {}


@pytest.mark.parametrize(
    ("given", "kind", "path"),
    [
        (Message.tool_result("c", "no", is_error=True), "dropped", "$[0].content[0].is_error"),
        (Message.assistant(RefusalBlock("no")), "downgraded", "$[0].content[0]"),
        (
            Message.assistant(ToolUseBlock("s", "web_search", {}, executor="provider")),
            "dropped",
            "$[0].content[0]",
        ),
        (Message.user(ImageBlock(Source("file_ref", "a.png"))), "dropped", "$[0].content[0]"),
        (Message.user("hi", name="ada"), "dropped", "$[0].name"),
    ],
)
def test_a_loss_is_told_at_its_place(given: Message, kind: str, path: str) -> None:
    report = llama_index.write([given]).report
    assert (kind, path) in [(loss.kind, loss.path) for loss in report.entries]


def test_a_result_without_a_call_is_refused() -> None:
    with pytest.raises(ReadError) as error:
        llama_index.read([said("tool", text("3"))])
    assert error.value.path == "$[0].additional_kwargs"
