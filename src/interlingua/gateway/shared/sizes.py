"""What a request can make a provider do at most: the tokens of its prompt and of its answers. It is
found in the request as it is read for translating; what nobody can limit is told apart.

Most requests of most clients are plain: a few texts and a limit. Those are recognised by a shape
that has no room for anything else, which costs next to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import jiter
import msgspec

from interlingua.client.targets import Target
from interlingua.dialects.front import PlainRequest
from interlingua.errors import InterlinguaError
from interlingua.estimate.estimator import estimate_input_tokens
from interlingua.gateway.shared.fronts import front_of
from interlingua.gateway.shared.unbounded import INLINE, unbounded
from interlingua.model.blocks import AudioBlock, DocumentBlock, ImageBlock, VideoBlock
from interlingua.model.exchange import Request
from interlingua.model.walk import walk
from interlingua.models.capabilities import capabilities

SHORT = 16 * 1024
"""Bytes of a request whose tokens need not be estimated: there are fewer of them than bytes."""
WINDOW = 1_000_000
"""Tokens that a model takes at most, where nobody knows."""
PICTURE = 5_000
"""Tokens of a picture at most; providers make larger ones smaller."""
_MEDIA = (AudioBlock, DocumentBlock, ImageBlock, VideoBlock)
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Most(NamedTuple):
    """The most that a request asks for."""

    input: int
    """Tokens of its prompt."""
    output: int | None
    """Tokens of an answer; None: as many as the model can make."""
    answers: int = 1
    unbounded: tuple[str, ...] = ()
    """What nobody can limit, in words for people."""

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is generated, and so nothing has to be paid for."""
        return not self.input and self.output == 0


def plainly(dialect: str, body: bytes) -> Most | None:
    """What a short and plain request asks for; None for all others, which have to be read."""
    decoder = front_of(dialect).plain
    if decoder is None or len(body) > SHORT:
        return None
    try:
        said: PlainRequest = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    answers = 1 if said.n is None else said.n
    limits = [limit for limit in said.limits() if limit is not None]
    if answers < 1 or any(limit < 1 for limit in limits):
        return None
    return Most(len(body) // 2, max(limits, default=None), answers)


# All others


def most_of(
    request: Request,
    targets: Sequence[Target],
    dialect: str,
    body: bytes = b"",
    retold: bool = True,
) -> Most:
    """What a request asks for that was read from `body`, or has more in it than that. One that is
    `retold` may be given a higher limit, so that its budget for thinking has room in it."""
    options = request.options
    found = unbounded(request, dialect, body)
    tokens = _input(request, targets[0].model, body)
    if found:
        tokens = max(tokens, *[window(target.model) for target in targets])
    thinking = options.reasoning.budget_tokens if options.reasoning is not None else None
    output = _output(request, dialect)
    if output is not None and retold:
        output += max(thinking or 0, 0)
    answers = options.n if options.n is not None and options.n > 0 else 1
    return Most(tokens, output, answers, found)


def _output(request: Request, dialect: str) -> int | None:
    """A limit that is no positive number is none. Where several are said, any may be the one."""
    raw = (request.raw or {}).get(dialect)
    others = [raw[name] for name in _LIMITS if name in raw] if isinstance(raw, dict) else []
    said = [request.options.max_output_tokens, *[each for each in others if each is not None]]
    counts = [each for each in said if isinstance(each, (int, float)) and each >= 1]
    return int(max(counts)) if counts and len(counts) == len(said) else None


def _input(request: Request, model: str, body: bytes) -> int:
    media = [block for _, _, block in walk(request.messages) if isinstance(block, _MEDIA)]
    if 0 < len(body) <= SHORT and not media:
        return len(body) // 2
    tokens = estimate_input_tokens(request.messages, request.tools, model, request.options)
    named = [each for each in media if each.source.kind not in INLINE]
    tokens += PICTURE * sum(isinstance(each, ImageBlock) for each in named)
    return max(tokens, len(body) // 2) if len(body) <= SHORT else tokens


def said_once(body: bytes) -> bytes:
    """The body with one member of each name, the one that is read here. A provider may go by the
    first where we go by the last."""
    try:
        jiter.from_json(body, catch_duplicate_keys=True)
    except ValueError as error:
        if "duplicate key" not in str(error):
            return body  # whoever reads it says what is wrong with it
        return msgspec.json.encode(msgspec.json.decode(body))
    return body


@lru_cache(maxsize=1000)
def window(model: str) -> int:
    """Tokens that a model takes at most."""
    try:
        return capabilities(model).max_context_tokens or WINDOW
    except InterlinguaError:
        return WINDOW
