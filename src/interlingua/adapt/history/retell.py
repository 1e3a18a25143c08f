"""Rewriting history for another dialect or model: the one place where anything is repaired or left
out.

Canonical in, canonical out, on a copy; the stored value is not changed. Each step is a function of
its own; every change is in the report, at its place in the value that was passed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.facts import facts_of
from interlingua.adapt.history.issuers import UNVERIFIED, Recipient
from interlingua.adapt.history.rewriter import HistoryRewriter
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.base import unchecked
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Loss, Report, loss_of

if TYPE_CHECKING:
    from interlingua.profiles.profile import Profile


Retold = Adapted
"""The name of earlier releases."""


def retell(
    value: Any,
    target: str | Dialect,
    model: str | None = None,
    *,
    provider: str | None = None,
    source: str | None = None,
    strict_issuer: bool = False,
    images: bool = True,
    instructions: Literal["place", "hoist"] = "place",
    profile: Profile | None = None,
) -> Adapted:
    """Say a request, a response, or messages so that `target` (and its `model`) can take them.

    `provider` is who serves the model, where it is known: what a host thought goes back to that
    host. `source` is the dialect they were read from, for messages that do not say it. With
    `strict_issuer` signatures go back only through the very dialect that they came by, not to their
    whole signing family. Without `images`, the model takes none, and a placeholder stands for each
    run of them. Instructions in mid-conversation stay in their `place`, unless all are to be
    `hoist`ed to the front. `profile` says which tools of its provider's own the model has, so that
    another's can be said as those."""
    to = dialect_of(target) if isinstance(target, str) else target
    if type(value) is Response:
        who = (to, model, provider, strict_issuer, True, source)
        answer = plain_answer(value, who) if images else None
        if answer is not None:
            return answer
        recorder = LossRecorder(to.name, value, Report(to.name))
        return Adapted(HistoryRewriter(Recipient(*who), recorder).response(value), recorder)
    hoist = require_instructions(instructions)
    request = value if type(value) is Request else _of_messages(value)
    target_model = model or request.model  # unless another one is asked now
    recipient = Recipient(to, target_model, provider, strict_issuer, False, source, request.model)
    recorder = LossRecorder(to.name, request, Report(to.name))
    rewriter = HistoryRewriter(recipient, recorder, images, profile, hoist)
    rewritten, _ = rewriter.request(request, facts_of(request))
    return Adapted(rewritten if type(value) is Request else rewritten.messages, recorder)


def require_instructions(position: str) -> bool:
    """Checks whether instructions are moved to the front; an unknown value is refused."""
    if position not in ("place", "hoist"):
        raise ValueError(
            f"instructions is 'place' (leave them) or 'hoist' (to the front); found {position!r}"
        )
    return position == "hoist"


def _of_messages(messages: Any) -> Request:
    from interlingua.coerce import as_conversation

    found = as_conversation(messages)
    return found if isinstance(found, Request) else unchecked(Request, found)


@lru_cache(1024)
def _unverified(target: str, path: str, message_id: str | None) -> Loss:
    """The loss of a signature, which every answer that thinks may have."""
    return loss_of(target, "dropped", path, UNVERIFIED, None, "thinking", message_id)


_Who = tuple[Dialect, str | None, str | None, bool, bool, str | None]
"""The arguments of a `Recipient`."""


def plain_answer(response: Response, who: _Who) -> Adapted | None:
    """Adapts a plain answer without the steps that do not concern it: text, calls whose ids fit,
    and thinking whose signature may have to go. None for all other answers."""
    to, message = who[0], response.message
    if (
        response.alternatives
        or to.traits.call_signature is not None
        or message.metadata.diagnostics
    ):
        return None
    signed: list[int] = []
    ids: list[str] = []
    content: Any = message.content
    for index, block in enumerate(content):
        kind = type(block)
        if kind is ToolUseBlock:
            if block.signature is not None or block.executor != "client" or block.caller:
                return None
            ids.append(block.id)
        elif kind is ThinkingBlock:
            if block.raw is not None or not block.text:
                return None
            if block.signature is not None:
                signed.append(index)
        elif kind is not TextBlock or block.signature is not None:
            return None
    if ids and not (len(ids) == len(set(ids)) and all(map(to.legal_id, ids))):
        return None
    losses: list[Loss] = []
    if signed and not Recipient(*who).can_read(message):
        blocks = list(content)
        for index in signed:
            blocks[index] = replace(blocks[index], signature=None)
            path = f"$.message.content[{index}].signature"
            losses.append(_unverified(to.name, path, message.id))
        response = replace(response, message=replace(message, content=tuple(blocks)))
    return Adapted(response, LossRecorder(to.name, response, Report(to.name, losses)))
