"""The blocks that messages are made of."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest

import interlingua
from interlingua.model.blocks import (
    BLOCK_TYPES,
    TYPE_OF,
    AudioBlock,
    Block,
    Cache,
    Citation,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.message import Message
from interlingua.model.rules import validate
from tests.model.values import CALL, PICTURE, fields, plain

requirement = pytest.mark.requirement

SIX = ["text", "tool_use", "tool_result", "image", "thinking", "redacted_thinking"]


@requirement("S002-20")
def test_a_text_block_has_text() -> None:
    assert plain(TextBlock("hi")) == {"type": "text", "text": "hi"}
    assert fields(TextBlock) == ["text", "signature", "citations", "cache", "raw", "phase"]


@requirement("S002-21")
def test_a_tool_use_block_has_id_name_and_an_object() -> None:
    assert plain(ToolUseBlock("tu_1", "read_file", {"path": "a"})) == {
        "type": "tool_use",
        "id": "tu_1",
        "name": "read_file",
        "input": {"path": "a"},
    }
    with pytest.raises(interlingua.ReadError):
        loads(b'{"type":"tool_use","id":"a","name":"b","input":"{}"}', ToolUseBlock)


@requirement("S002-22")
def test_a_tool_result_block_has_blocks_and_no_error_unless_said() -> None:
    block = ToolResultBlock("tu_1", (TextBlock("x"), PICTURE))
    assert block.is_error is False
    assert plain(block) == {
        "type": "tool_result",
        "tool_use_id": "tu_1",
        "content": [{"type": "text", "text": "x"}, plain(PICTURE)],
    }
    assert plain(block.replace(is_error=True))["is_error"] is True
    held = {TYPE_OF[cls] for cls in get_args(ResultBlock)}
    assert held == {"text", "image", "audio", "video", "document", "unknown"}


@requirement("S002-23")
def test_an_image_block_has_a_source_and_a_media_type() -> None:
    assert plain(PICTURE) == {
        "type": "image",
        "source": {"kind": "url", "data": "https://example.com/a.png"},
        "media_type": "image/png",
    }


@requirement("S002-24")
@pytest.mark.parametrize(
    ("kind", "data"),
    [("base64", "aGk="), ("url", "https://example.com/a"), ("file_ref", "pictures/a.png")],
)
def test_an_image_comes_inline_by_link_or_from_the_workspace(kind: Any, data: str) -> None:
    block = ImageBlock(Source(kind, data), "image/png")
    assert plain(block)["source"] == {"kind": kind, "data": data}
    assert loads(dumps(block), ImageBlock, strict=True) == block


@requirement("S002-24")
def test_a_source_of_another_kind_is_refused() -> None:
    with pytest.raises(interlingua.ReadError) as caught:
        loads(b'{"kind":"bytes","data":"x"}', Source, strict=True)
    assert caught.value.path == "$.kind"


@requirement("S002-25")
def test_a_thinking_block_may_be_signed() -> None:
    assert plain(ThinkingBlock("hm")) == {"type": "thinking", "text": "hm"}
    assert plain(ThinkingBlock("", "c2ln")) == {"type": "thinking", "text": "", "signature": "c2ln"}


@requirement("S002-26")
def test_a_redacted_thinking_block_has_data_alone() -> None:
    assert plain(RedactedThinkingBlock("ZGF0YQ==")) == {
        "type": "redacted_thinking",
        "data": "ZGF0YQ==",
    }


@requirement("S002-27", "S002-113")
def test_blocks_are_a_closed_set_distinguished_by_type() -> None:
    assert set(BLOCK_TYPES) >= {*SIX, "audio", "video", "document", "refusal", "unknown"}
    assert set(BLOCK_TYPES.values()) == set(get_args(Block))
    for name, cls in BLOCK_TYPES.items():
        assert cls.__struct_config__.tag == name
        assert cls.__struct_config__.tag_field == "type"
        assert TYPE_OF[cls] == name


@requirement("S002-113")
@pytest.mark.parametrize("cls", [AudioBlock, VideoBlock])
def test_audio_and_video_are_blocks_of_their_own(cls: Any) -> None:
    message = Message.user(cls(Source("base64", "AAAA"), "x/y"))
    assert validate(message) == []
    assert loads(dumps(message), strict=True) == message


@pytest.mark.parametrize("name", sorted(BLOCK_TYPES))
def test_every_block_may_carry_a_cache_mark_and_raw(name: str) -> None:
    hints = get_type_hints(BLOCK_TYPES[name])
    assert hints["cache"] == Cache | None
    assert "raw" in hints


@requirement("S003-12")
def test_four_kinds_of_block_carry_a_signature_nobody_reads() -> None:
    odd = "\u00ff not base64 {}\n"
    summary = CompactionBlock("x", signature=odd)
    signed = [TextBlock("x", odd), ThinkingBlock("x", odd), CALL.replace(signature=odd), summary]
    message = Message.assistant(signed)
    again = loads(dumps(message), strict=True)
    assert [block.signature for block in again.content] == [odd] * 4  # type: ignore[union-attr]
    assert validate(message) == []
    assert {name for name, cls in BLOCK_TYPES.items() if "signature" in fields(cls)} == {
        "compaction",
        "text",
        "thinking",
        "tool_use",
    }


def test_a_citation_counts_code_points() -> None:
    text = "\U0001f642 says hello"
    citation = Citation(cited_text="says", start=2, end=6)
    assert text[citation.start : citation.end] == "says"
    block = TextBlock(text, citations=(citation,))
    assert loads(dumps(block), TextBlock, strict=True) == block


def test_an_unknown_block_is_compared_by_its_raw() -> None:
    one, other = UnknownBlock({"gemini": {"x": 1}}), UnknownBlock({"gemini": {"x": 2}})
    assert one != other
    assert one.digest() != other.digest()
    assert one == UnknownBlock({"gemini": {"x": 1.0}})
