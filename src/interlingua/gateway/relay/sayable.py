"""What a request for another dialect has to be like before it is said there."""

from __future__ import annotations

from interlingua.arguments import recover
from interlingua.gateway.shared.state import Refusal
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.exchange import ErrorKind, Request
from interlingua.model.message import Role


def require_sayable(request: Request) -> None:
    """`Refusal` with 400 where there is nothing to say, or where the arguments of a call are no
    JSON: elsewhere they are an object, and an empty one would be another call."""
    if not request.messages and request.continues is None:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, "the request has no messages")
    for message in request.messages:
        if message.role is not Role.ASSISTANT:
            continue
        for block in message.content:
            if not isinstance(block, ToolUseBlock) or block.call_type == "custom":
                continue
            text = block.raw_arguments
            if text is not None and recover(text).mode == "invalid":
                why = f"the arguments of the call {block.id[:100]!r} are not valid JSON"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, why, "invalid_arguments")
