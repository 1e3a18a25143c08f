"""Parts: text and its citations, images, files, refusals, and cache breakpoints."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.blocks import (
    Cache,
    Citation,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    UnknownBlock,
)
from interlingua.model.message import Message
from tests.dialects.openai_responses.wires import (
    answer,
    body,
    read,
    read_whole,
    said,
    text,
    user,
    whole,
    write,
    write_whole,
)

PNG = "data:image/png;base64,AAAA"

PDF = "data:application/pdf;base64,AAAA"


def block(part: Any) -> Any:
    """The block that a part of a user's message is read as."""
    return read(body(user([part]))).messages[0].content[0]


@pytest.mark.parametrize(
    ("part", "source", "media_type"),
    [
        ({"image_url": PNG, "detail": "auto"}, Source("base64", "AAAA"), "image/png"),
        ({"image_url": "https://a/b.png"}, Source("url", "https://a/b.png"), None),
        ({"image_url": "data:,x"}, Source("url", "data:,x"), None),
        (
            {"file_id": "file_1", "image_url": None, "detail": "high"},
            Source("file_id", "file_1", provider="openai"),
            None,
        ),
    ],
)
def test_an_image_is_its_data_a_url_or_a_file(part: Any, source: Source, media_type: Any) -> None:
    image = block({"type": "input_image", **part})
    assert isinstance(image, ImageBlock)
    assert (image.source, image.media_type) == (source, media_type)


@pytest.mark.requirement("S001-14")
def test_an_inline_image_is_a_data_url_with_its_detail() -> None:
    wire, losses = write(Message.user([ImageBlock(Source("base64", "AAAA"), "image/png")]))
    part = {"type": "input_image", "image_url": PNG, "detail": "auto"}
    assert wire["input"] == [user([part])]
    assert losses == []


@pytest.mark.requirement("P35")
@pytest.mark.parametrize(
    ("part", "source"),
    [
        ({"file_data": PDF, "filename": "a.pdf"}, Source("base64", "AAAA")),
        ({"file_data": PDF}, Source("base64", "AAAA")),
        ({"file_data": "AAAA", "filename": "a.pdf"}, Source("base64", "AAAA")),
        ({"file_url": "https://a/b.pdf"}, Source("url", "https://a/b.pdf")),
        ({"file_id": "file_1"}, Source("file_id", "file_1", provider="openai")),
    ],
)
def test_a_file_is_a_document(part: Any, source: Source) -> None:
    document = block({"type": "input_file", **part})
    assert isinstance(document, DocumentBlock)
    assert document.source == source


@pytest.mark.requirement("P35")
def test_an_inline_document_has_the_name_that_the_wire_demands() -> None:
    wire, losses = write(Message.user([DocumentBlock(Source("base64", "AAAA"), "application/pdf")]))
    part = {"type": "input_file", "file_data": PDF, "filename": "document.pdf"}
    assert wire["input"] == [user([part])]
    assert losses == [("approximated", "$.messages[0].content[0].name")]


def test_a_document_of_text_is_a_text_file() -> None:
    documents = [
        DocumentBlock(Source("text", "a\nb"), "text/plain"),
        DocumentBlock(Source("blocks", content=(TextBlock("a"), TextBlock("b")))),
    ]
    wire, losses = write(Message.user(documents))
    data = {part["file_data"] for part in wire["input"][0]["content"]}
    assert data == {"data:text/plain;base64,YQpi"}
    assert losses == [
        ("approximated", f"$.messages[0].content[{n}].{field}")
        for n in (0, 1)
        for field in ("source", "name")
    ]


@pytest.mark.parametrize(
    "source",
    [
        Source("file_ref", "a.png"),
        Source("file_id", "f", provider="anthropic"),
        Source("file_id", "f", provider="cohere"),
        Source("blocks", content=(ImageBlock(Source("url", "u")),)),
    ],
)
def test_what_the_provider_cannot_reach_is_dropped_and_reported(source: Source) -> None:
    wire, losses = write(Message.user(["Look:", DocumentBlock(source)]))
    assert wire["input"] == [user([text("Look:")])]
    assert losses == [("dropped", "$.messages[0].content[1]")]


def test_what_an_image_says_beyond_the_wire_is_reported() -> None:
    image = ImageBlock(Source("url", "u"), "image/png", "cat", "medium")
    _, losses = write(Message.user([image]))
    paths = {path.rpartition(".")[2] for _, path in losses}
    assert paths == {"media_type", "name", "detail"}


@pytest.mark.requirement("P38")
def test_a_breakpoint_is_a_cache_mark() -> None:
    mark = {"mode": "explicit", "ttl": "12h"}
    assert block({**text("a"), "prompt_cache_breakpoint": mark}).cache == Cache("12h")
    image = {
        "type": "input_image",
        "image_url": "u",
        "prompt_cache_breakpoint": {"mode": "explicit"},
    }
    assert block(image).cache == Cache()


@pytest.mark.requirement("P38")
def test_a_lifetime_that_is_not_offered_is_reported() -> None:
    wire, losses = write(Message.user([TextBlock("a", cache=Cache("5m"))]))
    part = {**text("a"), "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert wire["input"] == [user([part])]
    assert losses == [("approximated", "$.messages[0].content[0].cache")]


@pytest.mark.parametrize("mark", [None, {}, {"mode": "new"}, {"mode": "explicit", "ttl": "9d"}])
def test_a_breakpoint_of_another_kind_goes_home(mark: Any) -> None:
    assert block({**text("a"), "prompt_cache_breakpoint": mark}).cache is None


NOTES = [
    {"type": "url_citation", "url": "u", "title": "T", "start_index": 0, "end_index": 2},
    {"type": "file_citation", "file_id": "f", "filename": "a.txt", "index": 2},
    {
        "type": "container_file_citation",
        "container_id": "cntr_1",
        "file_id": "f",
        "filename": "a.txt",
        "start_index": 1,
        "end_index": 2,
    },
    {"type": "file_path", "file_id": "f", "index": 0},
    {"type": "url_citation", "url": "u"},
    {"type": "of the future", "url": "u"},
]


@pytest.mark.requirement("P41")
@pytest.mark.parametrize("note", NOTES, ids=lambda note: note["type"])
def test_an_annotation_is_a_citation(note: Any) -> None:
    message = read_whole(whole(answer(said("ab", annotations=[note])))).message
    cited = message.content[0]
    assert isinstance(cited, TextBlock)
    assert len(cited.citations) == 1
    read(body(answer(said("ab", annotations=[note, note]))))


@pytest.mark.requirement("P41")
def test_citations_from_elsewhere_are_annotations_of_a_response() -> None:
    citations = (
        Citation(url="u", title="T", start=0, end=2),
        Citation(file_id="f", title="a.txt", start=1, end=2),
        Citation(cited_text="ab", document_index=0),
    )
    wire, losses = write_whole(Message.assistant([TextBlock("ab", citations=citations)]))
    assert wire["output"][0]["content"][0]["annotations"] == [NOTES[0], {**NOTES[1], "index": 1}]
    assert losses == [
        ("dropped", "$.message.content[0].citations[1].end"),
        ("dropped", "$.message.content[0].citations[2]"),
    ]


def test_a_plain_message_cannot_cite() -> None:
    citation = Citation(url="u")
    _, losses = write(Message.assistant([TextBlock("ab", "sig", (citation,))]))
    assert losses == [
        ("dropped", "$.messages[0].content[0].signature"),
        ("dropped", "$.messages[0].content[0].citations"),
    ]


def test_a_refusal_goes_home_and_is_text_when_it_comes_from_elsewhere() -> None:
    part = {"type": "refusal", "refusal": "No"}
    assert read(body(answer(part))).messages[0].content == (RefusalBlock("No"),)
    wire, losses = write(Message.assistant([RefusalBlock("No")]))
    assert wire["input"] == [{"role": "assistant", "content": "No"}]
    assert losses == [("downgraded", "$.messages[0].content[0]")]
    wire, losses = write_whole(Message.assistant([RefusalBlock("No")]))
    assert wire["output"][0]["content"] == [part]


@pytest.mark.parametrize("made", [True, False])
def test_a_part_of_the_future_is_unknown_and_goes_home(made: bool) -> None:
    part = {"type": "smell", "of": "rain"}
    wire = body(answer(said("a"), part), answer(part)) if made else body(user([text("a"), part]))
    assert any(isinstance(each, UnknownBlock) for each in read(wire).messages[0].content)


def test_parts_in_odd_places_go_home() -> None:
    image = {"type": "input_image", "image_url": PNG, "detail": "auto"}
    read(body(user([said("a")]), answer(text("a"), image)))
    read(body(user([{"type": "input_image"}, {"type": "input_file"}])))


def test_unknown_parts_of_others_are_dropped_and_reported() -> None:
    _, losses = write(Message.user(["a", UnknownBlock({"gemini": {"x": 1}})]))
    assert losses == [("dropped", "$.messages[0].content[1]")]


def test_what_others_put_beside_a_block_is_reported() -> None:
    _, losses = write(Message.user([TextBlock("a", raw={"gemini": {"x": 1, "$form": {"y": 1}}})]))
    assert losses == [("dropped", "$.messages[0].content[0].raw.gemini.x")]


def test_logprobs_go_home() -> None:
    probability = {"token": "a", "bytes": [97], "logprob": -0.1, "top_logprobs": []}
    response = read_whole(whole(answer(said("a", logprobs=[probability]))))
    assert response.message.content == (TextBlock("a"),)


def test_a_data_url_in_a_file_url_is_data_and_goes_home() -> None:
    url = "data:application/pdf;base64,JVBERi0xLjQK"
    part = {"type": "input_file", "filename": "r.pdf", "file_url": url}
    for each in (part, {key: part[key] for key in ("type", "file_url")}):
        wire = {"model": "m", "input": [{"role": "user", "content": [each]}]}
        request = il.dialect("openai-responses").read_request(wire)
        (block,) = request.messages[0].content
        assert block.source == il.Source("base64", "JVBERi0xLjQK")
        assert block.media_type == "application/pdf"
        assert il.dialect("openai-responses").write_request(request).wire == wire
        for target in ("anthropic", "bedrock", "gemini", "openai-chat"):
            assert "JVBERi0xLjQK" in str(il.convert(wire, "openai-responses", target).wire)
