"""Parts: text, thoughts, signatures, media."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from interlingua.adapt.history.retell import retell
from interlingua.dialects.gemini import DIALECT
from interlingua.dialects.kernel.words import snake_case
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Cache,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from tests.dialects.gemini.wires import PNG, body, call, losses, model, read, text, user, write


def blocks(*parts: Any) -> tuple[Block, ...]:
    """The blocks of a model turn, which goes home unchanged."""
    return read(body(user(text("Hi")), model(*parts))).messages[1].content


def said(block: Block) -> tuple[Any, list[tuple[str, str]]]:
    """The part that is written for one block of the user's, and the losses at the block."""
    wire, report = write(Message.user([block]))
    head = "$.messages[0].content[0]"
    return wire["contents"][0]["parts"][0], [(k, p.removeprefix(head)) for k, p in losses(report)]


@pytest.mark.requirement("S000-19")
def test_a_thought_is_thinking() -> None:
    assert blocks(text("Hm.", thought=True), text("Hi")) == (ThinkingBlock("Hm."), TextBlock("Hi"))


@pytest.mark.parametrize("thought", [False, None, 1, "yes"])
def test_any_other_thought_is_text(thought: Any) -> None:
    assert blocks(text("Hi", thought=thought)) == (TextBlock("Hi"),)


@pytest.mark.requirement("P7")
def test_a_signature_stays_on_the_part_that_has_it() -> None:
    found = blocks(
        text("Hm.", thought=True, thoughtSignature="AA=="),
        text("Hi", thoughtSignature="AQ=="),
        {**call(), "thoughtSignature": "Ag=="},
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "thoughtSignature": "Aw=="},
    )
    assert [getattr(b, "signature", None) for b in found] == ["AA==", "AQ==", "Ag==", None]
    assert found[3].raw == {"gemini": {"thoughtSignature": "Aw=="}}


@pytest.mark.parametrize(
    "part",
    [
        {"thoughtSignature": "AA=="},
        {"text": "", "thoughtSignature": "AA=="},
        {"text": None, "thought_signature": "AA=="},
        {"thought": True, "thoughtSignature": "AA=="},
    ],
)
@pytest.mark.requirement("P2")
def test_a_signature_alone_is_kept_in_its_place(part: Any) -> None:
    found = blocks(text("a"), part, text("b"))
    assert found[1] in (TextBlock("", "AA=="), ThinkingBlock("", "AA=="))


def test_an_empty_part_is_an_empty_text() -> None:
    assert blocks({}, {"text": ""}, {"functionCall": None}) == (TextBlock(""),) * 3


@pytest.mark.requirement("P6")
def test_several_thoughts_stay_several() -> None:
    found = blocks(text("a", thought=True), text("b", thought=True, thoughtSignature="AA=="))
    assert found == (ThinkingBlock("a"), ThinkingBlock("b", "AA=="))


@pytest.mark.requirement("P4")
def test_thinking_from_elsewhere_does_not_become_text() -> None:
    history = (Message.user("Hi"), Message.assistant([ThinkingBlock("Hm."), TextBlock("Hello")]))
    result = retell(Request(history), DIALECT, source="anthropic")
    wire = DIALECT.write_request(result.value, result.recorder).wire
    assert wire["contents"][1] == model(text("Hello"))
    assert ("dropped", "$.messages[1].content[0]") in losses(result.report)


def test_one_part_of_two_kinds_is_two_blocks_and_goes_home_as_one() -> None:
    both = {**call(), **text("Let me see.", thoughtSignature="AA==")}
    found = blocks(both, text("more"))
    assert isinstance(found[0], ToolUseBlock)
    assert found[0].signature == "AA=="
    assert found[1:] == (TextBlock("Let me see."), TextBlock("more"))
    thought = blocks({**call(), "text": "Hm.", "thought": True})
    assert thought[1] == ThinkingBlock("Hm.")


def test_a_part_of_no_known_kind_is_kept() -> None:
    assert blocks({"hologram": {"x": 1}}) == (UnknownBlock({"gemini": {"hologram": {"x": 1}}}),)
    assert said(UnknownBlock({"anthropic": {"type": "x"}}))[1][0] == ("dropped", "")


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/png", ImageBlock),
        ("audio/wav", AudioBlock),
        ("video/mp4", VideoBlock),
        ("application/pdf", DocumentBlock),
        ("text/plain", DocumentBlock),
        (None, DocumentBlock),
    ],
)
@pytest.mark.requirement("S001-14")
def test_inline_data_is_media_of_its_type(media_type: str | None, kind: type) -> None:
    inline = {"mimeType": media_type, "data": PNG, "displayName": "a"}
    [block] = read(body(user({"inlineData": inline}))).messages[0].content
    assert block == kind(Source("base64", PNG), media_type, "a")


@pytest.mark.parametrize(
    ("uri", "media_type", "block"),
    [
        ("gs://bucket/a.png", "image/png", ImageBlock),
        ("https://example.com/a.pdf", None, DocumentBlock),
        ("https://example.com/a.JPG", None, ImageBlock),
        ("https://www.youtube.com/watch?v=x", None, VideoBlock),
    ],
)
def test_a_uri_is_a_url(uri: str, media_type: str | None, block: Any) -> None:
    file = {"fileUri": uri, **({"mimeType": media_type} if media_type else {})}
    part = {"fileData": file, "videoMetadata": {"fps": 1}}
    assert read(body(user(part))).messages[0].content == (block(Source("url", uri), media_type),)


def test_a_file_of_the_files_api_is_a_file_id() -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    part = {"file_data": {"file_uri": uri, "mime_type": "audio/mp3"}}
    [block] = read(body(user(part))).messages[0].content
    assert block == AudioBlock(Source("file_id", uri, provider="gemini"), "audio/mp3")


def test_another_providers_file_is_dropped_with_a_report() -> None:
    block = ImageBlock(Source("file_id", "file-1", provider="openai"), "image/png")
    assert said(block)[1][0] == ("dropped", "")


@pytest.mark.requirement("S001-14", "P35")
def test_media_are_written_inline_or_by_address() -> None:
    pdf = DocumentBlock(Source("base64", "JVBERi0="), "application/pdf", "a.pdf")
    inline = {"mimeType": "application/pdf", "data": "JVBERi0=", "displayName": "a.pdf"}
    assert said(pdf) == ({"inlineData": inline}, [])
    url = ImageBlock(Source("url", "https://example.com/a.png"))
    named = {"mimeType": "image/png", "fileUri": "https://example.com/a.png"}
    assert said(url) == ({"fileData": named}, [("approximated", ".media_type")])


def test_a_missing_media_type_is_told_by_the_first_bytes_or_guessed() -> None:
    png, result = said(ImageBlock(Source("base64", PNG)))
    assert (png["inlineData"]["mimeType"], result) == (
        "image/png",
        [("approximated", ".media_type")],
    )
    url, result = said(ImageBlock(Source("url", "https://example.com/a")))
    assert url["fileData"]["mimeType"] == "image/png"
    assert result == [("approximated", ".media_type")]


def test_media_whose_type_says_another_kind_are_reported() -> None:
    assert said(ImageBlock(Source("base64", "AA=="), "audio/wav"))[1] == [("approximated", "")]


def test_a_text_document_is_sent_as_bytes() -> None:
    part, result = said(DocumentBlock(Source("text", "A text."), "text/plain", title="T"))
    assert base64.b64decode(part["inlineData"]["data"]) == b"A text."
    assert result == [("approximated", ".source"), ("dropped", ".title")]
    inside = Source("blocks", content=(TextBlock("a"), TextBlock("b")))
    part, _ = said(DocumentBlock(inside))
    assert base64.b64decode(part["inlineData"]["data"]) == b"a\nb"


def test_fields_without_a_place_are_reported() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png", cache=Cache())
    assert said(image)[1] == [("dropped", ".cache")]
    assert said(RefusalBlock("No.")) == (text("No."), [("downgraded", "")])
    raw = {"openai-chat": {"x": 1, "$form": {"y": 2}}}
    assert said(TextBlock("Hi", raw=raw))[1] == [("dropped", ".raw.openai-chat.x")]


@pytest.mark.parametrize(
    ("level", "detail"),
    [("LOW", "low"), ("MEDIUM", "medium"), ("HIGH", "high"), ("ULTRA_HIGH", "ultra_high")],
)
@pytest.mark.parametrize("named", [str, snake_case])
def test_the_resolution_of_an_image_is_its_detail(
    level: str, detail: str, named: Callable[[str], str]
) -> None:
    word = {"level": f"MEDIA_RESOLUTION_{level}"}
    source = {named("mimeType"): "image/png", "data": PNG}
    part = {named("inlineData"): source, named("mediaResolution"): word}
    expected = ImageBlock(Source("base64", PNG), "image/png", detail=detail)
    assert blocks(part) == (expected,)
    assert said(expected) == (
        {"inlineData": {"mimeType": "image/png", "data": PNG}, "mediaResolution": word},
        [],
    )


def test_a_detail_without_a_word_of_its_own() -> None:
    made, lost = said(ImageBlock(Source("base64", PNG), "image/png", detail="original"))
    assert made["mediaResolution"] == {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"}
    assert lost == [("approximated", ".detail")]
    made, lost = said(ImageBlock(Source("base64", PNG), "image/png", detail="blurred"))
    assert "mediaResolution" not in made
    assert lost == [("dropped", ".detail")]


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "video/mp4", "data": PNG}},
        {"inlineData": {"mimeType": "application/pdf", "data": PNG}},
        text("Hi"),
    ],
)
def test_the_resolution_of_anything_else_stays_raw(part: Any) -> None:
    level = {"level": "MEDIA_RESOLUTION_LOW"}
    (block,) = blocks({**part, "mediaResolution": level})
    assert block.raw is not None
    assert block.raw["gemini"]["mediaResolution"] == level


def test_an_image_in_a_result_has_no_resolution() -> None:
    image = ImageBlock(Source("base64", PNG), "image/png", detail="low")
    result = Message.tool_result("call_1", [image], tool_name="f")
    wire, report = write(
        Message.user("Hi"), Message.assistant([ToolUseBlock("call_1", "f", {})]), result
    )
    (part,) = wire["contents"][2]["parts"]
    assert part["functionResponse"]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": PNG}}
    ]
    assert ("dropped", "$.messages[2].content[0].content[0].detail") in losses(report)


def test_an_image_that_is_dropped_from_a_result_loses_no_detail_beside() -> None:
    """One loss for each image: its detail where it is written, else the image."""
    inline = ImageBlock(Source("base64", PNG), "image/png", detail="high")
    stored = ImageBlock(Source("file_id", "file-1", provider="openai"), detail="high")
    result = Message.tool_result("c1", [inline, stored], tool_name="look")
    report = DIALECT.write_request(Request((result,), "gemini-3-pro")).report
    place = "$.messages[0].content[0].content"
    assert [loss.path for loss in report.losses] == [f"{place}[0].detail", f"{place}[1]"]
