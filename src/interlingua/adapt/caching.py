"""Prompt caching for requests that say nothing of it: breakpoints, and keys of conversations.

Claude caches a prompt only up to the breakpoints in it. OpenAI and Mistral cache by themselves, and
find what they cached by a key. In the mode `auto` both are added where they are missing; what the
request says itself always counts, so that one breakpoint of its own is all that it gets."""

from __future__ import annotations

import hashlib
from copy import copy
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from msgspec.structs import force_setattr

from interlingua.adapt.facts import CACHE, Facts
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import (
    Cache,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.losses import Loss, loss_of
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

if TYPE_CHECKING:
    from interlingua.adapt.target import WireTarget

Caching = Literal["auto", "pass", "off"]
"""`auto`: breakpoints and keys are added where a request has none; `pass`: what the request says,
and no more; `off`: without what it says as well."""
CACHINGS: Final[tuple[str, ...]] = get_args(Caching)

# Bound once: looking up an enum's member costs as much as a whole step.
_SYSTEM, _DEVELOPER, _ASSISTANT = Role.SYSTEM, Role.DEVELOPER, Role.ASSISTANT
_USER, _TOOL = Role.USER, Role.TOOL
_PLACES = ("tools", "system", "messages")
_MARKABLE = frozenset({TextBlock, ImageBlock, DocumentBlock, ToolUseBlock, ToolResultBlock})
SURELY_SHORT, _SURELY_LONG = 2, 6
"""Letters of a token: with fewer than the first a prompt is too short whatever its tokens are, with
more than the second it is long enough. Between the two its tokens are estimated."""
USUAL_MINIMUM = 1024
_HEAD = 2048
"""Letters of each of the first messages that a key is made of."""
MOST_MARKS = 4
KEY_ADDED = "cache_key_added"
HOUR = "1h"
SHORT = frozenset({None, "in_memory", "5m"})
"""Lifetimes that the usual five minutes stand for; all others become an hour."""
_TIMES = ("cache_ttl", "cache_retention")
_BREAKPOINTS = {None: Cache(), HOUR: Cache(HOUR)}
_OPTIONS = (
    *("cache", "cache_key", "cache_mode", "cache_ttl", "cache_retention", "cache_prewarm"),
    "cache_comparison",
)


def require_caching(caching: str) -> Caching:
    """The mode; `ValueError` for a word that is none."""
    if caching not in CACHINGS:
        raise ValueError(f"caching is one of {', '.join(CACHINGS)}, not {caching!r}")
    return caching  # type: ignore[return-value]  # one of them


def apply_caching(
    request: Request, target: WireTarget, facts: Facts, recorder: LossRecorder, owner: str | None
) -> Request:
    """The request with what its target's mode adds to it, or leaves out; each is a note.

    `owner` is whose request it is, where several share one account at a provider."""
    if target.caching == "off":
        return _without_caching(request, facts, recorder)
    options = request.options
    if facts.flags & CACHE or options.cache is not None or options.cache_mode == "explicit":
        return request
    if target.origin == "key":
        return _with_key(request, target, recorder, owner)
    return _Marking(request, target, recorder).marked()


# -- keys -----------------------------------------------------------------------------------------


def _with_key(
    request: Request, target: WireTarget, recorder: LossRecorder, owner: str | None
) -> Request:
    options = request.options
    if options.cache_key is not None or request.continues is not None:
        return request
    if not _Prefix(request, target).reaches(len(request.messages)):
        return request
    recorder.added("$.options.cache_key", because("cache_key_added"))
    keyed = options.replace(cache_key=conversation_key(request, owner))
    recorder.alias(keyed, options)
    return request.replace(options=keyed)


def conversation_key(request: Request, owner: str | None = None) -> str:
    """A key that is the same for all requests of a conversation, and another for each owner: made
    of how the conversation begins."""
    digest = hashlib.blake2b((owner or "").encode("utf-8", "surrogatepass"), digest_size=16)
    for message in request.messages:
        for block in message.content:
            text = getattr(block, "text", None) or ""
            digest.update(f"\0{message.role.value}\0{len(text)}\0".encode())
            digest.update(text[:_HEAD].encode("utf-8", "surrogatepass"))
        if message.role is Role.USER:
            break
    return f"il-{digest.hexdigest()}"


# -- breakpoints ----------------------------------------------------------------------------------


_MEDIA = 4000
"""Letters that an image or a document stands for, at most."""
_ENDLESS = 1 << 62
_Reach = tuple[int, Any, int, int, tuple[Message, ...]]
"""The minimum and the tools, how many messages are too few and how many enough, and the latter."""


class _Prefix:
    """Whether a prompt is long enough to be cached, up to one place after another in it."""

    def __init__(self, request: Request, target: WireTarget, memory: Any = None) -> None:
        self._least: int = target.profile.limits.cache_min or USUAL_MINIMUM  # type: ignore[union-attr]  # there is one
        self._request, self._provider = request, target.provider_key
        self._known: _Reach | None = None if memory is None else memory.reach
        known = self._known
        is_same = known is not None and known[:2] == (self._least, request.tools)
        if known is not None and is_same and all(map(is_, request.messages, known[4])):
            self.short, self.long = known[2:4]
        else:
            self._known = None

    _letters = _counted = 0
    _uncounted: list[Any] | None = None
    """JSON whose letters are counted only where those of texts do not decide."""
    short, long = -1, _ENDLESS
    """So many messages are known to be too few, and so many to be enough."""

    @property
    def reach(self) -> _Reach | None:
        """What is known of the prompt, for the next request that begins with it."""
        if self._known is not None or self.long is _ENDLESS:
            return self._known
        request = self._request
        return self._least, request.tools, self.short, self.long, request.messages[: self.long]

    def reaches(self, count: int) -> bool:
        """Whether the tools and so many messages are long enough; each time at least as many."""
        if count >= self.long or count <= self.short:
            return count >= self.long
        if self._is_long(count):
            self.long = min(count, self._counted)
            return True
        self.short = count
        return False

    def _is_long(self, count: int) -> bool:
        self._known = None
        most, messages = _SURELY_LONG * self._least, self._request.messages
        if self._uncounted is None:
            self._uncounted = [tool.input_schema or "" for tool in self._request.tools]
            for tool in self._request.tools:
                self._letters += len(tool.name) + len(tool.description or "")
        while self._counted < count and self._letters < most:
            self._count(messages[self._counted].content, self._uncounted)
            self._counted += 1
        while self._uncounted and self._letters < most:
            self._letters += len(str(self._uncounted.pop()))
        if self._letters < SURELY_SHORT * self._least:
            return False
        if self._letters >= most:
            return True
        self._counted = count
        return self._estimate(count) >= self._least

    def _count(self, blocks: tuple[Any, ...], uncounted: list[Any]) -> None:
        for block in blocks:
            kind = type(block)
            if kind is ToolUseBlock:
                uncounted.append(block.input)
            elif kind is ToolResultBlock:
                self._count(block.content, uncounted)
            elif kind is ImageBlock or kind is DocumentBlock:
                self._letters += min(len(block.source.data or ""), _MEDIA)
            else:
                self._letters += len(getattr(block, "text", None) or "")

    def _estimate(self, count: int) -> int:
        from interlingua.profiles.estimate.estimator import estimate_input_tokens

        request = self._request
        model = f"{self._provider or ''}:{request.model or ''}"
        return estimate_input_tokens(request.messages[:count], request.tools, model)


class _How(NamedTuple):
    """How a target's prompts are marked: where, how often, with what, and the note on it."""

    places: tuple[str, ...]
    most: int
    cache: Cache
    note: Loss


@lru_cache(maxsize=256)
def _how(target: WireTarget, ttl: str | None) -> _How:
    profile = target.profile
    assert profile is not None
    most, places = profile.limits.cache_marks, profile.cache.places
    note = because("cache_breakpoint_added", ttl=ttl or "5m")
    return _How(
        _PLACES if places is None else places,
        MOST_MARKS if most is None else min(most, MOST_MARKS),
        _BREAKPOINTS[ttl],
        loss_of(target.dialect.name, "approximated", "$.cache", note),
    )


class _Marking:
    """Puts breakpoints behind the tools, behind the instructions, and behind the last two turns:
    what the next request repeats ends at one of them."""

    def __init__(self, request: Request, target: WireTarget, recorder: LossRecorder) -> None:
        self._request, self._recorder = request, recorder
        self._memory = memory = recorder.memory
        self._prefix = _Prefix(request, target, memory)
        self._places, self._most, self._cache, self._note = _how(
            target,
            lifetime(request.options, target.profile.cache.ttls),  # type: ignore[union-attr]  # there is one
        )
        self._pairs: dict[int, _Pair] = {}

    def marked(self) -> Request:
        request, reaches, places = self._request, self._prefix.reaches, self._places
        messages, tools = request.messages, request.tools
        changes: dict[str, Any] = {}
        first, left = _leading(messages), self._most
        if tools and left and "tools" in places and reaches(0):
            left -= 1
            changes["tools"] = (*tools[:-1], self._put(tools[-1], f"$.tools[{len(tools) - 1}]"))
        at = _turn_ends(messages, first) if "messages" in places else []
        if first and "system" in places:
            at.insert(0, first - 1)
        new: dict[int, Message] = {}
        for index in at:
            if left and reaches(index + 1) and (found := self._message(messages[index], index)):
                left -= 1
                if found is not messages[index]:
                    new[index] = found
        if new:
            listed = list(messages)
            for index, message in new.items():
                listed[index] = message
            changes["messages"] = tuple(listed)
        if self._memory is not None:
            self._memory.marked, self._memory.reach = self._pairs, self._prefix.reach
        marked = request.replace(**changes) if changes else request
        if left == self._most:
            return marked
        return settle_lifetime(marked, self._recorder, self._cache.ttl or "5m")

    def _message(self, message: Message, number: int) -> Message | None:
        """The message with a breakpoint at its end: as it is where the breakpoint is put into what
        was written for it, else the same one as in the request before, so that this is found
        again."""
        content = message.content
        index = _last_markable(content)
        if index is None:
            return None
        path = f"$.messages[{number}].content[{index}]"
        memory, behind = self._memory, len(self._request.messages) - number - 1
        if memory is not None and memory.take_breakpoint(message, self._cache, behind):
            self._added(path)
            return message
        known: _Pair | None = None if memory is None else memory.marked.get(id(message))
        if known is not None and known[0] is message and known[2] == self._cache:
            self._recorder.alias(known[1], message)
            self._recorder.alias(known[1].content[index], content[index])
            self._added(path)
            self._pairs[id(message)] = known
            return known[1]
        blocks = (*content[:index], self._put(content[index], path), *content[index + 1 :])
        new = message.replace(content=blocks)
        self._recorder.alias(new, message)
        self._pairs[id(message)] = (message, new, self._cache)
        return new

    def _put(self, value: Any, path: str) -> Any:
        new = value.replace(cache=self._cache)
        self._recorder.alias(new, value)
        self._added(path)
        return new

    def _added(self, path: str) -> None:
        note = copy(self._note)  # its other fields are known to be right
        force_setattr(note, "path", f"{path}.cache")
        self._recorder.report.entries.append(note)


_Pair = tuple[Message, Message, Cache]
"""A message, the same with a breakpoint, and that breakpoint."""


def lifetime(options: Options, known: tuple[str, ...] | None) -> str | None:
    """How long breakpoints shall last that a request sets none for; None for the usual time."""
    if options.cache_ttl is None and options.cache_retention is None:
        return None
    for asked in (options.cache_ttl, options.cache_retention):
        if asked not in SHORT and (known is None or HOUR in known):
            return HOUR
    return None


def settle_lifetime(request: Request, recorder: LossRecorder, ttl: str) -> Request:
    """The request without the lifetimes that it asks for, since its breakpoints last for `ttl`."""
    options = request.options
    if options.cache_ttl is None and options.cache_retention is None:
        return request
    asked = [name for name in _TIMES if getattr(options, name) is not None]
    for name in asked:
        reason = because("cache_lifetime", asked=getattr(options, name), ttl=ttl)
        recorder.lost(options, name, reason, kind="approximated")
    new = options.replace(**dict.fromkeys(asked))
    recorder.alias(new, options)
    return request.replace(options=new)


def _leading(messages: tuple[Message, ...]) -> int:
    """How many messages of instructions there are in front."""
    for number, message in enumerate(messages):
        if message.role is not _SYSTEM and message.role is not _DEVELOPER:
            return number
    return len(messages)


def _turn_ends(messages: tuple[Message, ...], first: int) -> list[int]:
    """The last messages of the last two turns of the user or of tools, in their order."""
    ends: list[int] = []
    answered = True
    for index in range(len(messages) - 1, first - 1, -1):
        role = messages[index].role
        if role is _ASSISTANT:
            answered = True
        elif answered and (role is _TOOL or role is _USER):
            ends.insert(0, index)
            answered = False
            if len(ends) == 2:
                break
    return ends


def _last_markable(content: tuple[Any, ...]) -> int | None:
    for index in range(len(content) - 1, -1, -1):
        block = content[index]
        if type(block) is TextBlock:
            if block.text and not block.text.isspace():
                return index
        elif type(block) in _MARKABLE:
            return index
    return None


# -- none at all ----------------------------------------------------------------------------------


def _without_caching(request: Request, facts: Facts, recorder: LossRecorder) -> Request:
    """The request without its own breakpoints and keys."""
    changes: dict[str, Any] = {}
    options, reason = request.options, because("cache_off")
    if asked := [name for name in _OPTIONS if getattr(options, name) is not None]:
        for name in asked:
            recorder.lost(options, name, reason, severity="info")
        changes["options"] = options.replace(**dict.fromkeys(asked))
        recorder.alias(changes["options"], options)
    if facts.flags & CACHE:

        def bare(value: Any) -> Any:
            new, inner = value, getattr(value, "content", None)
            if type(inner) is tuple and inner:
                within = tuple([bare(each) for each in inner])
                if any(old is not each for old, each in zip(inner, within, strict=True)):
                    new = new.replace(content=within)
            if getattr(value, "cache", None) is not None:
                recorder.lost(value, "cache", reason)
                new = new.replace(cache=None)
            if new is not value:
                recorder.alias(new, value)
            return new

        changes["tools"] = tuple([bare(tool) for tool in request.tools])
        changes["messages"] = tuple([bare(message) for message in request.messages])
    return request.replace(**changes) if changes else request
