"""What is left to say of a message at the end of its stream."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING

_TOLD = THINKING | {"role", "refusal"}
_CALL = frozenset({"id", "type", "function", "custom", "index"})
_TEXTS = ("text", "thinking", "redacted_thinking", "refusal")


def rest_of_message(message: Wire, said: list[str], media: dict[str, int]) -> Wire:
    """A delta of what the whole message has and its stream has not said; `said` are the ids of the
    calls that it has, and `media` how much of each key."""
    rest: Wire = {}
    for key, value in message.items():
        if key == "content":
            value = _rest_of_content(value)
        elif key == "tool_calls":
            value = _rest_of_calls(value or [], said)
        elif key in _TOLD or (key in media and type(value) is not list):
            continue
        elif key in media:
            value = value[media[key] :]
        if value:
            rest[key] = value
    return rest


def _rest_of_content(content: Any) -> list[Any]:
    """Parts that are no text; texts were said as they came."""
    if type(content) is not list:
        return []
    return [part for part in content if type(part) is dict and part.get("type") not in _TEXTS]


def _rest_of_calls(calls: list[Any], said: list[str]) -> list[Wire]:
    """Calls that were not said, and what was not said of the others."""
    rest: list[Wire] = []
    count = len(said)
    for ordinal, call in enumerate(calls):
        id = call.get("id")
        index = said.index(id) if id in said else ordinal
        if id in said or (id is None and len(calls) == len(said)):
            more = {key: value for key, value in call.items() if key not in _CALL}
            rest += [{"index": index, "function": {"arguments": ""}, **more}] if more else []
        else:
            rest.append(whole_call(call, count))
            count += 1
    return rest


def whole_call(call: Wire, index: int) -> Wire:
    """A call that is said in one piece."""
    call = {**call, "index": index}
    if call.get("type") == "custom":  # a word that the types for streams do not know
        del call["type"]
    return call
