"""Saying history to another dialect or model: the one place where anything is repaired or left out.

Canonical in, canonical out, on a copy; what is stored stays as it is. Each step is a function of
its own; every change is in the report, at its place in the value that was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from interlingua.callable_module import let_call
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.losses import Loss, Report
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message, Role
from interlingua.retelling.instructions import in_front
from interlingua.retelling.issuers import UNVERIFIED, Listener
from interlingua.retelling.search_options import asks_beside
from interlingua.retelling.teller import Teller
from interlingua.retelling.wording import Wording

if TYPE_CHECKING:
    from interlingua.fitting.back import Back
    from interlingua.models.profile import Profile

_ASSISTANT, _TOOL, _USER = Role.ASSISTANT, Role.TOOL, Role.USER


class Retold(msgspec.Struct, frozen=True):
    """`value` is what to write; `scribe` knows which original stands behind each part of it. `back`
    reads the answer, where the model has to be asked in another way."""

    value: Any
    report: Report
    scribe: LossRecorder
    back: Back | None = None


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
) -> Retold:
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
        listener = Listener(to, model, provider, strict_issuer, True, source)
        answer = _plain_answer(value, listener) if images else None
        return answer or _stepwise(value, listener, images, profile)
    are_messages = type(value) is not Request
    request = value if type(value) is Request else _of_messages(value)
    told = _plain_request(request, to, source) if images else None
    if told is None:
        asked = model or request.model  # unless another one is asked now
        listener = Listener(to, asked, provider, strict_issuer, False, source, request.model)
        told = _stepwise(request, listener, images, profile, instructions == "hoist")
    return Retold(told.value.messages, told.report, told.scribe) if are_messages else told


def _of_messages(messages: Message | list[Message] | tuple[Message, ...]) -> Request:
    return Request((messages,) if isinstance(messages, Message) else tuple(messages))


def _stepwise(
    value: Request | Response,
    listener: Listener,
    images: bool,
    profile: Profile | None,
    hoist: bool = False,
) -> Retold:
    """The long way, which looks for everything that may have to be repaired."""
    teller = Teller(value, listener, images, profile)
    told: Request | Response
    if isinstance(value, Response):
        told = teller.response(value)
    else:
        told = teller.request(in_front(value, teller.scribe) if hoist else value)
    return Retold(told, teller.scribe.report, teller.scribe)


def _plain_request(request: Request, to: Dialect, source: str | None) -> Retold | None:
    """A request in which only the user has spoken, as it is, if the target takes all of it."""
    if not _is_simple(request):
        return None
    report = Report(to.name)
    scribe = LossRecorder(to.name, request, report)
    wording = Wording(to.name, to.traits, scribe)
    if source == to.name or all(map(wording.takes, request.messages)):
        return Retold(request, report, scribe)
    return None


def _is_simple(request: Request) -> bool:
    """Whether nobody but the user has spoken yet, after the instructions: nothing to repair."""
    if request.tools or request.continues is not None or request.options.metadata is not None:
        return False
    if request.raw is not None and asks_beside(request):
        return False
    leading = True
    for message in request.messages:
        role = message.role
        if role is _USER:
            leading = False
        elif role is _ASSISTANT or role is _TOOL or not leading:
            return False
        if message.changes is not None:
            return False
    return True


def _plain_answer(response: Response, listener: Listener) -> Retold | None:
    """The usual answer, said without looking for what it does not have: text, calls whose ids fit,
    and thinking, of which a signature may have to go. None for all others."""
    to, message = listener.dialect, response.message
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
            if block.signature is not None or block.executor != "client":
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
    if signed and not listener.can_read(message):
        told = list(content)
        for index in signed:
            told[index] = replace(told[index], signature=None)
            path = f"$.message.content[{index}].signature"
            losses.append(Loss("dropped", path, UNVERIFIED, "warning", "thinking", message.id))
        response = replace(response, message=replace(message, content=tuple(told)))
    report = Report(to.name, losses)
    return Retold(response, report, LossRecorder(to.name, response, report))


let_call(__name__, "retell")
