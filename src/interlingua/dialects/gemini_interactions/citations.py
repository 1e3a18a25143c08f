"""What a text cites: annotations, whose places are said in bytes."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import CITATIONS, CITED, NAME
from interlingua.dialects.google import bytes_before, points_of
from interlingua.dialects.kernel.errors import each, want
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Citation, TextBlock

_PLACES = {"start_index": "start", "end_index": "end"}
_TABLES = {
    kind: Table(
        Citation,
        *[plain(key, attr, str) for key, attr in names.items()],
        beside=("type", *_PLACES),
        silent=tuple(_PLACES.values()),
    )
    for kind, names in CITATIONS.items()
}


def _points(text: str, place: int) -> int | None:
    """A place in bytes as one in code points; None in the midst of a character. Behind the end of
    the text one is as good as the other."""
    size = bytes_before(text, len(text))
    if 0 <= place <= size:
        return points_of(text, place)
    return place - size + len(text) if place > 0 else place


def _bytes(text: str, place: int) -> int:
    within = min(place, len(text))
    return place if place < 0 else bytes_before(text, within) + place - within


def read_citations(listed: Any, text: str) -> tuple[Citation, ...]:
    return tuple(each(listed, ".annotations", lambda wire: _read_citation(wire, text)))


def _read_citation(wire: Any, text: str) -> Citation:
    """Of which kind it is, nothing else tells (`$form.type`). Annotations that cite nothing, as
    what a word sounds like, are kept as they are."""
    kind = want(wire, dict).get("type")
    table = _TABLES.get(kind) if type(kind) is str else None
    if table is None:
        return Citation(raw={NAME: wire})
    kept = Kept()
    if kind != CITED:
        kept.form["type"] = kind
    attrs = table.read(wire, kept)
    for key, attr in _PLACES.items():
        place = wire.get(key)
        at = None if place is None else _points(text, want(place, int, f".{key}"))
        if at is not None:
            attrs[attr] = at
        elif key in wire:
            kept.add(key, place)
    return Citation(**attrs, raw=kept.raw(NAME))


def write_citations(block: TextBlock, recorder: LossRecorder) -> list[Wire]:
    cited = [write_citation(citation, block.text, recorder) for citation in block.citations]
    return [wire for wire in cited if wire is not None]


def write_citation(citation: Citation, text: str, recorder: LossRecorder) -> Wire | None:
    mine = mine_of(NAME, citation.raw)
    kind = form_in(mine).get("type") or mine.get("type") or CITED
    table = _TABLES.get(kind)
    if not mine and citation.url is None and citation.title is None:
        recorder.lost(citation, None, "says no page that can be cited here")
        return None
    out: Wire = {"type": kind}
    (table or _TABLES[CITED]).write(citation, out, mine, recorder)
    for key, attr in _PLACES.items():
        place = getattr(citation, attr)
        if place is not None:
            out[key] = _bytes(text, place)
    return out if citation.raw is None else put_back(out, citation, citation.raw, recorder)
