"""Whether a report accounts for a difference: its path, its kind and its severity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.laws.facts.canonical import PARTS
from tests.laws.facts.shape import MEDIA, NO_JSON, Facts, calls_of
from tests.laws.judge.differences import Difference

FIELDS = {
    "signature": ("signature",),
    "is_error": ("is_error",),
    "cache": ("cache",),
    "detail": ("detail",),
    "title": ("title", "context", "name"),
    "name": ("name", "title"),
    "media_type": ("media_type", "source"),
    "kind": ("media_type",),
    "cites": ("citations",),
    "phase": ("phase",),
    "caller": ("caller",),
    "arguments": ("raw_arguments", "input"),
    "custom": ("call_type",),
    "function": ("name",),
    "text": ("text", "content", "raw"),
    "words": ("content", "is_error"),
    "document": ("source",),
    "change": ("tools_added", "tools_removed", "effort", "response_format", "clear_at"),
}
"""Which fields of a block a report may name for one side of a piece."""
TOOLS = {
    "schema": ("input_schema",),
    "output_schema": ("output_schema",),
    "description": ("description",),
    "strict": ("strict",),
    "grammar": ("grammar", "kind"),
    "cache": ("cache",),
    "deferred": ("deferred",),
    "callers": ("callers",),
    "is_async": ("asynchronous",),
    "kind": ("kind",),
    "name": ("name",),
    "since": ("",),
}
USAGE = {
    "input": ("input_tokens",),
    "cached": ("cached_input_tokens",),
    "creation": ("cache_creation_input_tokens",),
    "output": ("output_tokens",),
    "reasoning": ("reasoning_tokens",),
    **{of: (name,) for of, name in PARTS.items()},
}
BILLING = "x-anthropic-billing-header:"
"""Claude Code's first words, which are meant for Anthropic's counting alone."""
WORTH = {"info": 0, "warning": 1, "error": 2}
_MESSAGE = re.compile(r"\$\.(messages\[\d+\]|message|alternatives\[\d+\])")


def unaccounted(found: Iterable[Difference], losses: Sequence[Any]) -> list[str]:
    """Differences of which the report says nothing, or says it too lightly."""
    problems = []
    for each in found:
        own = [loss for loss in losses if covers(loss.path, each)]
        if not own:
            problems.append(f"untold: {each}")
            continue
        kinds = [loss for loss in own if fits(loss.kind, each)]
        if not kinds:
            problems.append(f"told as {own[0].kind}: {each}")
        elif max(WORTH[loss.severity] for loss in kinds) < WORTH[least(each)]:
            problems.append(f"told as {own[0].severity}: {each}")
    return problems


def under(path: str, place: str) -> bool:
    return path == place or (path.startswith(place) and path[len(place)] in ".[")


def covers(path: str, each: Difference) -> bool:
    """Whether an entry at this path speaks of the difference."""
    if each.what == "added" and under(path, "$.options.response_format") and _asks_for_json(each):
        return True
    match each.topic:
        case "option" if each.aspect.endswith(".schema") and isinstance(each.theirs, str):
            return _schema(path, "$.options.response_format.schema", each.theirs)
        case "option":
            return _option(path, each.aspect)
        case "tool":
            return _tool(path, each)
        case "continues":
            return under(path, "$.continues")
        case "usage":
            names = USAGE[each.aspect.partition(":")[0]]
            return any(path.endswith(f".usage.{name}") for name in names) or path.endswith(".usage")
        case "stop":
            return path.endswith((".metadata.stop_reason", ".metadata.status"))
        case "error":
            return each.aspect == "message" and under(path, "$.error")
        case "answer":
            return path == f"$.alternatives[{each.aspect}]"
    return _added(path, each) if each.piece is None else _piece(path, each)


def _asks_for_json(each: Difference) -> bool:
    """JSON may be asked for by words, or by a call that has to be made."""
    return each.aspect in ("text", "tool", "tool_choice", "response_format.kind")


def _option(path: str, name: str) -> bool:
    place = "$.options.metadata" if name == "labels" else f"$.options.{name}"
    if name.startswith("reasoning."):
        return under(path, "$.options.reasoning")
    if name.startswith("compaction."):
        return under(path, "$.options.compaction")
    if name.startswith("task_budget.") or (name == "max_output_tokens" and "task_" in path):
        return under(path, "$.options.task_budget")
    return under(path, place) or under(place, path) if path != "$" else False


_BESIDE = re.compile(r"\$\.raw\.(openai-chat\.web_search_options|openrouter\.plugins\[\d+\])")
"""Searches that are asked for beside the tools, and elsewhere by one."""


def _tool(path: str, each: Difference) -> bool:
    tool = each.ours if each.ours is not None else each.theirs
    if not tool.place:
        if each.what == "added" and _BESIDE.match(path) and "web_" in tool.kind:
            return True
        return path == "$.tools" or bool(re.fullmatch(r"\$\.tools\[\d+\]", path))
    if path == tool.place or path == "$.tools":
        return True
    if each.aspect in ("schema", "output_schema"):
        return _schema(path, f"{tool.place}.{TOOLS[each.aspect][0]}", each.theirs)
    if each.aspect == "since":
        return ".changes" in path or under(path, tool.place)
    return any(under(path, f"{tool.place}.{name}") for name in TOOLS.get(each.aspect, ()))


def _schema(path: str, place: str, keyword: str) -> bool:
    """An entry at the schema, at the keyword, or at something inside of it."""
    return under(f"{place}{keyword}", path) or under(path, f"{place}{keyword}")


def _piece(path: str, each: Difference) -> bool:
    piece = each.piece
    assert piece is not None
    place = piece.place
    if not place or path == "$":
        return False
    if under(place, path):
        return True
    message = _MESSAGE.match(place)
    if each.aspect == "cache" and each.what == "changed" and path == "$.options.cache_ttl":
        return True  # how long the marks of a request last may stand once for all of them
    if each.aspect == "function" and re.fullmatch(r"\$\.tools\[\d+\]\.name", path):
        return True  # a call goes by the name that its tool was given
    if each.aspect in ("role", "speaker", "order", "pairing") and message is not None:
        word = {"role": "role", "speaker": "name"}.get(each.aspect, "content")
        if path == f"{message[0]}.{word}":
            return True
        if each.aspect == "order" and path.startswith(f"{message[0]}.content["):
            return True  # one of them changed places with the other
    return any(under(path, f"{place}.{name}") for name in FIELDS.get(each.aspect, ()))


_WORDS = frozenset({"role", "content", "is_error", "source", "title", "context", "name", "text"})
"""Fields whose entry may stand for words that nobody said: a mark, a label, a placeholder."""


def _added(path: str, each: Difference) -> bool:
    """What was added stands beside the place that the entry names, and is of its kind."""
    message = _MESSAGE.match(path)
    if message is None:
        return path == "$.messages"
    field = re.sub(r"\.content\[\d+\]", "", path[message.end() :]).removeprefix(".")
    if each.aspect == "result" and not field:
        return True  # it answers a call that nobody did
    dialect = each.aspect in ("text", "words", "result")
    if field and not (dialect and field in _WORDS):
        return False
    before, after = (_number(place) for place in each.beside)
    here = _number(path)
    low = before if before is not None else 0
    high = after if after is not None else 10**9
    return here is not None and low <= here <= max(high, low)


def _number(path: str) -> int | None:
    found = re.match(r"\$\.(?:messages|alternatives)\[(\d+)\]", path)
    return int(found[1]) if found else 0 if path.startswith("$.message") else None


def fits(kind: str, each: Difference) -> bool:
    """Whether that is what has happened: what is gone was dropped, what is there was not."""
    if each.what == "added":
        return kind != "dropped" or _is_remark(each)
    if each.what == "lost" and each.topic == "piece" and each.aspect in (*MEDIA, "text", "call"):
        return kind == "dropped"
    return True


def _is_remark(each: Difference) -> bool:
    """Words in brackets that say what stood there."""
    texts = each.theirs if isinstance(each.theirs, list) else [each.theirs]
    return bool(texts) and all(isinstance(text, str) and _in_brackets(text) for text in texts)


def _in_brackets(text: str) -> bool:
    """Where a wire has one text only, the blank lines between two of them are around it."""
    text = text.strip()
    return text.startswith("[") and text.endswith("]")


def least(each: Difference) -> str:
    """The lightest severity that such a difference may be told with."""
    if each.topic == "continues":
        return "error"
    if each.topic == "piece" and each.piece is not None:
        return _least_of_a_piece(each)
    if each.topic in ("tool", "option") and each.what == "lost":
        return "warning" if each.aspect in ("tool", "grammar", "reasoning.wanted") else "info"
    return "info"


def _least_of_a_piece(each: Difference) -> str:
    piece = each.piece
    assert piece is not None
    if piece.text.startswith(BILLING):
        return "info"
    if each.what == "lost" and each.aspect == "compaction":
        return "error"
    if each.aspect == "kind" and piece.kind == "result":
        return "error"
    if each.aspect == "arguments":
        gone = isinstance(each.ours, dict) and NO_JSON in each.ours and not each.theirs
        return "warning" if gone else "info"
    if each.what == "lost" and each.aspect in (*MEDIA, "text", "call", "result", "refusal"):
        return "warning" if piece.text.strip() or piece.kind != "text" else "info"
    return "info"


_TELLABLE = re.compile(
    r"\$\.options\.(?!raw|cache|reasoning\.mode)[\w.]+"
    r"|\$\.tools\[\d+\]\.(strict|cache|deferred|name|kind|callers|asynchronous)"
    r"|.*\.content\[\d+\]\.(signature|is_error|cache|detail)"
    r"|.*\.metadata\.(usage\.(?!service_tier)\w+|stop_reason)"
)
"""Places of which this judge knows whether something is missing there."""


def false_alarms(found: Sequence[Difference], losses: Sequence[Any], said: Facts) -> list[str]:
    """Entries that say something is gone which is there, or which says what is done anyway. Of
    options that are of no use without tools, writers may speak or not."""
    lost = {each.ours.name for each in found if each.topic == "tool" and each.what == "lost"}
    has_tools = any(tool.name not in lost for tool in said.tools)
    aside = () if has_tools else ("$.options.tool_choice", "$.options.parallel_tool_calls")
    if said.stop is None or (said.stop == "end_turn" and calls_of(said.pieces)):
        aside = (*aside, "$.message.metadata.stop_reason")
    there = {piece.place for piece in said.pieces if piece.text.strip() or piece.kind in MEDIA}
    there -= {each.piece.place for each in found if each.piece is not None and is_gone(each)}
    return [
        f"false alarm: {loss}"
        for loss in losses
        if (loss.kind == "dropped" and loss.path in there)
        or (
            loss.kind != "moved"
            and loss.path not in aside
            and _TELLABLE.fullmatch(loss.path)
            and not any(covers(loss.path, each) for each in found)
        )
    ]


def is_gone(each: Difference) -> bool:
    """Whether it is the piece itself that is not there any more as what it was."""
    return (each.what == "lost" and each.piece is not None and each.aspect == each.piece.kind) or (
        each.aspect == "kind"
    )


FAMILIES = {
    "anthropic": {"anthropic"},
    "bedrock": {"anthropic"},
    "gemini": {"google"},
    "gemini-interactions": {"google"},
    "openai-responses": {"openai"},
    "openrouter": {"anthropic", "google", "openai", "host"},
    "openai-chat": {"host"},
    "ollama": set(),
    "cohere": set(),
}
"""Whose signatures may be said in a dialect; OpenRouter's names the issuer beside each."""


def leaks(said: Facts, told: Facts, target: str) -> list[str]:
    """Signatures and sealed thoughts that are handed to somebody who did not make them."""
    issuers = {}
    for piece in said.pieces:
        for value in (piece.signature, piece.data if piece.kind == "redacted" else None):
            if value:
                issuers[value] = piece.issuer
    found = []
    for piece in told.pieces:
        for value in (piece.signature, piece.data if piece.kind == "redacted" else None):
            issuer = issuers.get(value)
            if issuer is not None and issuer not in FAMILIES[target]:
                found.append(f"handed to {target}: what {issuer} signed, {value[:20]}")
    return found
