"""`annotations` of a message as citations on its text.

Offsets count code points of the whole text (seen in traffic: they are no byte offsets); a range of
0 to 0 is how services say that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import (
    Note,
    form_in,
    keep_whole,
    maybe,
    mine_of,
    put_back,
    want,
    whole,
)
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import each
from interlingua.model.blocks import Block, Citation, TextBlock

_USUAL = "url_citation"
_RANGE = ("start_index", "end_index")


def read_annotations(annotations: Any, blocks: list[Block], t: Tables) -> bool:
    """Put annotations on the text blocks they are about; False where there is no such text."""
    found = each(annotations, ".annotations", lambda item: _read(item, t))
    places = [index for index, block in enumerate(blocks) if type(block) is TextBlock]
    if not places:
        return False
    on: dict[int, list[Citation]] = {}
    last = 0
    for citation in found:
        place, start = _text_at(citation.start, blocks, places)
        if place < last:
            return False  # they would be written in another order
        last = place
        on.setdefault(place, []).append(_moved(citation, start))
    for place, citations in on.items():
        blocks[place] = blocks[place].replace(citations=tuple(citations))
    return True


def _moved(citation: Citation, start: int) -> Citation:
    """The citation with a range that counts from `start`."""
    if not start or citation.start is None or citation.end is None:
        return citation
    if citation.start == start == citation.end:
        return citation.replace(start=None, end=None)
    return citation.replace(start=citation.start - start, end=citation.end - start)


def _text_at(offset: int | None, blocks: list[Block], places: list[int]) -> tuple[int, int]:
    """The text block in which an offset lies, and where that block begins."""
    start = 0
    for place in places[:-1]:
        size = len(blocks[place].text)  # type: ignore[union-attr, arg-type]  # places are those of text
        if offset is None or offset < start + size:
            return place, start
        start += size
    return places[-1], start


def _read(item: Any, t: Tables) -> Citation:
    want(item, dict, "")
    note, kind = Note(), item.get("type")
    inner = item.get(kind) if type(kind) is str else None
    if type(inner) is not dict:
        return Citation(raw=keep_whole(t.name, item, {"whole": True}))
    taken: set[str] = set()
    start, end = _read_range(inner, kind, note, taken)
    fields: dict[str, Any] = {}
    for key, field in _FIELDS.items():
        value = inner.get(key)
        fields[field] = value if type(value) is str else None
        if type(value) is str:
            taken.add(key)
    if not fields["title"]:
        note.form["title"] = inner.get("title", False)
        fields["title"] = None
        taken.add("title")
    if kind != _USUAL or fields["url"] is None:
        note.form["type"] = kind
    if fields["cited_text"] is not None and not t.cited_content:
        note.form["content"] = True
    note.leave_inner(item, kind, taken & inner.keys())
    note.leave(item, ("type", kind), ())
    if note.form == {"title": ""}:
        note.form = {}
    return Citation(start=start, end=end, raw=note.raw(t.name), **fields)


_FIELDS = {"url": "url", "title": "title", "content": "cited_text", "document_id": "file_id"}


def _read_range(
    inner: Wire, kind: str, note: Note, taken: set[str]
) -> tuple[int | None, int | None]:
    start, end = (maybe(inner, key, int, f".{kind}") for key in _RANGE)
    if start is None or end is None:
        note.form["no_range"] = True
        return None, None
    taken.update(_RANGE)
    return (None, None) if start == 0 == end else (start, end)


def write_annotations(texts: Sequence[TextBlock], t: Tables, scribe: Scribe) -> list[Wire]:
    """The citations of a message's text blocks, which follow each other as one text."""
    items: list[Wire] = []
    offset = 0
    for block in texts:
        for citation in block.citations:
            items.extend(_write(citation, offset, t, scribe))
        offset += len(block.text)
    return items


def _write(citation: Citation, offset: int, t: Tables, scribe: Scribe) -> list[Wire]:
    mine = mine_of(t.name, citation.raw)
    form = form_in(mine)
    if form.get("whole"):
        scribe.unsaid(citation, frozenset())
        return [whole(mine)]
    kind = form.get("type") or (_USUAL if citation.url is not None else None)
    if kind is None:
        scribe.lost(citation)
        return []
    inner = _write_range(citation, offset, scribe, form)
    said = _SAID
    if citation.title is not None:
        inner["title"] = citation.title
    elif form.get("title", "") is not False:
        inner["title"] = form.get("title", "")
    if citation.url is not None:
        inner["url"] = citation.url
    if citation.cited_text is not None and (t.cited_content or form.get("content")):
        inner["content"] = citation.cited_text
        said = said | {"cited_text"}
    if citation.file_id is not None and kind != _USUAL:
        inner["document_id"] = citation.file_id
        said = said | {"file_id"}
    scribe.unsaid(citation, said)
    return [put_back({"type": kind, kind: inner}, mine)]


def _write_range(citation: Citation, offset: int, scribe: Scribe, form: Wire) -> Wire:
    start, end = citation.start, citation.end
    if start is None and end is None:
        return {} if form.get("no_range") else {"start_index": offset, "end_index": offset}
    if start == 0 == end:
        scribe.lost(citation, "start", "0 to 0 says that there is no range", "approximated", "info")
        scribe.lost(citation, "end", "0 to 0 says that there is no range", "approximated", "info")
    first = start if start is not None else end or 0
    last = end if end is not None else first
    return {"start_index": first + offset, "end_index": last + offset}


_SAID = frozenset({"url", "title", "start", "end"})
