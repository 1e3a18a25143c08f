"""The most work that a request can cause: the tokens of its prompt and of its answers. It is found
in the request as it is read for translating; parts without a limit are listed.

Most requests of most clients are plain: a few texts and a limit. Those are recognised by a shape
that has no room for anything else, which costs next to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jiter
import msgspec

from interlingua.adapt.facts import OTHER
from interlingua.adapt.remembered import Conversation
from interlingua.client.targets import Target
from interlingua.dialects.front import PlainRequest
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.gateway.shared.fronts import front_of
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import walk
from interlingua.profiles.capabilities import capabilities
from interlingua.profiles.estimate.estimator import estimate_input_tokens

INLINE = frozenset({"base64", "text", "blocks"})
"""Sources that are in the request itself."""
TIERS = frozenset({"auto", "default", "standard", "standard_only", "flex", "unspecified"})
"""Service tiers that cost no more than the table's price."""
_HARMLESS: tuple[Any, ...] = (None, False, [], "standard", "global")
_NAMES = ("url", "uri", "file")


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_value = msgspec.json.Decoder().decode


def unbounded(
    request: Request,
    dialect: str,
    body: bytes = b"",
    special: list[Block] | None = None,
    members: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """The parts of a request without a limit, as text for people. `body` is its source, if
    available, because members may have become fields. `special` are its media and unknown blocks,
    if known."""
    special = _special(request) if special is None else special
    members = _members(body) if body and members is None else members
    return tuple(dict.fromkeys(_found(request, dialect, members, special)))


def _found(
    request: Request, dialect: str, members: Mapping[str, Any] | None, special: list[Block]
) -> Iterator[str]:
    raw = (request.raw or {}).get(dialect)
    front = dialect_of(dialect).front
    words = front.unbounded if front is not None else {}
    yield from _of_members(raw, words)
    if members and words:
        known = {name: _value(value) for name, value in members.items() if name in words}
        yield from _of_members(known, words)
    if front is not None and front.repeats_field is not None and front.repeats_field(raw):
        yield "a limit given twice"
    if request.continues is not None:
        yield "a conversation stored at the provider"
    if any(tool.executor == "provider" for tool in request.tools):
        yield "tools run by the provider"
    options = request.options
    if options.compaction is not None:
        yield "summaries that the provider makes"
    if options.service_tier is not None and options.service_tier not in TIERS:
        yield "a service tier that may cost more"
    if any(kind != "text" for kind in options.modalities or ()):
        yield "output other than text"
    if any(_is_unseen(block) for block in special):
        yield "documents, audio or video given by reference"


def _of_members(raw: Any, words: Mapping[str, str]) -> Iterator[str]:
    for name, value in raw.items() if isinstance(raw, dict) else ():
        if name in words and value not in _HARMLESS and not _only_clears(name, value):
            yield words[name]


def _only_clears(name: str, value: Any) -> bool:
    """Whether a context is only reduced, which every coding agent requests from Anthropic."""
    edits = value.get("edits") if name == "context_management" and isinstance(value, dict) else None
    return isinstance(edits, list) and all(
        isinstance(edit, dict) and str(edit.get("type")).startswith("clear_") for edit in edits
    )


def _is_unseen(block: Block) -> bool:
    if isinstance(block, (AudioBlock, DocumentBlock, VideoBlock)):
        return block.source.kind not in INLINE
    return isinstance(block, UnknownBlock) and _names_something(block.raw)


def _names_something(raw: Any) -> bool:
    """Whether unknown data has an address or a file in it."""
    if isinstance(raw, dict):
        return any(
            any(word in str(key).lower() for word in _NAMES) or _names_something(value)
            for key, value in raw.items()
        )
    return isinstance(raw, list) and any(_names_something(each) for each in raw)


SHORT = 16 * 1024
"""Bytes of a request whose tokens need not be estimated: there are fewer of them than bytes."""
WINDOW = 1_000_000
"""The assumed context size of a model if it is unknown."""
PICTURE = 5_000
"""Tokens of a picture at most; providers make larger ones smaller."""
_MEDIA = (AudioBlock, DocumentBlock, ImageBlock, VideoBlock)
_SPECIAL = (*_MEDIA, UnknownBlock)
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Most(NamedTuple):
    """The most work that a request can cause."""

    input: int
    """Tokens of its prompt."""
    output: int | None
    """Tokens of an answer; None: as many as the model can make."""
    answers: int = 1
    thinking: int = 0
    """Tokens of `output` that are for thinking, and come on top of the limit that is sent."""
    unbounded: tuple[str, ...] = ()
    """The parts without a limit, as text for people."""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is generated, and so nothing has to be paid for."""
        return not self.input and self.output == 0


def plainly(dialect: str, body: bytes) -> Most | None:
    """The limits of a short and plain request; None for all others, which have to be read."""
    decoder = front_of(dialect).plain
    if decoder is None or len(body) > SHORT:
        return None
    try:
        request: PlainRequest = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    answers, output = 1 if request.n is None else request.n, None
    for limit in request.limits():
        if limit is not None:
            if limit < 1:
                return None
            output = limit if output is None or limit > output else output
    return Most(len(body) // 2, output, answers) if answers >= 1 else None


# All others


def most_of(
    request: Request,
    targets: Sequence[Target],
    dialect: str,
    body: bytes = b"",
    retold: bool = True,
    conversation: Conversation | None = None,
    members: Mapping[str, Any] | None = None,
) -> Most:
    """The most work of a request that was read from `body`, or contains more than the body. If it
    is `retold`, its limit may be raised for its thinking budget. With its `conversation`, only the
    new messages are counted; `members` are those of the body, if available."""
    options = request.options
    special = _special(request, conversation)
    found = unbounded(request, dialect, body, special, members)
    tokens = _input(request, targets[0].model, body, special, conversation)
    if found:
        tokens = max(tokens, *[window(target.model) for target in targets])
    thinking = 0
    if retold and options.reasoning is not None:
        thinking = max(options.reasoning.budget_tokens or 0, 0)
    output = output_limit(request, dialect)
    if output is not None:
        output += thinking
    answers = options.n if options.n is not None and options.n > 0 else 1
    return Most(tokens, output, answers, thinking, found)


def output_limit(request: Request, dialect: str) -> int | None:
    """The output limit; only positive numbers count. Of several, the highest may apply."""
    raw = (request.raw or {}).get(dialect)
    others = [raw[name] for name in LIMITS if name in raw] if isinstance(raw, dict) else []
    limits = [request.options.max_output_tokens, *[each for each in others if each is not None]]
    counts = [each for each in limits if isinstance(each, (int, float)) and each >= 1]
    return int(max(counts)) if counts and len(counts) == len(limits) else None


def _special(request: Request, conversation: Conversation | None = None) -> list[Block]:
    """Blocks that are media, or unknown."""
    if conversation is not None and not conversation.facts_for(request).content & OTHER:
        return []
    return [block for _, _, block in walk(request.messages) if isinstance(block, _SPECIAL)]


def _input(
    request: Request,
    model: str,
    body: bytes,
    special: list[Block],
    conversation: Conversation | None,
) -> int:
    media = [block for block in special if isinstance(block, _MEDIA)]
    if 0 < len(body) <= SHORT and not media:
        return len(body) // 2
    if conversation is not None:
        tokens = conversation.estimate(request, model)
    else:
        tokens = estimate_input_tokens(request.messages, request.tools, model, request.options)
    named = [each for each in media if each.source.kind not in INLINE]
    tokens += PICTURE * sum(isinstance(each, ImageBlock) for each in named)
    return max(tokens, len(body) // 2) if len(body) <= SHORT else tokens


def has_duplicate_keys(body: bytes) -> bool:
    """Whether an object of a body has two members of one name."""
    try:
        jiter.from_json(body, catch_duplicate_keys=True)
    except ValueError as error:
        return "duplicate key" in str(error)
    return False


def without_duplicate_keys(body: bytes) -> bytes:
    """The body with one member of each name, the one that is read here. A provider may go by the
    first where we go by the last."""
    return msgspec.json.encode(msgspec.json.decode(body)) if has_duplicate_keys(body) else body


@lru_cache(maxsize=1000)
def window(model: str) -> int:
    """Tokens that a model takes at most."""
    try:
        return capabilities(model).max_context_tokens or WINDOW
    except InterlinguaError:
        return WINDOW
