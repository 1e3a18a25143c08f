"""Images, sound, film and documents as parts."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    VideoBlock,
)
from tests.dialects.openai_chat.parts import part_of, said
from tests.dialects.openai_chat.wires import (
    PDF,
    PNG,
    assistant,
    first,
    image,
    losses,
    made,
    text,
    write,
)


@pytest.mark.requirement("S001-14")
def test_inline_pictures_are_data_urls() -> None:
    block = ImageBlock(Source("base64", PNG), "image/png", detail="low")
    assert part_of(image(detail="low")) == block
    assert said(block) == ([image(detail="low")], [])


def test_pictures_by_url() -> None:
    block = part_of(image("https://example.com/a.png"))
    assert block == ImageBlock(Source("url", "https://example.com/a.png"))
    assert said(block.replace(media_type="image/png"))[1] == [
        ("dropped", "$.messages[0].content[0].media_type")
    ]


@pytest.mark.parametrize(
    "url",
    [
        f"data:image/png;charset=utf-8;base64,{PNG}",
        "data:image/svg+xml,%3Csvg/%3E",
        "DATA:image/png;base64,AA==",
        "s3://bucket/key",
        "",
    ],
)
def test_odd_urls_go_home_exactly(url: str) -> None:
    part_of(image(url))


def test_a_picture_whose_type_nobody_said_is_looked_at() -> None:
    assert said(ImageBlock(Source("base64", "/9j/AA==")))[0] == [
        image("data:image/jpeg;base64,/9j/AA==")
    ]


@pytest.mark.parametrize(
    "source",
    [
        Source("file_id", "file-1", provider="openai"),
        Source("file_ref", "a.png"),
        Source("url", "s3://bucket/key"),
    ],
)
def test_pictures_from_elsewhere_are_dropped(source: Source) -> None:
    assert said(ImageBlock(source))[1][0] == ("dropped", "$.messages[0].content[0]")


def test_details_outside_the_list_go_home_only() -> None:
    assert part_of(image(detail="ultra")) == ImageBlock(
        Source("base64", PNG), "image/png", detail="ultra"
    )
    block = ImageBlock(Source("base64", PNG), "image/png", detail="ultra")
    assert said(block) == ([image()], [("dropped", "$.messages[0].content[0].detail")])


def test_mistral_says_a_picture_as_a_string() -> None:
    part_of({"type": "image_url", "image_url": "https://example.com/a.png"})


def test_speech_has_a_format() -> None:
    part = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}
    block = AudioBlock(Source("base64", "AA=="), "audio/mpeg")
    assert part_of(part) == block
    assert said(block) == ([part], [])


@pytest.mark.parametrize(
    "audio", [{"data": "AA==", "format": "flac"}, {"data": "AA==", "format": "x"}, {"data": "A"}]
)
def test_other_formats_go_home_only(audio: dict[str, Any]) -> None:
    block = part_of({"type": "input_audio", "input_audio": audio})
    assert said(AudioBlock(Source("base64", "AA=="), "audio/flac"))[1][0][0] == "dropped"
    assert isinstance(block, AudioBlock)


@pytest.mark.parametrize(("data", "kind"), [("AA==", "base64"), ("https://example.com/a", "url")])
def test_mistral_says_speech_as_a_string(data: str, kind: Any) -> None:
    block = part_of({"type": "input_audio", "input_audio": data})
    assert block == AudioBlock(Source(kind, data))


def test_video_goes_home_only() -> None:
    part = {"type": "video_url", "video_url": {"url": "https://example.com/a.mp4"}}
    block = part_of(part)
    assert block == VideoBlock(Source("url", "https://example.com/a.mp4"))
    assert said(block) == ([part], [])
    foreign = VideoBlock(Source("url", "https://example.com/a.mp4"))
    assert said(foreign)[1][0] == ("dropped", "$.messages[0].content[0]")


def test_speech_of_the_assistant_is_named_by_its_id() -> None:
    block = AudioBlock(Source("file_id", "audio_1", provider="openai"))
    assert first(assistant(None, audio={"id": "audio_1"})).content == (block,)
    assert write(made(block))[0]["messages"] == [assistant(None, audio={"id": "audio_1"})]
    assert losses(write(made(AudioBlock(Source("base64", "AA=="))))[1])[0][0] == "dropped"


@pytest.mark.requirement("P35")
def test_files_are_inline_or_by_id() -> None:
    part = {
        "type": "file",
        "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"},
    }
    block = DocumentBlock(Source("base64", PDF), "application/pdf", name="a.pdf")
    assert part_of(part) == block
    assert said(block) == ([part], [])
    by_id = DocumentBlock(Source("file_id", "file-1", provider="openai"))
    assert part_of({"type": "file", "file": {"file_id": "file-1"}}) == by_id
    assert said(by_id) == ([{"type": "file", "file": {"file_id": "file-1"}}], [])


def test_a_file_without_a_name_is_given_one_and_that_is_reported() -> None:
    (part,), lost = said(DocumentBlock(Source("base64", PDF), "application/pdf"))
    document = DocumentBlock(Source("base64", PDF), "application/pdf", "unnamed")
    assert part_of(part) == document
    assert lost == [("approximated", "$.messages[0].content[0].name")]


@pytest.mark.parametrize(
    "file",
    [
        {"file_data": PDF, "filename": "a.pdf"},
        {"file_data": "https://example.com/a.pdf"},
        {"file_data": "data:text/plain,hi"},
        {"file_id": "file-1", "filename": "unnamed"},
        {"file_data": f"data:application/pdf;base64,{PDF}", "filename": None},
        {"file_data": f"data:application/pdf;base64,{PDF}", "pages": 3},
    ],
)
def test_odd_files_go_home_exactly(file: dict[str, Any]) -> None:
    assert isinstance(part_of({"type": "file", "file": file}), DocumentBlock)


def test_a_document_of_text_is_sent_as_text() -> None:
    content, lost = said(DocumentBlock(Source("text", "Once"), "text/plain", title="Tale"))
    assert content == [text("Once")]
    assert lost == [("downgraded", "$.messages[0].content[0]")]
    blocks = Source("blocks", content=(TextBlock("a"), TextBlock("b")))
    assert said(DocumentBlock(blocks))[0] == [text("a"), text("b")]


def test_a_file_of_another_provider_is_dropped() -> None:
    block = DocumentBlock(Source("file_id", "file_1", provider="anthropic"))
    assert said(block)[1][0] == ("dropped", "$.messages[0].content[0]")


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document_url", "document_url": "https://example.com/a", "document_name": "a"},
        {"type": "document_url", "document_url": f"data:application/pdf;base64,{PDF}"},
        {"type": "file", "file_id": "9f-1"},
        {"type": "resource_link", "uri": "mcp://a", "metadata": {"a": 1}},
        {"type": "resource", "uri": "mcp://a", "content": text("a")},
        {"type": "resource", "uri": "mcp://a", "content": image()},
        {"type": "document", "document": {"data": {"a": [1]}, "id": "d1"}},
    ],
)
def test_documents_of_mistral_and_groq_are_documents(part: dict[str, Any]) -> None:
    assert isinstance(part_of(part), DocumentBlock)
