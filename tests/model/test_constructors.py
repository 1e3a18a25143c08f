"""Making messages by hand: what constructors take, and what type checkers say about it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

import interlingua as il
from interlingua.model.blocks import (
    TYPE_OF,
    AssistantBlock,
    Block,
    InstructionBlock,
    ResultBlock,
    UserBlock,
)
from interlingua.model.events import Event
from interlingua.model.message import PLACEMENT, Role
from interlingua.model.rules import _RESULT_CONTENT
from interlingua.views.parts import ContentKind, ContentPart, ImageData, ThinkingData

ROOT = Path(__file__).parents[2]
PNG = b"\x89PNG\r\n\x1a\n\x00"


# Types


@pytest.mark.requirement("S003-3", "S003-4", "S002-49")
def test_what_type_checkers_allow_is_what_the_placement_table_says() -> None:
    allowed = {
        Role.USER: UserBlock,
        Role.ASSISTANT: AssistantBlock,
        Role.SYSTEM: InstructionBlock,
        Role.DEVELOPER: InstructionBlock,
    }
    for role, union in allowed.items():
        assert {TYPE_OF[cls] for cls in get_args(union)} == PLACEMENT[role]
    assert set(get_args(ResultBlock)) == _RESULT_CONTENT


SAMPLE = """
from interlingua.model.blocks import ImageBlock, Source, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message

image = ImageBlock(Source("url", "https://example.com/a.png"))
call = ToolUseBlock("c", "f", {})
Message.user(["What is it?", image])
Message.assistant([ThinkingBlock("Hm."), TextBlock("A cat."), call])
Message.tool_result("c", [TextBlock("4"), image])
Message.user([ThinkingBlock("Hm.")])  # refused
Message.user(call)  # refused
Message.system([image])  # refused
Message.tool_result("c", [ThinkingBlock("Hm.")])  # refused
for block in Message.user("hi").content:
    if block.type == "text":
        print(block.text)
    else:
        print(block.text)  # refused
"""


@pytest.mark.requirement("S003-2", "S003-3", "S003-4")
def test_a_type_checker_refuses_blocks_where_they_do_not_belong(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(sample)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    refused = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error:" in line}
    expected = [n for n, line in enumerate(SAMPLE.splitlines(), 1) if line.endswith("# refused")]
    assert sorted(refused) == expected, run.stdout + run.stderr


@pytest.mark.requirement("S002-27")
def test_every_block_and_event_says_its_type() -> None:
    for cls in (*get_args(Block), *get_args(Event)):
        assert cls.type == cls.__struct_config__.tag
    assert il.TextBlock("hi").type == "text"
    assert il.TextBlock("hi") == il.loads(il.dumps(il.TextBlock("hi")), il.TextBlock)


def test_the_names_of_the_documents_are_names_of_ours() -> None:
    assert il.RoutingDecisionRecord is il.RoutingRecord
    assert il.ImageSource is il.Source
    assert il.AdapterCapabilities is il.Capabilities
    assert il.AdapterOptions is il.Options
    assert il.ContentBlock == il.Block
    assert il.StreamEvent == Event


# Values


@pytest.mark.requirement("S001-13")
def test_bytes_of_an_image_are_encoded_or_refused() -> None:
    source = il.Source.from_bytes(PNG)
    assert source == il.Source("base64", "iVBORw0KGgoA")
    message = il.Message.user(il.ImageBlock(source, "image/png"))
    for name in il.dialects():
        wire = il.dialect(name).write_request(il.Request((message,), "m")).json()
        assert b"iVBORw0KGgoA" in wire
    with pytest.raises(TypeError, match=r"data is text, found bytes; Source\.from_bytes"):
        il.Source("base64", PNG)  # type: ignore[arg-type]  # that is what is tested


def test_dicts_are_read_as_blocks() -> None:
    plain = {"type": "image", "source": {"kind": "url", "data": "https://example.com/a.png"}}
    image = il.ImageBlock(il.Source("url", "https://example.com/a.png"))
    text = {"type": "text", "text": "hi"}
    assert il.Message.user(["hi", plain]) == il.Message.user(["hi", image])
    assert il.Message.user(text) == il.Message.user("hi")
    assert il.Message(Role.USER, [text]) == il.Message.user("hi")  # type: ignore[arg-type]  # a list


def test_dicts_of_no_format_are_refused_in_words() -> None:
    with pytest.raises(il.ReadError, match="image_ulr"):
        il.Message.user([{"type": "image_ulr", "image_url": {"url": "https://example.com"}}])
    with pytest.raises(il.ReadError, match="'type'"):
        il.Message.user([{"txt": "hi"}])
    assert il.Message.user([{"text": "hi"}]) == il.Message.user("hi")  # as Bedrock has it


@pytest.mark.parametrize("odd", [b"hi", 5, None, [5], [il.Message.user("hi")], [None]])
def test_what_is_no_content_is_refused(odd: Any) -> None:
    with pytest.raises(TypeError, match="content is"):
        il.Message.user(odd)


@pytest.mark.requirement("S001-20")
def test_parts_of_the_parts_view_make_a_multimodal_message() -> None:
    message = il.Message.user(
        [
            ContentPart(kind=ContentKind.TEXT, text="What is on it?"),
            ContentPart(kind=ContentKind.IMAGE, image=ImageData(url="https://example.com/a.jpg")),
        ]
    )
    image = il.ImageBlock(il.Source("url", "https://example.com/a.jpg"))
    assert message == il.Message.user(["What is on it?", image])
    assert il.validate(message) == []
    assert [ContentPart.of(block).kind for block in message.content] == ["TEXT", "IMAGE"]


@pytest.mark.parametrize("data", [PNG, b"iVBORw0KGgoA", "iVBORw0KGgoA"])
@pytest.mark.requirement("S001-13")
def test_inline_data_of_a_part_is_bytes_or_base64(data: bytes | str) -> None:
    part = ContentPart(kind=ContentKind.IMAGE, image=ImageData(data=data, media_type="image/png"))
    assert part.as_block() == il.ImageBlock(il.Source("base64", "iVBORw0KGgoA"), "image/png")


def test_a_part_must_hold_what_its_kind_says() -> None:
    with pytest.raises(il.ReadError, match=r"\$\.image"):
        il.Message.user(ContentPart(kind=ContentKind.IMAGE, text="a picture"))
    thinking = ContentPart(kind=ContentKind.THINKING, thinking=ThinkingData("Hm.", "sig"))
    assert [v.rule for v in il.validate(il.Message.user([thinking]))] == ["placement"]
    with pytest.raises(il.LossError):
        ContentPart.of(il.VideoBlock(il.Source("url", "https://example.com/a.mp4")))


# Beginning an answer


@pytest.mark.requirement("S003-16")
def test_an_answer_is_begun_from_a_model() -> None:
    time = datetime(2026, 5, 8, 12, tzinfo=UTC)
    message = il.new_assistant_message("anthropic:claude-sonnet-4-6", created_at=time)
    known = message.metadata
    assert (known.model, known.provider) == ("anthropic:claude-sonnet-4-6", "anthropic")
    assert (known.protocol, known.status) == ("anthropic", il.MessageStatus.PARTIAL)
    assert (message.role, message.content, message.created_at) == (Role.ASSISTANT, (), time)
    assert il.validate(message) == []


@pytest.mark.requirement("S003-16")
def test_an_answer_is_begun_now_and_by_alias() -> None:
    before = datetime.now(UTC)
    message = il.new_assistant_message("sonnet", "openai-chat")
    assert message.metadata.provider == "anthropic"
    assert message.metadata.protocol == "openai-chat"
    assert message.created_at is not None
    assert before <= message.created_at <= datetime.now(UTC)
    with pytest.raises(il.UnknownModelError):
        il.new_assistant_message("nobody:nothing")
