"""Text, what it cites, and refusals; before that what all parts have: where they stand, how lists
of them are read and written, and cache breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.claude import time_to_live
from interlingua.dialects.kernel.errors import ShapeError, each, take, want
from interlingua.dialects.kernel.fields import Attrs, Field, Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, Citation, RefusalBlock, TextBlock, UnknownBlock

# -- places and parts -----------------------------------------------------------------------------


class Place(NamedTuple):
    """Where parts stand. `holds` is None where everything is as the service made it."""

    name: str
    holds: frozenset[str] | None
    is_models: bool = False
    """Whether it is the model that speaks there."""


SYSTEM, USER, RESULT, HOSTED, SOURCE = (
    Place(name, tables.HOLDS[name]) for name in ("system", "user", "result", "hosted", "source")
)
ASSISTANT = Place("assistant", tables.HOLDS["assistant"], is_models=True)
ANSWER = Place("answer", None, is_models=True)

READERS: dict[str, Callable[[Wire, Place], Block]] = {}
"""By the wire's type, filled by `messages.py`; what is not in it is unknown, or a hosted tool's
result (`*_tool_result`)."""
WRITERS: dict[type[Block], Callable[[Any, Place, LossRecorder], Wire | None]] = {}
"""By the block's class; None for a block that was left out."""


def read_parts(parts: list[Any], place: Place) -> tuple[Block, ...]:
    blocks: list[Block] = []
    holds = place.holds
    try:
        for part in parts:
            kind = part.get("type") if type(part) is dict else None
            read = READERS.get(kind) if type(kind) is str else None
            if read is not None and (holds is None or kind in holds):
                blocks.append(read(part, place))
            else:
                blocks.append(read_part(part, place))
    except ShapeError as error:
        raise error.inside(f"[{len(blocks)}]") from None
    return tuple(blocks)


def read_part(part: Any, place: Place) -> Block:
    kind = want(part, dict).get("type")
    if type(kind) is not str:
        return UnknownBlock({NAME: part})
    inside = place is RESULT or place is HOSTED
    read = READERS.get(kind)
    if read is None:
        answers = kind.endswith("_tool_result") and type(part.get("tool_use_id")) is str
        read = READERS["*_tool_result"] if answers and not inside else None
        return UnknownBlock({NAME: part}) if read is None else read(part, place)
    if place.holds is None or kind in place.holds:
        return read(part, place)
    if inside:
        return UnknownBlock({NAME: part})  # a result holds only some kinds of block
    return _oddly(read(part, place))


def _oddly(block: Block) -> Block:
    """The block, marked as standing where the writer would not put it."""
    mine = mine_of(NAME, block.raw)
    form = {**form_of(NAME, block.raw), "odd": True}
    return block.replace(raw={NAME: {**mine, "$form": form}})


def is_odd(raw: Raw | None) -> bool:
    """Whether the wire had this in spite of what its documentation says: reading it again, nothing
    would tell that it may be written."""
    return raw is not None and form_of(NAME, raw).get("odd") is True


def is_silent(raw: Raw | None) -> bool:
    """Whether a `raw` has nothing to be written here, or to be reported: the spelling of others."""
    if raw is not None:
        for name, rest in raw.items():
            if name == NAME or type(rest) is not dict or len(rest) != 1 or "$form" not in rest:
                return False
    return True


def write_parts(blocks: Iterable[Block], place: Place, recorder: LossRecorder) -> list[Wire]:
    parts = []
    for block in blocks:
        part = WRITERS[type(block)](block, place, recorder)
        if part is not None:
            parts.append(part)
    return parts


def read_content(content: Any, place: Place, form: Wire) -> tuple[Block, ...]:
    """Parts, or a string in place of them, which no block can tell (`$form.content`)."""
    if type(content) is str:
        form["content"] = "string"
        return (TextBlock(content),) if content else ()
    if type(content) is not list:
        raise ShapeError("", "a string or a list", content)
    return read_parts(content, place)


def write_content(
    blocks: Iterable[Block], place: Place, form: Wire, recorder: LossRecorder
) -> list[Wire] | str:
    parts = write_parts(blocks, place, recorder)
    if form.get("content") != "string":
        return parts
    text = string_of(parts) if parts else ""
    return parts if text is None else text


def string_of(parts: list[Wire]) -> str | None:
    """The text that parts come to where a string can say them."""
    if len(parts) == 1 and len(parts[0]) == 2 and parts[0].get("type") == "text":
        text = parts[0].get("text")
        return text if type(text) is str else None
    return None


def read_unknown(part: Wire, place: Place) -> UnknownBlock:
    return UnknownBlock({NAME: part})


def write_unknown(block: UnknownBlock, place: Place, recorder: LossRecorder) -> Any:
    return words.write_unknown(block, recorder)


def reader(cls: Callable[..., Block], table: Table) -> Callable[[Wire, Place], Block]:
    """Reads a part of which its table says all."""
    return lambda part, _: table.read_value(cls, part, NAME)


# -- cache breakpoints ----------------------------------------------------------------------------


def _read_cache(given: Any) -> Attrs:
    ttl = want(given, dict).get("ttl")
    return {"cache": model.Cache(ttl if type(ttl) is str else None)}


def _write_cache(value: Any, recorder: LossRecorder) -> Wire:
    ttl = time_to_live(value, recorder)
    return {"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl}


CACHE = Field("cache_control", ("cache",), _read_cache, _write_cache)
"""The breakpoint of a block, a tool or a request."""


# -- text -----------------------------------------------------------------------------------------

TEXT = Table(
    TextBlock,
    plain("text", "text", str),
    CACHE,
    lost("signature", "signs no text here"),
    beside=("type", "citations"),
    silent=("citations",),
)
TOOL_REFERENCE = Table(TextBlock, plain("tool_name", "text", str), CACHE)
"""The name of a tool that a search found. Its type is kept, since it is read as text."""
REFUSAL = Table(RefusalBlock, plain("text", "text", str), CACHE)


def read_text(part: Wire, place: Place) -> TextBlock:
    text = part.get("text")
    if len(part) == 2 and type(text) is str and (text or place is ANSWER):
        return TextBlock(text)
    return _read_text(part, place)


def _read_text(part: Wire, place: Place) -> TextBlock:
    kept = Kept()
    cited = kept.take(part, "citations", list) if "citations" in part else None
    if place is not ANSWER and (not part.get("text") or (cited and place is not ASSISTANT)):
        kept.form["odd"] = True
    citations = () if cited is None else read_citations(cited)
    return TEXT.read_value(TextBlock, part, NAME, kept, citations=citations)


def write_text(block: TextBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    bare = block.raw is None and block.cache is None and not block.citations
    if bare and block.signature is None and block.phase is None and (block.text or place is ANSWER):
        return {"type": "text", "text": block.text}
    return _write_text(block, place, recorder)


def _write_text(block: TextBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    kind = mine_of(NAME, block.raw).get("type")
    if type(kind) is str and kind in tables.MARKERS and not block.text:
        return put_back({}, block, block.raw, recorder)  # as earlier versions stored it
    if kind == "tool_reference" and not block.citations:
        return TOOL_REFERENCE.write_value(block, recorder, {"type": kind})
    if not block.text and place is not ANSWER and not is_odd(block.raw):
        # It is answered with a 400, even one that the service itself had sent.
        recorder.dropped(block, "empty", "info")
        return None
    out = TEXT.write_value(block, recorder, {"type": "text"})
    if block.citations and (cited := _write_citations(block, place, recorder)):
        out["citations"] = cited
    return out


def write_refusal(block: RefusalBlock, place: Place, recorder: LossRecorder) -> Wire | None:
    if not block.text and place is not ANSWER:
        recorder.dropped(block, "empty", "info")
        return None
    recorder.lost(block, None, "said as text", kind="downgraded")
    return REFUSAL.write_value(block, recorder, {"type": "text"})


# -- citations ------------------------------------------------------------------------------------


def _citation(names: dict[str, str]) -> Table:
    """The type is kept, since it says what the places in it are counted in."""
    keys = {"cited_text": "cited_text", **names}
    kinds = {"document_index": int}
    return Table(Citation, *[plain(k, name, kinds.get(k, str)) for k, name in keys.items()])


_CITATIONS = {kind: _citation(names) for kind, names in tables.CITATIONS.items()}
_ANY_CITATION = _citation({"url": "url", "title": "title", "file_id": "file_id"})
_PAGE = frozenset({"cited_text", "url", "title"})


def read_citations(cited: Any) -> tuple[Citation, ...]:
    return tuple(each(cited, ".citations", _read_citation))


def _read_citation(wire: Any) -> Citation:
    kind = take(want(wire, dict), "type", str)
    return _CITATIONS.get(kind, _ANY_CITATION).read_value(Citation, wire, NAME)


def _write_citations(block: TextBlock, place: Place, recorder: LossRecorder) -> list[Wire]:
    if not place.is_models and not is_odd(block.raw):
        # Version 2026-10-21 refuses them in a user's text (its documentation, read 2026-11-15).
        for citation in block.citations:
            recorder.lost(citation, None, "only a model's text may cite")
        return []
    cited = [write_citation(each, recorder, place is ANSWER) for each in block.citations]
    return [wire for wire in cited if wire is not None]


def write_citation(citation: Citation, recorder: LossRecorder, answering: bool) -> Wire | None:
    """None for those of others: places in documents, and opaque indexes, cannot be made up. In an
    answer nobody checks the index: a client is shown the page."""
    kind = mine_of(NAME, citation.raw).get("type")
    if type(kind) is str:
        table = _CITATIONS.get(kind, _ANY_CITATION)
        return table.write_value(citation, recorder, {"type": kind})
    if answering and citation.url is not None:
        return _write_page(citation, recorder)
    recorder.lost(citation, None, "says no place that can be cited here")
    return None


def _write_page(citation: Citation, recorder: LossRecorder) -> Wire:
    """A page on the web that another service has cited."""
    reason = "said without the index that the service makes"
    recorder.lost(citation, None, reason, kind="approximated", severity="info")
    recorder.unwritten(citation, _PAGE)
    return {
        "type": "web_search_result_location",
        "cited_text": citation.cited_text or "",
        "url": citation.url,
        "title": citation.title,
        "encrypted_index": "",
    }
