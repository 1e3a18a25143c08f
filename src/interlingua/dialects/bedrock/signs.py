"""By what bedrock is recognised."""

from __future__ import annotations

from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, has_key, messages_there, parts_of

_KEYS = frozenset({"inferenceConfig", "toolConfig", "additionalModelRequestFields", "modelId"})


def _converse_keys(data: Wire) -> bool:
    return "contents" not in data and not _KEYS.isdisjoint(data)


def _untyped_parts(data: Wire) -> bool:
    """Bedrock's parts are objects with one key and no type."""
    parts = list(parts_of(data))
    return bool(parts) and all("type" not in part and len(part) == 1 for part in parts)


def _untyped_system(data: Wire) -> bool:
    system = data.get("system")
    return isinstance(system, list) and all(
        isinstance(part, dict) and "type" not in part for part in system
    )


def _bedrock_output(data: Wire) -> bool:
    return isinstance(data.get("output"), dict) and "message" in data["output"]


def _aws_error(data: Wire) -> bool:
    """A message alone is any API's, so its type has to be there too."""
    keys = {key.lower() for key in data}
    has_message = isinstance(data.get("message", data.get("Message")), str)
    return has_message and {"message"} < keys <= {"message", "__type", "code"}


def _bedrock_answer_there(data: Wire) -> bool:
    return _bedrock_output(data) or _aws_error(data)


BODIES: dict[Kind, Holds] = {"request": messages_there, "response": _bedrock_answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 9, "keys of Converse", _converse_keys),
    Sign("request", 6, "parts with one key and no type", _untyped_parts),
    Sign("request", 4, "system parts with no type", _untyped_system),
    Sign("response", 9, "output.message", _bedrock_output),
    Sign("response", 5, "stopReason", has_key("stopReason")),
    Sign("response", 4, "a message with its type", _aws_error),
)


STARTS = (b"\0",)
"""How a stream may begin that needs no further look: with the length of a message in AWS's
framing."""
