"""Images and documents."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    TextBlock,
    VideoBlock,
)
from interlingua.model.message import Message
from tests.dialects.anthropic.wires import (
    PDF,
    PNG,
    assistant,
    body,
    losses,
    read,
    text,
    user,
    write,
)

PAIRS: list[tuple[dict[str, Any], MediaBlock]] = [
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        ImageBlock(Source("base64", PNG), "image/png"),
    ),
    (
        {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
        ImageBlock(Source("url", "https://example.com/a.png")),
    ),
    (
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        ImageBlock(Source("file_id", "file_1", provider="anthropic")),
    ),
    (
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
            "title": "T",
            "context": "C",
        },
        DocumentBlock(Source("base64", PDF), "application/pdf", title="T", context="C"),
    ),
    (
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A"}},
        DocumentBlock(Source("text", "A"), "text/plain"),
    ),
    (
        {"type": "document", "source": {"type": "content", "content": [text("A")]}},
        DocumentBlock(Source("blocks", content=(TextBlock("A"),))),
    ),
]


@pytest.mark.requirement("S001-14", "P35")
@pytest.mark.parametrize(("wire", "block"), PAIRS)
def test_media_are_read_and_written(wire: dict[str, Any], block: MediaBlock) -> None:
    assert read(body(user(wire))).messages[0].content == (block,)
    written, report = write(Message.user(block))
    assert written["messages"] == [user(wire)]
    assert not report.entries


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "content", "content": "A"}},
        {"type": "document", "source": {"type": "url", "url": "u"}, "citations": {"enabled": True}},
        {"type": "document", "source": {"type": "url", "url": "u"}, "title": None},
        {"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "Qk0="}},
        {"type": "image", "source": {"type": "base64", "data": PNG}},
        {"type": "image", "source": {"type": "url", "url": "u", "detail": "high"}},
        {"type": "image", "source": {"type": "s3", "bucket": "b"}},
        {"type": "image", "source": {"type": "url", "url": "u"}, "transformations": {"a": 1}},
    ],
)
def test_odd_media_go_home(part: dict[str, Any]) -> None:
    read(body(user(part)))


def test_a_search_result_is_a_document_that_says_where_it_is_from() -> None:
    part = {"type": "search_result", "source": "https://example.com", "title": "E"}
    part |= {"content": [text("A")], "citations": {"enabled": True}}
    (block,) = read(body(user(part))).messages[0].content
    source = Source("blocks", content=(TextBlock("A"),))
    assert block == DocumentBlock(source, name="https://example.com", title="E", cited=True)


def test_a_file_for_the_container_is_a_document() -> None:
    part = {"type": "container_upload", "file_id": "file_1"}
    (block,) = read(body(user(part))).messages[0].content
    assert block == DocumentBlock(Source("file_id", "file_1", provider="anthropic"))


@pytest.mark.parametrize(
    "block",
    [
        AudioBlock(Source("base64", "UklGRg=="), "audio/wav"),
        VideoBlock(Source("url", "https://example.com/a.mp4"), "video/mp4"),
        ImageBlock(Source("base64", "Qk0="), "image/bmp"),
        ImageBlock(Source("file_ref", "media/a.png"), "image/png"),
        ImageBlock(Source("file_id", "file_1", provider="openai")),
        DocumentBlock(Source("base64", "UEs="), "application/zip"),
    ],
)
def test_what_cannot_be_sent_is_dropped_with_a_report(block: MediaBlock) -> None:
    wire, report = write(Message.user((block, TextBlock("Hi"))))
    assert wire["messages"] == [user(text("Hi"))]
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


@pytest.mark.parametrize("block", [pair[1] for pair in PAIRS])
def test_no_media_in_a_models_turn(block: MediaBlock) -> None:
    wire, report = write(Message.assistant((block, TextBlock("Hi"))))
    assert wire["messages"] == [assistant(text("Hi"))]
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


def test_media_of_a_recorded_models_turn_go_home() -> None:
    read(body(assistant(PAIRS[0][0], PAIRS[3][0])))


def test_a_file_name_becomes_the_title() -> None:
    wire, report = write(Message.user(DocumentBlock(Source("base64", PDF), name="a.pdf")))
    part = wire["messages"][0]["content"][0]
    assert (part["title"], part["source"]["media_type"]) == ("a.pdf", "application/pdf")
    assert losses(report) == [("moved", "$.messages[0].content[0].name")]


@pytest.mark.parametrize(
    ("data", "media_type"),
    [("/9j/4AA=", "image/jpeg"), ("R0lGODlh", "image/gif"), ("AAAA", "image/png")],
)
def test_an_image_without_a_type_gets_the_one_its_data_begins_like(
    data: str, media_type: str
) -> None:
    wire, report = write(Message.user(ImageBlock(Source("base64", data))))
    assert wire["messages"][0]["content"][0]["source"]["media_type"] == media_type
    assert not report.entries


def test_the_type_of_what_is_behind_an_address_is_not_said() -> None:
    image = ImageBlock(Source("url", "https://example.com/a"), "image/png", detail="low")
    path = "$.messages[0].content[0]"
    _, report = write(Message.user(image))
    assert losses(report) == [("dropped", f"{path}.media_type"), ("dropped", f"{path}.detail")]


@pytest.mark.parametrize("kind", ["text/plain", "text/csv", "application/json"])
def test_a_text_document_that_comes_as_bytes_is_written_as_text(kind: str) -> None:
    block = il.DocumentBlock(il.Source("base64", "aGVsbG8gd29ybGQ="), kind, name="notes")
    done = il.dialect("anthropic").write_request(il.Request((il.Message.user([block]),), "m"))
    (part,) = done.wire["messages"][0]["content"]
    assert part["source"] == {"type": "text", "media_type": "text/plain", "data": "hello world"}
    paths = [loss.path.rpartition(".")[2] for loss in done.report.entries]
    assert "source" in paths
    assert ("media_type" in paths) is (kind != "text/plain")


@pytest.mark.parametrize("data", ["/w==", "no base64"])
def test_bytes_that_are_no_text_are_still_dropped(data: str) -> None:
    block = il.DocumentBlock(il.Source("base64", data), "text/plain")
    done = il.dialect("anthropic").write_request(il.Request((il.Message.user([block]),), "m"))
    assert "dropped" in [loss.kind for loss in done.report.entries]
