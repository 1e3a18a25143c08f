"""Texts with their annotations, and media."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from tests.dialects.gemini_interactions.wires import answer, output, read_answer, text


def test_places_of_citations_are_bytes() -> None:
    note = {"type": "url_citation", "url": "https://x", "title": "X", "start_index": 0}
    place = {"type": "place_citation", "name": "Café", "place_id": "p", "url": "https://y"}
    file = {"type": "file_citation", "document_uri": "d", "file_name": "f", "page_number": 2}
    notes = [
        {**note, "end_index": 7},
        {**note, "start_index": 1, "end_index": 2},
        {**note, "end_index": 99},
        place,
        file,
        {"type": "word_info", "text": "Grüße"},
    ]
    response = read_answer(answer(output(text("Grüße!", annotations=notes))))
    block = response.message.content[0]
    assert isinstance(block, il.TextBlock)
    first = block.citations[0]
    assert (first.url, first.title, first.start, first.end) == ("https://x", "X", 0, 5)
    assert (block.citations[3].title, block.citations[4].url) == ("Café", "d")
    edited = block.replace(citations=(first.replace(end=4),))
    message = response.message.replace(content=(edited,))
    wire = DIALECT.write_response(response.replace(message=message)).wire
    assert wire["steps"][0]["content"][0]["annotations"][0]["end_index"] == 6
