"""Images, documents, video and audio: formats, sources, names."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.message import Message
from tests.dialects.bedrock.wires import (
    PDF,
    PNG,
    block_of,
    body,
    losses,
    parts_of,
    result,
    text,
    user,
    write,
)


def test_formats_are_media_types() -> None:
    image = block_of({"image": {"format": "jpeg", "source": {"bytes": "/9j/"}}})
    assert image == ImageBlock(Source("base64", "/9j/"), "image/jpeg")
    sound = block_of({"audio": {"format": "m4a", "source": {"bytes": "AAAA"}}})
    assert sound == AudioBlock(Source("base64", "AAAA"), "audio/mp4")
    odd = block_of({"image": {"format": "tiff", "source": {"bytes": "AAAA"}}})
    assert odd == ImageBlock(Source("base64", "AAAA"))


def test_a_place_in_s3_is_a_url() -> None:
    place = {"uri": "s3://bucket/a.png", "bucketOwner": "111122223333"}
    image = block_of({"image": {"format": "png", "source": {"s3Location": place}}})
    assert image == ImageBlock(Source("url", "s3://bucket/a.png"), "image/png")
    odd = {"image": {"format": "png", "source": {"s3Location": {"uri": "https://a.b"}}}}
    assert block_of(odd) == ImageBlock(Source("url", "https://a.b"), "image/png")


@pytest.mark.parametrize("source", ["url", "file_id", "file_ref"])
def test_media_that_does_not_come_along_is_reported(source: Any) -> None:
    image = ImageBlock(Source(source, "https://example.com/a.png"), "image/png")
    wire, report = write(Message.user([image, TextBlock("What is it?")]))
    assert wire == body(user(text("What is it?")))
    assert losses(report) == [("dropped", "$.messages[0].content[0]")]


@pytest.mark.requirement("P35")
def test_documents_are_sent_with_a_legal_name() -> None:
    bare = DocumentBlock(Source("base64", PDF), "application/pdf")
    named = bare.replace(name="Q3_report.pdf", title="Q3")
    titled = bare.replace(title="Q3")
    wire, report = write(Message.user([bare, named, titled]))
    first, second, third = (part["document"] for part in wire["messages"][0]["content"])
    assert first == {"name": "document", "format": "pdf", "source": {"bytes": PDF}}
    assert (second["name"], third["name"]) == ("Q3-report-pdf", "Q3")
    assert losses(report) == [
        ("approximated", "$.messages[0].content[0].name"),
        ("dropped", "$.messages[0].content[1].title"),
        ("approximated", "$.messages[0].content[1].name"),
        ("moved", "$.messages[0].content[2].title"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"name": "a_b", "format": "txt", "source": {"text": "A"}, "context": "c"},
        {"name": "a", "source": {"content": [{"text": "A"}, {"text": "B"}]}},
        {"format": "pdf", "source": {"bytes": PDF}, "citations": {"enabled": True}},
    ],
)
def test_documents_of_every_source_go_home(document: Any) -> None:
    assert isinstance(block_of({"document": document}), DocumentBlock)


def test_bytes_that_a_program_wrote_as_numbers_are_bytes() -> None:
    for spelling in ([1, 255], {"type": "Buffer", "data": [1, 255]}, {"0": 1, "1": 255}):
        block = block_of({"image": {"format": "png", "source": {"bytes": spelling}}})
        assert block == ImageBlock(Source("base64", "Af8="), "image/png")


def test_a_type_by_another_name_is_said_and_an_unknown_one_is_not() -> None:
    jpg = ImageBlock(Source("base64", "/9j/"), "image/jpg")
    bare = ImageBlock(Source("base64", PNG))
    odd = ImageBlock(Source("base64", "AAAA"), "image/bmp")
    wire, report = write(Message.user([jpg, bare, odd]))
    formats = [part["image"]["format"] for part in wire["messages"][0]["content"]]
    assert formats == ["jpeg", "png"]
    assert losses(report) == [
        ("approximated", "$.messages[0].content[0].media_type"),
        ("dropped", "$.messages[0].content[2]"),
    ]


def test_a_search_result_is_a_document_of_texts() -> None:
    found = {"source": "https://a.b/c", "title": "C", "content": [text("A")]}
    part = {"searchResult": {**found, "citations": {"enabled": True}}}
    document = block_of(part)
    source = Source("blocks", content=(TextBlock("A"),))
    assert document == DocumentBlock(source, name="https://a.b/c", title="C", cited=True)
    assert parts_of(Message.user([document.replace(raw=None)])) == [part]


@pytest.mark.requirement("P34")
def test_a_result_holds_images_documents_and_video() -> None:
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    paper = {"document": {"name": "a", "format": "pdf", "source": {"bytes": PDF}}}
    film = {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/a.mp4"}}}}
    block = block_of(result(image, paper, film))
    assert isinstance(block, ToolResultBlock)
    assert [type(each) for each in block.content] == [ImageBlock, DocumentBlock, VideoBlock]
    sound = AudioBlock(Source("base64", "AAAA"), "audio/wav")
    _, report = write(Message.of_result(ToolResultBlock("t", (TextBlock("a"), sound))))
    assert losses(report) == [
        ("dropped", "$.messages[0].content[0].content[1]"),
        ("approximated", "$.tools"),
    ]
