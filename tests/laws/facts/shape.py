"""The rooms that every reading fills: plain facts, in the words of no provider."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

NO_JSON = "no JSON"
MEDIA = frozenset({"image", "audio", "video", "document"})


@dataclass(slots=True)
class Piece:
    """One piece of a conversation, where it stands.

    `kind` is text, refusal, thinking, redacted, call, result, image, audio, video, document,
    compaction, change, or opaque: server tools and all that only one vendor has."""

    kind: str
    role: str
    text: str = ""
    id: str | None = None
    """Of a call, or of the call that a result answers."""
    name: str | None = None
    """Of a function, or of a file."""
    data: Any = None
    """Arguments, the data or address of media, what is sealed, or the wire itself."""
    is_error: bool = False
    media_type: str | None = None
    signature: str | None = None
    issuer: str | None = None
    """Whose signature or sealed data it is."""
    cache: str | None = None
    """A cache breakpoint behind it: how long, or an empty text."""
    cites: tuple[str, ...] = ()
    detail: str | None = None
    title: str | None = None
    speaker: str | None = None
    phase: str | None = None
    caller: str | None = None
    """The id of the call whose code made this one."""
    place: str = ""
    """Where the canonical value has it, once that was found out."""


@dataclass(slots=True)
class Tool:
    """`kind` is function, custom (free text) or the vendor's word for one of its own."""

    name: str
    kind: str = "function"
    description: str | None = None
    schema: Any = None
    strict: bool | None = None
    grammar: tuple[str, str] | None = None
    cache: str | None = None
    deferred: bool | None = None
    output_schema: Any = None
    callers: tuple[str, ...] = ()
    """Who may call it beside the model: sorted, empty where nobody else does."""
    is_async: bool = False
    since: int = 0
    """How many pieces of the conversation come before it is there."""
    place: str = ""


@dataclass(slots=True)
class Facts:
    """All that one body says. `options` are flat: `reasoning.effort`, `response_format.schema`."""

    pieces: list[Piece] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    continues: dict[str, Any] = field(default_factory=dict)
    stop: str | None = None
    """What a client takes the end for."""
    meant: str | None = None
    """What it means, where hosts are known to use the wrong word."""
    usage: dict[str, int] = field(default_factory=dict)
    """input (fresh), cached, creation, output, reasoning."""
    others: list[Facts] = field(default_factory=list)
    """Further answers to the same request."""
    error: str | None = None
    """What the provider said in place of an answer."""
    lasts: str | None = None
    """How long a cache lives where nothing is said."""
    ended: bool = True
    """Whether a stream came to its own end."""


def calls_of(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.kind == "call"]


def parsed(text: Any) -> Any:
    """The JSON in a text, or the text itself under a name of its own. Nothing at all, null and an
    empty list (PHP's way to say it) are no arguments."""
    if not isinstance(text, str):
        return text
    try:
        return (json.loads(text) if text.strip() else {}) or {}
    except ValueError:
        return {NO_JSON: text}


def plain(value: Any) -> str:
    """JSON that is the same for the same value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def compact(value: Any) -> str:
    """Data that is read as a text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def change(what: str, value: Any) -> Piece:
    """Something that holds from here on: a tool that is added or removed, an effort, a format."""
    return Piece("change", "system", data=(what, value))


def opaque(role: str, wire: Any) -> Piece:
    return Piece("opaque", role, data=wire)


def allowed(words: Any) -> tuple[str, ...]:
    """Who may call a tool; the model alone is what holds anyway."""
    named = {"direct" if word == "direct" else "program" for word in words or ()}
    return () if named == {"direct"} else tuple(sorted(named))


def put(options: dict[str, Any], name: str, value: Any) -> None:
    """An option that is said; null says nothing."""
    if value is not None:
        options[name] = value


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def counts(**numbers: Any) -> dict[str, int]:
    return {name: value for name, value in numbers.items() if number(value) is not None}


def parted(of: str, parts: Iterable[tuple[Any, Any]]) -> dict[str, int]:
    """Counts of a breakdown that are not 0, each by its name."""
    found = {f"{of}: {name}": value for name, value in parts if number(value)}
    return {name: value for name, value in found.items() if value > 0}


def by_modality(of: str, details: Any) -> dict[str, int]:
    """Counts of an object that has a key `<modality>_tokens` for each."""
    content = details if isinstance(details, dict) else {}
    kinds = ("text", "image", "audio", "video")
    return parted(of, [(kind, content.get(f"{kind}_tokens")) for kind in kinds])


def listed(of: str, entries: Any, name: str, value: str) -> dict[str, int]:
    """Counts of a list of objects with a name and a count."""
    reported = [each for each in entries or () if isinstance(each, dict)]
    named = [each for each in reported if isinstance(each.get(name), str)]  # not numbers of an enum
    return parted(of, [(each[name].lower(), each.get(value)) for each in named])


def by_claude(wire: Any, tools: str = "server_tool_use") -> dict[str, int]:
    """Anthropic's counts of its tools, and of what was written to the cache."""
    uses, writes = wire.get(tools), wire.get("cache_creation")
    uses, writes = [each if isinstance(each, dict) else {} for each in (uses, writes)]
    found = parted("tools", [(k.removesuffix("_requests"), n) for k, n in uses.items()])
    lives = [(k[len("ephemeral_") :].partition("_")[0], n) for k, n in writes.items()]
    return {**found, **parted("writes", lives)}


def fresh(prompt: Any, *parts: Any) -> int | None:
    """What of a prompt was neither read from a cache nor written to it."""
    if number(prompt) is None:
        return None
    return max(0, prompt - sum(part for part in parts if number(part) is not None))


def derived(prompt: Any, said: Any, total: Any, *others: Any) -> tuple[Any, Any]:
    """Counts of a prompt and an answer: one that is missing is the rest of the total."""
    every = [each for each in (prompt, said, *others) if number(each) is not None]
    left = (number(total) or 0) - sum(every)
    if left <= 0 or min(every, default=-1) < 0 or (prompt is None) == (said is None):
        return prompt, said
    return (left, said) if prompt is None else (prompt, left)


def data_url(url: str) -> tuple[str | None, str]:
    """Media type and data of a data URL; of any other, no type and the address."""
    if not url.startswith("data:") or "," not in url:
        return None, url
    head, _, data = url[5:].partition(",")
    return head.split(";")[0] or None, data
