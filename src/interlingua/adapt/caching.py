"""Prompt caching for requests without any of their own: breakpoints, and keys of conversations.

Claude caches a prompt only up to the breakpoints in it. OpenAI and Mistral cache on their own, and
find cached prompts by a key. In the mode `auto` both are added where they are missing; the
request's own settings always win, so that a single breakpoint of its own switches this off.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from msgspec.structs import force_setattr, replace

from interlingua.adapt.facts import CACHE, Facts
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.registry import traits_of
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
    from interlingua.profiles.profile import Profile

Caching = Literal["auto", "pass", "off"]
"""`auto`: breakpoints and keys are added where a request has none; `pass`: only those of the
request; `off`: without those of the request, too."""
CACHINGS: Final[tuple[str, ...]] = get_args(Caching)

# Bound once: looking up an enum's member costs as much as a whole step.
_SYSTEM, _DEVELOPER, _ASSISTANT = Role.SYSTEM, Role.DEVELOPER, Role.ASSISTANT
_USER, _TOOL = Role.USER, Role.TOOL
_PLACES = ("tools", "system", "messages")
_MARKABLE = frozenset({TextBlock, ImageBlock, DocumentBlock, ToolUseBlock, ToolResultBlock})
SURELY_SHORT, _SURELY_LONG = 2, 6
"""Letters per token: with fewer than the first a prompt is certainly too short, with more than
the second certainly long enough. Between the two its tokens are estimated."""
USUAL_MINIMUM = 1024
_HEAD = 2048
"""Letters of each of the first messages that a key is made of."""
MOST_MARKS = 4
_PDF = "application/pdf"
KEY_ADDED = "cache_key_added"
HOUR = "1h"
SHORT = frozenset({None, "in_memory", "5m"})
"""Lifetimes that become the usual five minutes; all others become an hour."""
_TIMES = ("cache_ttl", "cache_retention")
_BREAKPOINTS = {None: Cache(), HOUR: Cache(HOUR)}
_OPTIONS = (
    *("cache", "cache_key", "cache_mode", "cache_ttl", "cache_retention", "cache_prewarm"),
    "cache_comparison",
)


def require_caching(caching: str) -> Caching:
    """Checks the mode; `ValueError` for an unknown one."""
    if caching not in CACHINGS:
        raise ValueError(f"caching is one of {', '.join(CACHINGS)}, not {caching!r}")
    return caching  # type: ignore[return-value]  # one of them


def apply_caching(
    request: Request, target: WireTarget, facts: Facts, recorder: LossRecorder, owner: str | None
) -> Request:
    """The request with the marks that its target's mode adds, or without those it removes; each is
    a note.

    `owner` separates the callers that share one account at a provider."""
    if target.caching == "off":
        return _without_caching(request, facts, recorder)
    options = request.options
    if _is_marked(facts, recorder) or options.cache_mode == "explicit":
        return request
    if target.origin == "key":
        return _with_key(request, target, recorder, owner)
    return _Marking(request, target, recorder).marked()


def _is_marked(facts: Facts, recorder: LossRecorder) -> bool:
    """Whether the client's request has a breakpoint, on a block or for all of it. The latter may
    have become one on a block (`cache.whole`)."""
    origin = recorder.origin
    return bool(facts.flags & CACHE) or (
        isinstance(origin, Request) and origin.options.cache is not None
    )


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
"""The letters that an image or a document counts for, at most."""
_ENDLESS = 1 << 62


class _How(NamedTuple):
    """How a target's prompts are marked: the places, the number and the kind of breakpoints, and
    the note about it."""

    places: tuple[str, ...]
    most: int
    cache: Cache
    note: Loss


class _Head(NamedTuple):
    """How a request is marked before its turns, the first of which has the index `first`."""

    first: int
    left: int
    """The number of breakpoints left for the turns."""
    how: _How
    changes: dict[str, Any]
    message: tuple[int, Message] | None
    """Instructions with a breakpoint, and their index."""
    aliases: tuple[tuple[Any, Any], ...]
    notes: tuple[Loss, ...]

    def put_on(self, request: Request, recorder: LossRecorder) -> Request:
        """Another request with the same beginning, marked like it."""
        for new, original in self.aliases:
            recorder.alias(new, original)
        if self.message is None:
            return request.replace(**self.changes)
        place, instructions = self.message
        messages = (*request.messages[:place], instructions, *request.messages[place + 1 :])
        return request.replace(**self.changes, messages=messages)


class _Known(NamedTuple):
    """Facts of a request, for the next one that begins with the same messages: how many of them
    are certainly too few to be cached, and how many enough."""

    profile: Profile
    tools: tuple[Any, ...]
    options: Options
    messages: tuple[Message, ...]
    short: int
    long: int
    head: _Head | None
    """None if the turns before the first one do not include everything in front of it."""

    def holds(self, request: Request, profile: Profile | None) -> bool:
        messages = request.messages
        return (
            profile is self.profile
            and len(messages) >= len(self.messages)
            and all(map(is_, self.messages, messages))
            and request.tools == self.tools
        )


class _Prefix:
    """Whether a prompt is long enough to be cached, up to one place after another in it."""

    def __init__(self, request: Request, target: WireTarget, known: _Known | None = None) -> None:
        self._least: int = target.profile.limits.cache_min or USUAL_MINIMUM  # type: ignore[union-attr]  # there is one
        self._request, self._provider = request, target.provider_key
        if known is not None and known.holds(request, target.profile):
            self.short, self.long = known.short, known.long

    _letters = _counted = 0
    _uncounted: list[Any] | None = None
    """JSON whose letters are counted only where those of texts do not decide."""
    short, long = -1, _ENDLESS
    """So many messages are known to be too few, and so many to be enough."""

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


def marked_again(
    request: Request, target: WireTarget, facts: Facts, recorder: LossRecorder
) -> Request | None:
    """The request with the breakpoints of the previous one, moved on in the turns; None if the
    whole request has to be checked. This runs for every turn, so it has few steps."""
    memory: Any = recorder.memory
    known: _Known | None = None if memory is None else memory.known
    if known is None:
        return None
    messages, head, last = request.messages, known.head, memory.last
    if (
        head is None
        or target.profile is not known.profile
        or facts.flags & CACHE
        or (request.tools is not known.tools and request.tools != known.tools)
        or (request.options is not known.options and _asks(request.options))
        or not all(map(is_, known.messages, messages))
        or recorder.origin.options.cache is not None  # type: ignore[union-attr]  # it is a request
        or target.origin != "marks"
    ):
        return None
    end = len(messages) - 1
    if last is not None and last[0] == end - 2:
        older, call, newest = messages[-3:]
        if older is last[1] and call.role is _ASSISTANT and _is_text_result(newest):
            added = (end, newest, last[2], _note(head.how, f"$.messages[{end}].content[0].cache"))
            memory.last, memory.wanted, memory.is_next = added, [last, added], True
            recorder.report.entries += (*head.notes, last[3], added[3])
            return request if not head.aliases else head.put_on(request, recorder)
    if len(messages) < len(known.messages):
        return None
    spliced = _spliced(messages, head, last, memory.breakpoint_in)
    if not spliced or spliced[0][0] + 1 < known.long:
        return None
    memory.last = spliced[-1] if len(spliced) > 1 else None
    memory.wanted, memory.length = spliced, end + 1
    recorder.report.entries += (*head.notes, *[note for _, _, _, note in spliced])
    return request if not head.aliases else head.put_on(request, recorder)


def _is_text_result(message: Message) -> bool:
    """Whether a message probably is the result of one call, as one text."""
    if message.role is not _TOOL or len(message.content) != 1:
        return False
    block: Any = message.content[0]
    return not block.is_error and len(block.content) == 1 and type(block.content[0]) is TextBlock


def _asks(options: Options) -> bool:
    """Whether options are about breakpoints."""
    times = options.cache_ttl, options.cache_retention
    return options.cache_mode == "explicit" or times != (None, None)


def _spliced(
    messages: tuple[Message, ...], head: _Head, last: _Spliced | None, find: Any
) -> list[_Spliced] | None:
    """Breakpoints at the ends of the last turns; None if one cannot be put into a written form."""
    spliced = []
    for index in _turn_ends(messages, head.first)[: head.left]:
        if last is None or last[0] != index or last[1] is not messages[index]:
            last = _splice(messages[index], index, head.how, find)
            if last is None:
                return None
        spliced.append(last)
    return spliced


_Spliced = tuple[int, Message, bytes, Loss]
"""A breakpoint that is put into the written form of a message: the message's position in the
request, the message, what it adds, and the note."""


def _splice(message: Message, index: int, how: _How, find: Any) -> _Spliced | None:
    found = None if find is None else find(message, how.cache)
    if found is None:
        return None
    block = message.content[0]  # the only one
    if type(block) is TextBlock and block.text.isspace():
        return None
    return index, message, found, _note(how, f"$.messages[{index}].content[0].cache")


def _note(how: _How, path: str) -> Loss:
    note: Loss = _copied(how.note)  # its other fields are known to be right
    force_setattr(note, "path", path)
    return note


_copied = Loss.__copy__  # type: ignore[attr-defined]  # every struct has it


class _Marking:
    """Adds breakpoints after the tools, after the instructions, and after the last two turns, so
    that the prefix that the next request repeats ends at one of them."""

    def __init__(self, request: Request, target: WireTarget, recorder: LossRecorder) -> None:
        self._request, self._recorder, self._profile = request, recorder, target.profile
        memory: Any = recorder.memory
        self._memory = memory
        self._prefix = _Prefix(request, target, memory and memory.known)
        ttl = lifetime(request.options, target.profile.cache.ttls)  # type: ignore[union-attr]  # there is one
        self._how = _how(target, ttl)
        self._pairs: dict[int, _Pair] = {}
        self._aliases: list[tuple[Any, Any]] = []
        self._notes: list[Loss] = []

    def marked(self) -> Request:
        request, reaches, how = self._request, self._prefix.reaches, self._how
        messages, tools = request.messages, request.tools
        changes: dict[str, Any] = {}
        first, left = _leading(messages), how.most
        if tools and left and "tools" in how.places and reaches(0):
            left -= 1
            changes["tools"] = (*tools[:-1], self._put(tools[-1], f"$.tools[{len(tools) - 1}]"))
        new: dict[int, Message] = {}
        if first and "system" in how.places and left:
            left -= self._message(first - 1, new)
        head = self._memory and self._head(first, left, changes, new)
        for index in _turn_ends(messages, first) if "messages" in how.places else ():
            left -= left and self._message(index, new)
        if self._memory is not None:
            if len(self._memory.wanted) < 2:
                self._memory.last = None  # there is none that the next turn keeps
            self._memory.marked = self._pairs
            self._memory.known = self._known(head)
            self._memory.length = len(messages)
        if new:
            listed = list(messages)
            for index, message in new.items():
                listed[index] = message
            changes = {**changes, "messages": tuple(listed)}
        marked = replace(request, **changes) if changes else request
        self._recorder.report.entries += self._notes
        if left == how.most:
            return marked
        return settle_lifetime(marked, self._recorder, how.cache.ttl or "5m")

    def _head(
        self, first: int, left: int, changes: dict[str, Any], new: dict[int, Message]
    ) -> _Head | None:
        """How the beginning is marked, if later requests are marked like it."""
        options = self._request.options
        if options.cache_ttl is not None or options.cache_retention is not None:
            return None
        if first == len(self._request.messages) or "messages" not in self._how.places:
            return None
        message = next(iter(new.items()), None)
        how, aliases = self._how, tuple(self._aliases)
        return _Head(first, left, how, changes, message, aliases, tuple(self._notes))

    def _known(self, head: _Head | None) -> _Known | None:
        short, long = self._prefix.short, self._prefix.long
        if long is _ENDLESS:
            return None
        request = self._request
        count = long if head is None else max(long, head.first + 1)
        assert self._profile is not None
        found = request.messages[:count]
        about = self._profile, request.tools, request.options
        return _Known(*about, found, short, long, head)

    def _message(self, number: int, new: dict[int, Message]) -> bool:
        """Puts a breakpoint at the end of a message: into its written form if possible, else
        into `new`, the same value as in the request before, so that it is recognised again."""
        message = self._request.messages[number]
        content, memory, cache = message.content, self._memory, self._how.cache
        index = last_markable(content, self._recorder.dialect)
        if index is None or not self._prefix.reaches(number + 1):
            return False
        spliced = memory and _splice(message, number, self._how, memory.breakpoint_in)
        if spliced:
            memory.wanted.append(spliced)
            memory.last = spliced
            self._notes.append(spliced[3])
            return True
        path = f"$.messages[{number}].content[{index}]"
        known: _Pair | None = None if memory is None else memory.marked.get(id(message))
        if known is None or known[0] is not message or known[2] != cache:
            blocks = (*content[:index], self._put(content[index], path), *content[index + 1 :])
            known = (message, replace(message, content=blocks), cache)
        else:
            self._alias(known[1].content[index], content[index])
            self._notes.append(_note(self._how, f"{path}.cache"))
        self._alias(known[1], message)
        self._pairs[id(message)] = known
        new[number] = known[1]
        return True

    def _put(self, value: Any, path: str) -> Any:
        new = replace(value, cache=self._how.cache)
        self._alias(new, value)
        self._notes.append(_note(self._how, f"{path}.cache"))
        return new

    def _alias(self, new: Any, original: Any) -> None:
        self._recorder.alias(new, original)
        self._aliases.append((new, original))


_Pair = tuple[Message, Message, Cache]
"""A message, the same with a breakpoint, and that breakpoint."""


def lifetime(options: Options, known: tuple[str, ...] | None) -> str | None:
    """The lifetime of breakpoints that have none; None for the usual one."""
    if options.cache_ttl is None and options.cache_retention is None:
        return None
    for asked in (options.cache_ttl, options.cache_retention):
        if asked not in SHORT and (known is None or HOUR in known):
            return HOUR
    return None


def settle_lifetime(request: Request, recorder: LossRecorder, ttl: str) -> Request:
    """The request without its own lifetimes, because its breakpoints last for `ttl`."""
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
    """The number of leading messages with instructions."""
    for number, message in enumerate(messages):
        if message.role is not _SYSTEM and message.role is not _DEVELOPER:
            return number
    return len(messages)


def _turn_ends(messages: tuple[Message, ...], first: int) -> list[int]:
    """The last messages of the last two turns of the user or of tools, in their order."""
    last, answered, index = -1, True, len(messages)
    while index > first:
        index -= 1
        role = messages[index].role
        if role is _ASSISTANT:
            answered = True
        elif answered and (role is _TOOL or role is _USER):
            if last >= 0:
                return [index, last]
            last, answered = index, False
    return [last] if last >= 0 else []


def last_markable(content: tuple[Any, ...], dialect: str) -> int | None:
    for index in range(len(content) - 1, -1, -1):
        block = content[index]
        if type(block) is TextBlock:
            if block.text and not block.text.isspace():
                return index
        elif type(block) in _MARKABLE and not refuses_mark(block, dialect):
            return index
    return None


def refuses_mark(block: Any, dialect: str) -> bool:
    """Whether a breakpoint behind a block makes a request invalid: at Bedrock, Claude refuses it
    behind documents that are no PDF (strands-agents/harness-sdk#1966, read 2026-11)."""
    if type(block) is not DocumentBlock or not traits_of(dialect).breakpoint_parts:
        return False
    return block.source.kind in ("text", "blocks") or block.media_type not in (None, _PDF)


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
    if _is_marked(facts, recorder):

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
