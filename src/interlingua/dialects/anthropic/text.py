"""Text with its citations, thinking, refusals and compactions; and shared code of all parts:
scopes, lists of parts, cache breakpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.kernel import words
from interlingua.dialects.kernel.claude import time_to_live
from interlingua.dialects.kernel.errors import ShapeError, read_each, require, require_key
from interlingua.dialects.kernel.fields import Attrs, Field, Table, lost, plain
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore_raw, spelling_of
from interlingua.dialects.kernel.recorder import BlockWriters, LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    UnknownBlock,
)
from interlingua.model.reasons import because

# -- places and parts -----------------------------------------------------------------------------


class Scope(NamedTuple):
    """The position of parts. `holds` is None if every kind of block is allowed."""

    name: str
    holds: frozenset[str] | None
    is_models: bool = False
    """Whether the parts belong to an assistant turn."""


SYSTEM, USER, RESULT, HOSTED, SOURCE = (
    Scope(name, tables.HOLDS[name]) for name in ("system", "user", "result", "hosted", "source")
)
ASSISTANT = Scope("assistant", tables.HOLDS["assistant"], is_models=True)
ANSWER = Scope("answer", None, is_models=True)

READERS: dict[str, Callable[[Wire, Scope], Block]] = {}
"""By the wire's type, filled by `messages.py`; other types are unknown parts, or results of
hosted tools (`*_tool_result`)."""
Writer = Callable[[Any, Scope, LossRecorder], Wire | None]
WRITERS: BlockWriters[Writer] = BlockWriters({}, lambda block, _, recorder: recorder.dropped(block))
"""By the block's class; None for a block that was left out."""


def read_parts(parts: list[Any], scope: Scope) -> tuple[Block, ...]:
    blocks: list[Block] = []
    holds = scope.holds
    try:
        for part in parts:
            kind = part.get("type") if type(part) is dict else None
            read = READERS.get(kind) if type(kind) is str else None
            if read is not None and (holds is None or kind in holds):
                blocks.append(read(part, scope))
            else:
                blocks.append(read_part(part, scope))
    except ShapeError as error:
        raise error.inside(f"[{len(blocks)}]") from None
    return tuple(blocks)


def read_part(part: Any, scope: Scope) -> Block:
    kind = require(part, dict).get("type")
    if type(kind) is not str:
        return UnknownBlock({NAME: part})
    inside = scope is RESULT or scope is HOSTED
    read = READERS.get(kind)
    if read is None:
        answers = kind.endswith("_tool_result") and type(part.get("tool_use_id")) is str
        read = READERS["*_tool_result"] if answers and not inside else None
        return UnknownBlock({NAME: part}) if read is None else read(part, scope)
    if scope.holds is None or kind in scope.holds:
        return read(part, scope)
    if inside:
        return UnknownBlock({NAME: part})  # a result holds only some kinds of block
    return _oddly(read(part, scope))


def _oddly(block: Block) -> Block:
    """Marks the block as one that the writer would not put at this position."""
    own_raw = raw_of(NAME, block.raw)
    spelling = {**spelling_of(NAME, block.raw), "odd": True}
    return block.replace(raw={NAME: {**own_raw, "$form": spelling}})


def is_odd(raw: Raw | None) -> bool:
    """Whether the wire had this part although the documentation forbids it, and it may be written
    again."""
    return raw is not None and spelling_of(NAME, raw).get("odd") is True


def is_silent(raw: Raw | None) -> bool:
    """Whether a `raw` has nothing to write or report here: it is empty, or only the spelling of
    other dialects."""
    if raw is not None:
        for name, rest in raw.items():
            if name == NAME or type(rest) is not dict or len(rest) != 1 or "$form" not in rest:
                return False
    return True


def write_parts(blocks: Iterable[Block], scope: Scope, recorder: LossRecorder) -> list[Wire]:
    parts = []
    for block in blocks:
        part = WRITERS[type(block)](block, scope, recorder)
        if part is not None:
            parts.append(part)
    return parts


def read_content(content: Any, scope: Scope, spelling: Wire) -> tuple[Block, ...]:
    """Parts, or a string in place of them, which is spelling (`$form.content`)."""
    if type(content) is str:
        spelling["content"] = "string"
        return (TextBlock(content),) if content else ()
    if type(content) is not list:
        raise ShapeError("", "a string or a list", content)
    return read_parts(content, scope)


def write_content(
    blocks: Iterable[Block], scope: Scope, spelling: Wire, recorder: LossRecorder
) -> list[Wire] | str:
    parts = write_parts(blocks, scope, recorder)
    if spelling.get("content") != "string":
        return parts
    text = string_of(parts) if parts else ""
    return parts if text is None else text


def string_of(parts: list[Wire]) -> str | None:
    """The joined text of the parts, if one string can express them."""
    if len(parts) == 1 and len(parts[0]) == 2 and parts[0].get("type") == "text":
        text = parts[0].get("text")
        return text if type(text) is str else None
    return None


def read_unknown(part: Wire, scope: Scope) -> UnknownBlock:
    return UnknownBlock({NAME: part})


def write_unknown(block: UnknownBlock, scope: Scope, recorder: LossRecorder) -> Any:
    return words.write_unknown(block, recorder)


def reader(cls: Callable[..., Block], table: Table) -> Callable[[Wire, Scope], Block]:
    """Returns a reader for parts that a table describes completely."""
    return lambda part, _: table.read_value(cls, part, NAME)


# -- cache breakpoints ----------------------------------------------------------------------------


def _read_cache(value: Any) -> Attrs:
    ttl = require(value, dict).get("ttl")
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
    lost("signature", because("text_signature")),
    beside=("type", "citations"),
    silent=("citations",),
)
TOOL_REFERENCE = Table(TextBlock, plain("tool_name", "text", str), CACHE)
"""The name of a tool that a search found. Its type is preserved, since it is read as text."""
REFUSAL = Table(RefusalBlock, plain("text", "text", str), CACHE)


def read_text(part: Wire, scope: Scope) -> TextBlock:
    text = part.get("text")
    if len(part) == 2 and type(text) is str and (text or scope is ANSWER):
        return TextBlock(text)
    return _read_text(part, scope)


def _read_text(part: Wire, scope: Scope) -> TextBlock:
    preserved = Preserved()
    cited = preserved.take(part, "citations", list) if "citations" in part else None
    if scope is not ANSWER and (not part.get("text") or (cited and scope is not ASSISTANT)):
        preserved.spelling["odd"] = True
    citations = () if cited is None else read_citations(cited)
    return TEXT.read_value(TextBlock, part, NAME, preserved, citations=citations)


def write_text(block: TextBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    bare = block.raw is None and block.cache is None and not block.citations
    if bare and block.signature is None and block.phase is None and (block.text or scope is ANSWER):
        return {"type": "text", "text": block.text}
    return _write_text(block, scope, recorder)


def _write_text(block: TextBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    kind = raw_of(NAME, block.raw).get("type")
    if type(kind) is str and kind in tables.MARKERS and not block.text:
        return restore_raw({}, block, block.raw, recorder)  # as earlier versions stored it
    if kind == "tool_reference" and not block.citations:
        return TOOL_REFERENCE.write_value(block, recorder, {"type": kind})
    if not block.text and scope is not ANSWER and not is_odd(block.raw):
        # It is answered with a 400, even one that the service itself had sent.
        recorder.dropped(block, because("empty"))
        return None
    out = TEXT.write_value(block, recorder, {"type": "text"})
    if block.citations and (cited := _write_citations(block, scope, recorder)):
        out["citations"] = cited
    return out


def write_refusal(block: RefusalBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if not block.text and scope is not ANSWER:
        recorder.dropped(block, because("empty"))
        return None
    recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    return REFUSAL.write_value(block, recorder, {"type": "text"})


# -- citations ------------------------------------------------------------------------------------


def _citation(names: dict[str, str]) -> Table:
    """The type is preserved, since it has the unit of the positions."""
    keys = {"cited_text": "cited_text", **names}
    kinds = {"document_index": int}
    return Table(Citation, *[plain(k, name, kinds.get(k, str)) for k, name in keys.items()])


_CITATIONS = {kind: _citation(names) for kind, names in tables.CITATIONS.items()}
_ANY_CITATION = _citation({"url": "url", "title": "title", "file_id": "file_id"})
_PAGE = frozenset({"cited_text", "url", "title"})


def read_citations(cited: Any) -> tuple[Citation, ...]:
    return tuple(read_each(cited, ".citations", _read_citation))


def _read_citation(wire: Any) -> Citation:
    kind = require_key(require(wire, dict), "type", str)
    return _CITATIONS.get(kind, _ANY_CITATION).read_value(Citation, wire, NAME)


def _write_citations(block: TextBlock, scope: Scope, recorder: LossRecorder) -> list[Wire]:
    if not scope.is_models and not is_odd(block.raw):
        # Version 2026-10-21 refuses them in a user's text (its documentation, read 2026-11-15).
        for citation in block.citations:
            recorder.lost(citation, None, because("citations_role"))
        return []
    cited = [write_citation(each, recorder, scope is ANSWER) for each in block.citations]
    return [wire for wire in cited if wire is not None]


def write_citation(citation: Citation, recorder: LossRecorder, answering: bool) -> Wire | None:
    """None for citations of other vendors whose document positions or opaque indexes cannot be
    constructed. In an answer the index is not checked: the client is shown the page."""
    kind = raw_of(NAME, citation.raw).get("type")
    if type(kind) is str:
        table = _CITATIONS.get(kind, _ANY_CITATION)
        return table.write_value(citation, recorder, {"type": kind})
    if answering and citation.url is not None:
        return _write_page(citation, recorder)
    recorder.lost(citation, None, because("citation_without_place"))
    return None


def _write_page(citation: Citation, recorder: LossRecorder) -> Wire:
    """A page on the web that another service has cited."""
    reason = because("citation_index")
    recorder.lost(citation, None, reason, kind="approximated")
    recorder.unwritten(citation, _PAGE)
    return {
        "type": "web_search_result_location",
        "cited_text": citation.cited_text or "",
        "url": citation.url,
        "title": citation.title,
        "encrypted_index": "",
    }


# No breakpoint may stand on thinking, so that only one that the wire had is written.
_UNCACHED = CACHE._replace(write=lost("cache", because("cache_not_here")).write)
THINKING = Table(
    ThinkingBlock,
    plain("thinking", "text", str),
    # Answers have to have one.
    plain("signature", "signature", str, blank=True, fill=lambda _: ""),
    _UNCACHED,
    beside=("type",),
)
REDACTED = Table(RedactedThinkingBlock, plain("data", "data", str), _UNCACHED, beside=("type",))
COMPACTION = Table(
    CompactionBlock,
    plain("content", "text", str),
    plain("encrypted_content", "data", str),
    plain("signature", "signature", str),
    lost("replaces", because("compaction_whole")),
    CACHE,
    beside=("type",),
)
"""History in a shorter form, with its summary; null where the service could not make one."""


def read_thinking(part: Wire, scope: Scope) -> ThinkingBlock:
    """Empty text is legal: the model thought, and only the signature was to be shown."""
    text, signature = part.get("thinking"), part.get("signature")
    if len(part) == 3 and type(signature) is str and signature and type(text) is str:
        return ThinkingBlock(text, signature)
    return _read_thinking(part, scope)


def _read_thinking(part: Wire, scope: Scope) -> ThinkingBlock:
    odd = scope is not ANSWER and not part.get("signature")
    preserved = Preserved(spelling={"odd": True} if odd else {})
    return THINKING.read_value(ThinkingBlock, part, NAME, preserved)


def write_thinking(block: ThinkingBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    bare = block.cache is None and block.id is None and is_silent(block.raw)
    if bare and block.signature and scope.is_models:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return _write_thinking(block, scope, recorder)


def _write_thinking(block: ThinkingBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if raw_of(NAME, block.raw).get("type") == "compaction":  # as earlier versions stored it
        new = CompactionBlock(block.text, None, block.signature, None, block.cache, block.raw)
        recorder.alias(new, block)
        return COMPACTION.write_value(new, recorder, {"type": "compaction"})
    problem = None if scope.is_models else because("role_does_not_think")
    if scope is not ANSWER and not block.signature:
        problem = problem or because("unsigned_thinking")
    if problem is not None and not is_odd(block.raw):
        recorder.dropped(block, problem)
        return None
    return THINKING.write_value(block, recorder, {"type": "thinking"})


def write_redacted(
    block: RedactedThinkingBlock, scope: Scope, recorder: LossRecorder
) -> Wire | None:
    if not scope.is_models and not is_odd(block.raw):
        recorder.dropped(block, because("role_does_not_think"))
        return None
    return REDACTED.write_value(block, recorder, {"type": "redacted_thinking"})


def write_compaction(block: CompactionBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    here = scope.is_models or is_odd(block.raw)
    ours = block.raw is not None and NAME in block.raw
    if not here or (block.text is None and block.data is not None and not ours):
        text = compaction_as_text(block, recorder)
        return None if text is None else write_text(text, scope, recorder)
    return COMPACTION.write_value(block, recorder, {"type": "compaction"})


# -- thinking that is bound to the history before it ----------------------------------------------

DROP_UNFIT = {"prefix_mismatch_behavior": "drop_block"}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def relax_binding(wire: Wire) -> Wire:
    """The body, asking to drop thinking that no longer fits its history, if there may be some.

    From Claude 5.1 on Anthropic refuses a request whose history before a thinking block has
    changed, unless it is asked to leave such blocks out (then it reports which)."""
    thinking = wire.get("thinking") or {"type": "adaptive"}
    if thinking.get("type") == "disabled" or "block_binding" in thinking or not _thinks(wire):
        return wire
    return {**wire, "thinking": {**thinking, "block_binding": DROP_UNFIT}}


def _thinks(wire: Wire) -> bool:
    contents = [turn.get("content") for turn in wire["messages"]]
    return any(
        part.get("type") in _THOUGHTS
        for content in contents
        if isinstance(content, list)
        for part in content
    )
