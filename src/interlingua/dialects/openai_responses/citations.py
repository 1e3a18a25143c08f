"""Annotations of output text, and citations."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_responses.spelling import (
    form,
    is_kept,
    own,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import CITATIONS
from interlingua.model.blocks import Citation

_FIELDS = ("cited_text", "url", "title", "file_id", "document_index", "start", "end")
_FILLERS: dict[type, Any] = {str: "", int: 0}


def read_citation(note: Wire) -> Citation:
    """An annotation of a type that is not known is kept whole."""
    kind = note.get("type")
    keys = CITATIONS.get(kind) if type(kind) is str else None
    if keys is None:
        return Citation(raw=raw_of(note, None))
    fields: dict[str, Any] = {}
    known = ["type"]
    spelling: Wire = {}
    for key, (field, json_type) in keys.items():
        if type(note.get(key)) is json_type:
            fields[field] = note[key]
            known.append(key)
        elif key not in note:
            spelling.setdefault("absent", []).append(key)
    rest, spelled = spare(note, known)
    citation = Citation(**fields)
    if spelled:
        spelling["spelled"] = spelled
    if kind != _default_type(citation):
        spelling["type"] = kind
    return citation.replace(raw=raw_of(rest, spelling)) if rest or spelling else citation


def write_citation(citation: Citation, scribe: Scribe) -> Wire | None:
    """None where there is nothing that an annotation could point at."""
    spelling = form(citation.raw)
    kind = spelling.get("type") or _default_type(citation)
    keys = CITATIONS.get(kind or "", {})
    if kind is None and not own(citation.raw):
        scribe.lost(citation)
        return None
    note: Wire = {"type": kind} if kind else {}
    for key, (field, json_type) in keys.items():
        value = getattr(citation, field)
        if value is not None:
            note[key] = value
        elif not is_kept(citation.raw, key):
            note[key] = _FILLERS[json_type]
    said = {field for field, _ in keys.values()}
    for name in _FIELDS:
        if name not in said and getattr(citation, name) is not None:
            scribe.lost(citation, name)
    if citation.raw is not None:
        put_back(note, citation.raw)
        scribe.unsaid_raw(citation, citation.raw)
    return note


def _default_type(citation: Citation) -> str | None:
    if citation.url is not None:
        return "url_citation"
    return "file_citation" if citation.file_id is not None else None
