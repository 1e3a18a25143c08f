"""Lists of parts. A part is an object with one key that says its kind; a `cachePoint` is a part of
its own on the wire, and the `cache` of the block (or tool) before it in the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.shape import OURS, form_of, mine_of, put_back
from interlingua.dialects.bedrock.tables import LONGEST_TTL, NAME, TTLS
from interlingua.dialects.shape import ShapeError
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, Cache, TextBlock, UnknownBlock

Reader = Callable[[Any], Block | None]
"""Takes what stands under the key; gives None for what it does not understand."""
Writer = Callable[[Any, Scribe, bool], Wire | None]
"""The flag says that it is an answer; gives None for a block that was left out."""

READERS: dict[str, Reader] = {}
"""By the key that says the kind; `content.py` fills both tables."""
WRITERS: dict[type[Any], Writer] = {}

ODD: Raw = {NAME: {"$form": {"odd": True}}}


def read_parts(parts: Any, path: str, answer: bool = False) -> tuple[list[Block], list[Wire]]:
    """The blocks, and the cache points that stand before any block. In an `answer` everything is
    as the service made it."""
    if type(parts) is not list:
        raise ShapeError(path, "a list", parts)
    blocks: list[Block] = []
    ahead: list[Wire] = []
    index = -1
    try:
        for part in parts:
            index += 1
            if type(part) is dict and len(part) == 1:
                ((key, inner),) = part.items()
                if key == "text" and type(inner) is str:
                    blocks.append(TextBlock(inner) if inner or answer else TextBlock("", raw=ODD))
                    continue
                if key == "cachePoint" and type(inner) is dict:
                    _read_point(inner, blocks, ahead)
                    continue
            blocks.append(read_part(part, READERS))
    except ShapeError as odd:
        raise odd.inside(f"{path}[{index}]") from None
    return blocks, ahead


def read_part(part: Any, readers: dict[str, Reader]) -> Block:
    if type(part) is not dict:
        raise ShapeError("", "an object", part)
    known = list(part) if len(part) == 1 else [key for key in part if key in readers]
    read = readers.get(known[0]) if len(known) == 1 else None
    if read is None:
        return UnknownBlock({NAME: part})
    key = known[0]
    try:
        block = read(part[key])
    except ShapeError as odd:
        raise odd.inside(f".{key}") from None
    if block is None:
        return UnknownBlock({NAME: part})
    return block if len(part) == 1 else _with_beside(block, part, key)


def _with_beside(block: Block, part: Wire, key: str) -> Block:
    """The block with the keys that stand beside the one that says its kind."""
    beside = {name: item for name, item in part.items() if name != key}
    mine = mine_of(block.raw)
    if beside.keys() == {"type"}:  # as other vendors spell a part
        mine = {**mine, "$form": {**form_of(block.raw), "beside": beside}}
    else:
        mine = {**mine, "$beside": beside}
    return block.replace(raw={NAME: mine})


def write_parts(
    blocks: Iterable[Block], out: list[Wire], scribe: Scribe, answer: bool = False
) -> None:
    for block in blocks:
        if type(block) is TextBlock and block.raw is None and block.text and not block.citations:
            out.append({"text": block.text})
            if block.signature is not None:
                scribe.lost(block, "signature", "signs no text here")
            if block.phase is not None:
                scribe.lost(block, "phase")
        else:
            part = WRITERS[type(block)](block, scribe, answer)
            if part is None:
                continue
            out.append(part)
        if block.cache is not None:
            put_cache(out, block, scribe)


def finish(key: str, out: Wire, block: Any, scribe: Scribe) -> Wire:
    """The part for an object, with what was kept of it and beside it."""
    raw = block.raw
    return {key: out} if raw is None else beside({key: put_back(out, block, scribe, raw)}, raw)


def beside(part: Wire, raw: Raw) -> Wire:
    """The part, with the keys that stood beside the one that says its kind."""
    for kept in (mine_of(raw).get("$beside"), form_of(raw).get("beside")):
        if type(kept) is dict:
            for key, item in kept.items():
                part.setdefault(key, item)
    return part


def write_unknown(block: UnknownBlock, scribe: Scribe, answer: bool) -> Wire | None:
    part = block.raw.get(NAME)
    if type(part) is not dict:
        scribe.dropped(block, "another dialect's")
        return None
    if len(block.raw) > 1:
        scribe.unsaid_raw(block, block.raw)
    return {key: item for key, item in part.items() if key not in OURS}


# -- cache points ---------------------------------------------------------------------------------


def _read_point(point: Wire, blocks: list[Block], ahead: list[Wire]) -> None:
    if blocks:
        blocks[-1] = with_cache(blocks[-1], point)
    else:
        ahead.append(point)


def with_cache(value: Any, point: Wire) -> Any:
    """The block or tool with the cache point that follows it."""
    mine = dict(mine_of(value.raw))
    if value.cache is not None:
        mine["$cachePoints"] = [*mine.get("$cachePoints", ()), point]
        return value.replace(raw={**(value.raw or {}), NAME: mine})
    ttl = point.get("ttl")
    if point == {"type": "default"} or (
        point == {"type": "default", "ttl": ttl} and type(ttl) is str and ttl in TTLS
    ):
        return value.replace(cache=Cache(ttl))
    mine["$cachePoint"] = {k: v for k, v in point.items() if k != "ttl" or type(ttl) is not str}
    cache = Cache(ttl if type(ttl) is str else None)
    return value.replace(cache=cache, raw={**(value.raw or {}), NAME: mine})


def put_cache(out: list[Wire], value: Any, scribe: Scribe) -> None:
    """The cache points that follow a block or tool."""
    mine = mine_of(value.raw)
    ttl, own = value.cache.ttl, mine.get("$cachePoint")
    point: Wire = dict(own) if type(own) is dict else {"type": "default"}
    if ttl is not None:
        if ttl not in TTLS and own is None:
            scribe.lost(value, "cache", f"kept for {LONGEST_TTL}", kind="approximated")
            ttl = LONGEST_TTL
        point["ttl"] = ttl
    out.append({"cachePoint": point})
    out.extend({"cachePoint": more} for more in mine.get("$cachePoints", ()))


def points_ahead(raw: Raw | None) -> list[Wire]:
    """The cache points that stood before the first block of a message."""
    if raw is None:
        return []
    return [{"cachePoint": point} for point in mine_of(raw).get("$cachePoints", ())]
