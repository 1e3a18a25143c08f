"""Citations: grounding supports and their chunks, and citation sources."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.model.blocks import Citation, TextBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from tests.dialects.gemini.wires import Wire, answer, losses, read_answer, text, write

WEB: list[Wire] = [
    {"web": {"uri": "https://a.example", "title": "A", "domain": "a.example"}},
    {"web": {"uri": "https://b.example"}},
]
SAID = "Der Föhn ist warm."  # the ö is two bytes


def support(start: int | None, end: int | None, *chunks: int, **more: Any) -> Wire:
    segment: Wire = {"text": "…"}
    if start is not None:
        segment["startIndex"] = start
    if end is not None:
        segment["endIndex"] = end
    return {"segment": segment, "groundingChunkIndices": list(chunks), **more}


def grounded(*supports: Wire, parts: Any = None, chunks: Any = WEB, **more: Any) -> Response:
    """The answer, which goes home unchanged."""
    metadata = {"groundingChunks": chunks, "groundingSupports": list(supports), **more}
    return read_answer(answer(*(parts or [text(SAID)]), groundingMetadata=metadata))


def citations(response: Response, block: int = 0) -> tuple[Citation, ...]:
    found = response.message.content[block]
    assert isinstance(found, TextBlock)
    return found.citations


def rewritten(response: Response, block: int, at: int, **change: Any) -> Response:
    """The response with one citation changed, written and read again."""
    text = response.message.content[block]
    assert isinstance(text, TextBlock)
    cited = list(text.citations)
    cited[at] = cited[at].replace(**change)
    content = list(response.message.content)
    content[block] = text.replace(citations=tuple(cited))
    changed = response.replace(message=response.message.replace(content=tuple(content)))
    written = DIALECT.write_response(changed)
    assert all(".raw." in loss.path for loss in written.report.entries)
    back = DIALECT.read_response(written.wire)
    assert set(citations(back, block)) == set(cited)
    return back


@pytest.mark.requirement("P41")
def test_a_support_is_a_citation_counted_in_code_points() -> None:
    [one] = citations(grounded(support(4, 9, 0, confidenceScores=[0.5])))
    assert one == Citation(None, "https://a.example", "A", start=4, end=8)
    assert SAID[4:8] == "Föhn"


@pytest.mark.requirement("P41")
def test_a_support_of_several_chunks_is_several_citations() -> None:
    one, two = citations(grounded(support(None, 3, 0, 1)))
    assert (one.start, one.end, one.url) == (0, 3, "https://a.example")
    assert (two.start, two.end, two.url, two.title) == (0, 3, "https://b.example", None)


def test_a_support_in_snake_case_is_spelled_so_again() -> None:
    odd = {"segment": {"end_index": 3}, "grounding_chunk_indices": [0, 1]}
    assert len(citations(grounded(odd))) == 2


def test_what_citations_hold_is_nowhere_else() -> None:
    response = grounded(support(None, 3, 0), webSearchQueries=["föhn"])
    stored = response.message.metadata.provider_raw
    assert stored is not None
    assert stored["gemini"]["groundingMetadata"] == {
        "webSearchQueries": ["föhn"],
        "groundingChunks": [{"web": {"domain": "a.example"}}, WEB[1]],
    }


def test_offsets_run_over_all_visible_text_unless_a_part_is_named() -> None:
    parts = [text("Hm.", thought=True), text("Föhn. "), text("Warm.")]
    named = support(None, 4, 1)
    named["segment"]["partIndex"] = 2
    response = grounded(support(7, 12, 0), named, parts=parts)
    one, two = citations(response, 2)
    assert (one.start, one.end, two.start, two.end) == (0, 5, 0, 4)
    assert citations(response, 1) == ()


def test_supports_may_come_in_any_order() -> None:
    parts = [text("Föhn. "), text("Warm.")]
    response = grounded(support(7, 12, 0), support(None, 4, 1), support(7, 9, 1), parts=parts)
    assert [len(citations(response, n)) for n in (0, 1)] == [1, 2]


@pytest.mark.parametrize(
    "odd",
    [
        support(5, 6, 0),  # within the ö
        support(4, 99, 0),
        support(0, 3),
        support(0, 3, 7),
        support(None, None, 0),
        {"segment": {}, "groundingChunkIndices": [0]},
        {"segment": None, "extra": 1},
        {"groundingChunkIndices": [1]},
        {"segment": {"part_index": 0, "start_index": 0, "end_index": 3}},
        {"segment": {"partIndex": 0, "endIndex": 3, "text": None}},
    ],
)
def test_odd_supports_go_home(odd: Wire) -> None:
    assert len(citations(grounded(odd, support(4, 9, 0)))) == 2


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"groundingSupports": []},
        {"groundingSupports": [5]},
        {"groundingSupports": [support(0, 3, 0)], "groundingChunks": 5},
        {"groundingSupports": [{"groundingChunkIndices": ["x"]}]},
        {"webSearchQueries": ["x"]},
    ],
)
def test_metadata_of_another_shape_stay_as_they_are(metadata: Wire) -> None:
    assert citations(read_answer(answer(text(SAID), groundingMetadata=metadata))) == ()
    read_answer(answer({"inlineData": {"data": ""}}, groundingMetadata=metadata))


def test_an_edited_citation_moves_to_a_chunk_of_its_own() -> None:
    response = grounded(support(None, 3, 0, 1), support(4, 9, 0))
    rewritten(response, 0, 0, url="https://c.example")
    rewritten(response, 0, 1, start=4, end=8)
    rewritten(response, 0, 2, title="C")


@pytest.mark.parametrize("chunks", [[], WEB])
def test_neighbours_of_an_edited_citation_name_no_other_chunk(chunks: list[Wire]) -> None:
    """Also those that name chunks which are not there."""
    missing = len(chunks)
    supports = [support(0, 3, missing), support(4, 9, missing + 1), support(10, 13, missing)]
    response = grounded(*supports, chunks=chunks)
    assert [each.url for each in citations(response)] == [None] * 3
    back = rewritten(response, 0, 1, url="https://c.example")
    assert [each.url for each in citations(back)] == [None, "https://c.example", None]


def test_an_edited_text_takes_its_offsets_along() -> None:
    response = grounded(support(4, 9, 0))
    block = response.message.content[0]
    assert isinstance(block, TextBlock)
    content = (block.replace(text=SAID.replace("Der", "Dër")),)
    changed = response.replace(message=response.message.replace(content=content))
    wire = DIALECT.write_response(changed).wire
    segment = wire["candidates"][0]["groundingMetadata"]["groundingSupports"][0]["segment"]
    assert (segment["startIndex"], segment["endIndex"]) == (5, 10)


@pytest.mark.parametrize("key", ["citations", "citationSources"])
def test_citation_sources_are_citations_too(key: str) -> None:
    source = {"startIndex": 4, "endIndex": 9, "uri": "https://a.example", "license": "MIT"}
    far = {"endIndex": 366, "uri": "https://b.example"}
    metadata = {key: [source, far, {"startIndex": 0, "endIndex": 3}]}
    response = read_answer(answer(text(SAID), citationMetadata=metadata))
    one, two, three = citations(response)
    assert one == Citation(None, "https://a.example", start=4, end=8)
    assert (two.start, two.end) == (None, None)
    assert (three.start, three.end) == (0, 3)
    rewritten(response, 0, 0, title="A")
    rewritten(response, 0, 1, title="x")


@pytest.mark.requirement("P41")
def test_citations_from_elsewhere_are_supports_and_share_their_chunks() -> None:
    cited = (
        Citation("a", "https://a.example", "A", start=4, end=8),
        Citation("b", "https://a.example", "A"),
        Citation("c", file_id="f1", document_index=2, start=0, end=99),
    )
    written = DIALECT.write_response(
        Response(Message.assistant([TextBlock("x"), TextBlock(SAID, citations=cited)]))
    )
    metadata = written.wire["candidates"][0]["groundingMetadata"]
    assert metadata["groundingChunks"] == [{"web": {"uri": "https://a.example", "title": "A"}}]
    first, second, third = metadata["groundingSupports"]
    assert first["segment"] == {"startIndex": 4, "endIndex": 9, "partIndex": 1, "text": "Föhn"}
    assert first["groundingChunkIndices"] == second["groundingChunkIndices"] == [0]
    assert "groundingChunkIndices" not in third
    head = "$.message.content[1].citations[2]"
    quoted = [("dropped", f"$.message.content[1].citations[{n}].cited_text") for n in range(3)]
    assert sorted(losses(written.report)) == sorted(
        quoted + [("dropped", f"{head}.{name}") for name in ("document_index", "end", "file_id")]
    )
    back = citations(DIALECT.read_response(written.wire), 1)
    assert back[:2] == tuple(each.replace(cited_text=None) for each in cited[:2])


QUOTES: dict[str, Callable[[Wire], Any]] = {
    "anthropic": lambda wire: wire["content"][0]["citations"][0].get("cited_text"),
    "bedrock": lambda wire: wire["output"]["message"]["content"][0]["citationsContent"][
        "citations"
    ],
    "cohere": lambda wire: wire["message"]["citations"][0]["sources"],
}


@pytest.mark.parametrize("target", QUOTES)
def test_the_passage_of_an_answer_is_no_quotation_from_its_source(target: str) -> None:
    segment = {"startIndex": 4, "endIndex": 9, "text": "Föhn"}
    supports = [{"segment": segment, "groundingChunkIndices": [0]}]
    metadata = {"groundingChunks": WEB, "groundingSupports": supports}
    wire = answer(text(SAID), groundingMetadata=metadata)
    done = il.convert(wire, "gemini", target, "response")
    assert "Föhn" not in json.dumps(QUOTES[target](done.wire), ensure_ascii=False)
    assert not [loss for loss in done.report.entries if "segment" in loss.path]


def test_a_quotation_from_a_source_is_no_passage_of_the_answer() -> None:
    cited = {"type": "char_location", "cited_text": "the sky appears blue", "document_index": 0}
    cited |= {"document_title": "Sky", "start_char_index": 0, "end_char_index": 20}
    content = [
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "blue", "citations": [cited]},
    ]
    wire = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": content,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    done = il.convert(wire, "anthropic", "gemini", "response")
    [support] = done.wire["candidates"][0]["groundingMetadata"]["groundingSupports"]
    assert support["segment"] == {"text": "blue", "partIndex": 1}
    assert [loss for loss in done.report.entries if loss.path.endswith("cited_text")]


def test_the_text_of_a_segment_follows_the_answer() -> None:
    [one] = citations(grounded(support(4, 9, 0)))
    assert "segment" in one.raw["gemini"]  # type: ignore[index]  # "…" is not the passage
    wire = answer(text(SAID), groundingMetadata={"groundingSupports": [], "groundingChunks": WEB})
    segment = {"startIndex": 4, "endIndex": 9, "text": "Föhn"}
    wire["candidates"][0]["groundingMetadata"]["groundingSupports"] = [
        {"segment": segment, "groundingChunkIndices": [0]}
    ]
    response = read_answer(wire)
    block = response.message.content[0]
    assert isinstance(block, TextBlock)
    edited = block.replace(text=SAID.replace("Föhn", "Wind"))
    message = response.message.replace(content=(edited,))
    written = DIALECT.write_response(response.replace(message=message)).wire
    [support_] = written["candidates"][0]["groundingMetadata"]["groundingSupports"]
    assert support_["segment"]["text"] == "Wind"


def test_citations_in_a_history_are_reported() -> None:
    block = TextBlock("Hi", citations=(Citation(url="https://a.example"),))
    result = losses(write(Message.assistant([block]))[1])
    assert result == [("dropped", "$.messages[0].content[0].citations")]
