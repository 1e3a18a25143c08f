"""How large a prompt can be that a key pays for. Most of it is in the request; some of it is only
named there: pictures and documents at an address, and conversations that the provider keeps. What
cannot be seen is taken to be as large as it can be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from interlingua.client.targets import Target
from interlingua.errors import InterlinguaError
from interlingua.estimate.estimator import estimate_input_tokens
from interlingua.model.blocks import AudioBlock, DocumentBlock, ImageBlock, VideoBlock
from interlingua.model.exchange import Request
from interlingua.model.walk import walk
from interlingua.models.capabilities import capabilities

SHORT = 16 * 1024
"""Bytes of a request that need not be understood to be limited."""
WINDOW = 1_000_000
"""Tokens that a model takes at most, where nobody knows."""
PICTURE = 5_000
"""Tokens of a picture at most; providers make larger ones smaller."""
_NAMED = re.compile(
    rb'"(?:input_)?(?:image|document|file|video|audio)|"inlineData|"inline_data|"item_reference'
    rb'|"previous_response_id"|"conversation"|"prompt"'
)
_INLINE = frozenset({"base64", "text", "blocks"})


def tells_all(body: bytes) -> bool:
    """Whether a short body has its whole prompt in it, so that its length says enough."""
    return len(body) <= SHORT and _NAMED.search(body) is None


def most_input(request: Request, targets: Sequence[Target], body: bytes) -> int:
    """Tokens that the prompt may have, with any of the targets."""
    model = targets[0].model
    tokens = estimate_input_tokens(
        request.messages, request.tools, model, request.options
    ) + _of_pictures(request)
    if len(body) <= SHORT:
        tokens = max(tokens, len(body) // 2)
    if _has_unseen(request):
        tokens = max(tokens, *[window(target.model) for target in targets])
    return tokens


def _of_pictures(request: Request) -> int:
    return PICTURE * sum(
        isinstance(block, ImageBlock) and block.source.kind not in _INLINE
        for block in _blocks(request)
    )


def _has_unseen(request: Request) -> bool:
    if request.continues is not None:
        return True
    return any(
        isinstance(block, (AudioBlock, DocumentBlock, VideoBlock))
        and block.source.kind not in _INLINE
        for block in _blocks(request)
    )


def _blocks(request: Request) -> Iterable[object]:
    return [block for _, _, block in walk(request.messages)]


@lru_cache(maxsize=1000)
def window(model: str) -> int:
    """Tokens that a model takes at most."""
    try:
        return capabilities(model).max_context_tokens or WINDOW
    except InterlinguaError:
        return WINDOW
