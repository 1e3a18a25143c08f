"""Why a prompt cache was missed: a request beside the one before it in the same conversation.

Only digests of the parts of each request are stored: of the tools, the instructions, the options
that matter, and each message. Cache breakpoints are excluded, since they move."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from interlingua.costs.caching import cache_rule
from interlingua.costs.cost import cost_of
from interlingua.costs.table import PriceTable
from interlingua.errors import InterlinguaError
from interlingua.model.metadata import CacheDiagnosis, Usage

LEAST = 2048
"""Bytes of a body that no vendor caches less of."""
MOST_BYTES = 16 << 20
"""Bytes of all digests together, at most; those of conversations not used longest go first."""
MOST_OF_OWNER = 256
"""Conversations of one owner."""
_SIZE = 8
_LETTERS = 4
"""Letters of a token, where the provider counted none."""

_TOOLS = ("tools", "toolConfig", "tool_config")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_HISTORY = ("messages", "contents", "input")
_OPTIONS = {
    "prompt_cache_key": "cache_key_changed",
    "response_format": "response_format_changed",
    "text": "response_format_changed",
    "format": "response_format_changed",
    "reasoning": "reasoning_changed",
    "reasoning_effort": "reasoning_changed",
    "thinking": "reasoning_changed",
    "think": "reasoning_changed",
    "output_config": "reasoning_changed",
    "verbosity": "verbosity_changed",
    "service_tier": "service_tier_changed",
    "tool_choice": "options_changed",
}
"""Members of a body beside the prompt, in all dialects, with the names of their changes."""
_MARKS = {
    b'"cache_control":{': b"}",
    b'"prompt_cache_breakpoint":{': b"}",
    b'{"cachePoint":{': b"}}",
}
"""The beginning and end of breakpoints."""
_PARTS = b'"content":[{"type":"'
_ONE_TEXT = re.compile(
    rb'"content":\[\{"type":"(?:text|input_text)","text":("[^"\\]*(?:\\.[^"\\]*)*")\}\]'
)
_TEXT, _TEXT_END = _PARTS + b'text","text":"', b'"}]}'
_BETWEEN = b", \t\n\r"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Role(msgspec.Struct):
    role: str | None = None


_role = msgspec.json.Decoder(_Role).decode


class SentPrompt(NamedTuple):
    """The digests of a request."""

    model: str
    deployment: str
    tools: bytes
    system: bytes
    options: tuple[tuple[str, bytes], ...]
    messages: tuple[bytes, ...]
    first: int
    """The number of the first of these messages in the body."""
    is_marked: bool
    letters: int
    at: datetime

    @property
    def size(self) -> int:
        return _SIZE * (len(self.messages) + 16)


class SentTurn(NamedTuple):
    """A message of a request."""

    digest: bytes
    instructs: bool
    is_marked: bool


class SentTurns(NamedTuple):
    """The messages of a body in their order; each ends at one of `ends`."""

    outside: bytes
    """The body with an empty list in their place."""
    text: bytes
    start: int
    ends: list[int]
    known: list[SentTurn]
    """The first messages, if they are known; the others are added."""

    def bytes_of(self, number: int) -> bytes:
        start = self.ends[number - 1] if number else self.start
        return self.text[start : self.ends[number]].lstrip(_BETWEEN)

    def all(self) -> list[SentTurn]:
        known = self.known
        known += [_sent(self.bytes_of(number)) for number in range(len(known), len(self.ends))]
        return known


def prompt_of(
    body: bytes, model: str, deployment: str, at: datetime, sent: SentTurns | None = None
) -> SentPrompt | None:
    """The digests of a body in any dialect; None where it has no prompt that can be compared. With
    its messages as they were `sent` before, only those are looked at that are new."""
    try:
        outside = body if sent is None else sent.outside
        members = _members(outside)
        history = next((bytes(members[name]) for name in _HISTORY if name in members), None)
        if history is None:
            return None
        pieces = _list(history) if sent is None and history[:1] == b"[" else []
        turns = [_sent(bytes(each)) for each in pieces] if sent is None else sent.all()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    first = next((n for n, turn in enumerate(turns) if not turn.instructs), len(turns))
    leading = range(first)
    system = [bytes(members[name]) for name in _SYSTEM if name in members]
    system += [bytes(pieces[n]) if sent is None else sent.bytes_of(n) for n in leading]
    tools = [bytes(members[name]) for name in _TOOLS if name in members]
    options = [(name, _digest([bytes(members[name])])) for name in _OPTIONS if name in members]
    return SentPrompt(
        model,
        deployment,
        _digest(tools),
        _digest(system),
        tuple(options),
        tuple([turn.digest for turn in turns[first:]] or [_digest([history])]),
        first,
        any(turn.is_marked for turn in turns) or _is_marked(outside),
        len(body),
        at,
    )


def _sent(turn: bytes) -> SentTurn:
    instructs = _role(turn).role in ("system", "developer")
    return SentTurn(_digest([turn]), instructs, _is_marked(turn))


def _is_marked(text: bytes) -> bool:
    return any(mark in text for mark in _MARKS)


def _digest(parts: list[bytes]) -> bytes:
    found = blake2b(digest_size=_SIZE)
    for part in parts:
        if b'"cache' in part or b'"prompt_cache_b' in part:
            part = _unmarked(part)
        if part.count(_PARTS) == 1 and b'"},{"' not in part:
            part = _with_plain_text(part)
        found.update(part)
    return found.digest()


def _unmarked(text: bytes) -> bytes:
    """The text without its breakpoints."""
    for mark, closing in _MARKS.items():
        start, pieces = 0, []
        while (at := text.find(mark, start)) >= 0:
            pieces.append(text[start:at].removesuffix(b","))
            start = text.find(closing, at + len(mark)) + len(closing)
        text = b"".join([*pieces, text[start:]])
    return text


def _with_plain_text(part: bytes) -> bytes:
    """A message with one text in a list as if it had the text alone, which is as good."""
    if _TEXT in part and part.endswith(_TEXT_END):
        return part.replace(_TEXT, b'"content":"', 1)[: -len(_TEXT_END)] + b'"}'
    return _ONE_TEXT.sub(rb'"content":\1', part)


class _Conversation:
    """The last request of a conversation, and its usage."""

    __slots__ = ("names", "prompt", "tokens")

    def __init__(self, prompt: SentPrompt, names: frozenset[str], tokens: int) -> None:
        self.prompt, self.names, self.tokens = prompt, names, tokens


class ComparedPrompt:
    """A request that is being sent, and the one before it."""

    def __init__(
        self, owner: str | None, prompt: SentPrompt, names: frozenset[str], before: Any, key: Any
    ) -> None:
        self.owner, self.prompt, self.names = owner, prompt, names
        self._before: _Conversation | None = before
        self.key = key
        self.prices: PriceTable | None = None
        """Prices for the cost of a miss, unless others are passed."""
        self.changes = [] if before is None else _changes(before.prompt, prompt)
        """The parts that differ, with the names of their changes; the first decides."""

    @property
    def is_first(self) -> bool:
        """Whether no request before it is known."""
        return self._before is None

    def diagnosis(
        self, usage: Usage | None = None, prices: PriceTable | None = None
    ) -> CacheDiagnosis | None:
        """Why the cache is missed or hit, as far as that is known; None for the first request, and
        where there was too little to be cached."""
        before, prompt = self._before, self.prompt
        if before is None or before.tokens < (cache_rule(prompt.model).minimum or 0):
            return None
        cached = None if usage is None else usage.cached_input_tokens
        since = before.prompt.at
        if not self.changes:
            reason = _silent_reason(before.prompt, prompt)
            if cached or (usage is None and reason is None):
                return CacheDiagnosis("hit", since=since, source="comparison")
            if cached is None and cache_rule(prompt.model).finds == "none":
                return CacheDiagnosis("unavailable", since=since, source="comparison")
            changed: tuple[str, ...] = ()
        else:
            reason, changed = self.changes[0][0], tuple([part for _, part in self.changes])
        whole = before.tokens if usage is None else usage.prompt_tokens or before.tokens
        missed = max(0, min(before.tokens, whole) - (cached or 0))
        if self.changes and missed * 20 < before.tokens:
            return CacheDiagnosis("hit", changed=changed, since=since, source="comparison")
        prices = prices or self.prices
        cost = None if prices is None else _extra_cost(prices, prompt, missed, usage)
        return CacheDiagnosis(
            *("miss", reason, missed, before.tokens, changed, since, cost), source="comparison"
        )


def _silent_reason(before: SentPrompt, prompt: SentPrompt) -> str | None:
    """Why a cache is missed although nothing has changed; None where that is the provider's."""
    rule = cache_rule(prompt.model)
    if rule.finds == "marks" and not before.is_marked:
        return "not_marked"
    if rule.lifetimes and (prompt.at - before.at).total_seconds() > rule.seconds(None):
        return "expired"
    return None


def _changes(before: SentPrompt, now: SentPrompt) -> list[tuple[str, str]]:
    """The differences in the vendor's order: the name of the change, and the part."""
    found: list[tuple[str, str]] = []
    if before.model != now.model:
        found.append(("model_changed", "model"))
    elif before.deployment != now.deployment:
        found.append(("deployment_changed", "deployment"))
    if before.tools != now.tools:
        found.append(("tools_changed", "tools"))
    if before.system != now.system:
        found.append(("system_changed", "system"))
    old, new = dict(before.options), dict(now.options)
    if before.model == now.model:
        found += [(why, name) for name, why in _OPTIONS.items() if old.get(name) != new.get(name)]
    for index, pair in enumerate(zip(before.messages, now.messages, strict=False)):
        if pair[0] != pair[1]:
            shorter = len(now.messages) < len(before.messages)
            why = "context_compacted" if shorter else "messages_changed"
            found.append((why, f"messages[{now.first + index}]"))
            break
    return found


def _extra_cost(
    prices: PriceTable, prompt: SentPrompt, missed: int, usage: Usage | None
) -> Decimal | None:
    """The extra cost of tokens that are read anew, or written to the cache again, in place of being
    read from it."""
    if usage is None:
        marked = prompt.is_marked and cache_rule(prompt.model).finds == "marks"
        written, lifetimes = missed if marked else 0, None
    else:
        written, lifetimes = min(missed, usage.cache_creation_input_tokens or 0), usage.cache_writes
    hours = min(written, (lifetimes or {}).get("1h", 0))
    anew = Usage(missed - written, 0, 0, written, cache_writes={"1h": hours} if hours else None)
    try:
        cost = cost_of(anew, prompt.model, prices, prompt.at).total
        cached = cost_of(Usage(0, 0, missed), prompt.model, prices, prompt.at).total
    except (InterlinguaError, ValueError):
        return None
    return max(Decimal(0), cost - cached)


class SentPrompts:
    """The last request of each conversation, bounded. Requests are compared only with those of the
    same owner."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._held: OrderedDict[tuple[str | None, int], _Conversation] = OrderedDict()
        self._of_owner: dict[str | None, list[int]] = {}
        self._next = 0
        self.size = 0

    def __len__(self) -> int:
        return len(self._held)

    def compare(
        self,
        owner: str | None,
        body: bytes,
        model: str,
        deployment: str = "",
        names: Iterable[str] = (),
        at: datetime | None = None,
        sent: SentTurns | None = None,
    ) -> ComparedPrompt | None:
        """A request to be sent, beside the last one of its conversation. `names` identify the
        conversation; without names, its messages do. `sent` is as for `prompt_of`."""
        if len(body) < LEAST:
            return None
        prompt = prompt_of(body, model, deployment, at or datetime.now(UTC), sent)
        if prompt is None:
            return None
        known = frozenset(names)
        number = self._nearest(owner, prompt, known)
        key = None if number is None else (owner, number)
        before = None if key is None else self._held[key]
        return ComparedPrompt(owner, prompt, known, before, key)

    def _nearest(self, owner: str | None, prompt: SentPrompt, names: frozenset[str]) -> int | None:
        """The conversation with one of these names; otherwise the longest one that it continues, or
        the one with most messages in common."""
        best, most, own = None, 0, prompt.messages
        others = []
        for number in reversed(self._of_owner.get(owner, [])):
            held = self._held[owner, number]
            if names & held.names:
                return number
            if names and held.names:
                continue
            others.append(number)
            before = held.prompt
            count = len(before.messages)
            if count > most and before.system == prompt.system and before.messages == own[:count]:
                best, most = number, count
        if best is not None:
            return best
        unordered = set(own)
        for number in others:
            common = len(unordered.intersection(self._held[owner, number].prompt.messages))
            if common > most:
                best, most = number, common
        return best

    def answered(
        self, compared: ComparedPrompt, usage: Usage | None, names: Iterable[str] = ()
    ) -> None:
        """The request was answered: the next one of its conversation is compared with it. `names`
        are further ones by which that may be known."""
        owner, prompt = compared.owner, compared.prompt
        tokens = None if usage is None else usage.prompt_tokens
        tokens = prompt.letters // _LETTERS if tokens is None else tokens
        known = compared.names | frozenset(names)
        if compared.key is not None:
            self._forget(compared.key)
        self._next += 1
        self._held[owner, self._next] = _Conversation(prompt, known, tokens)
        numbers = self._of_owner.setdefault(owner, [])
        numbers.append(self._next)
        self.size += prompt.size
        if len(numbers) > MOST_OF_OWNER:
            self._forget((owner, numbers[0]))
        while self.size > self._most:
            self._forget(next(iter(self._held)))

    def _forget(self, key: tuple[str | None, int]) -> None:
        held = self._held.pop(key, None)
        if held is None:
            return
        self.size -= held.prompt.size
        numbers = self._of_owner[key[0]]
        numbers.remove(key[1])
        if not numbers:
            del self._of_owner[key[0]]


def merged(provider: CacheDiagnosis | None, own: CacheDiagnosis | None) -> CacheDiagnosis | None:
    """Merges two diagnoses: the provider's own fields, completed by those of a comparison."""
    if provider is None or own is None:
        return own if provider is None else provider
    return provider.replace(
        changed=provider.changed or own.changed,
        since=provider.since or own.since,
        cost_usd=own.cost_usd if provider.outcome == "miss" else None,
    )
