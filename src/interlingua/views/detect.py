"""Detects the view of some JSON by its shape: bare messages, or the context of the camel view."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

from interlingua.views.camel import BLOCKS
from interlingua.views.flat import PARTS as FLAT_PARTS
from interlingua.views.flat import ROLES as FLAT_ROLES
from interlingua.views.langchain import ROLES as LANGCHAIN_ROLES
from interlingua.views.llm import PARTS as LLM_PARTS
from interlingua.views.openai_ui import ROLES as UI_ROLES
from interlingua.views.parts import KINDS
from interlingua.views.parts import ROLES as PARTS_ROLES

Messages = list[dict[str, Any]]


SURE = 10
"""The weight of a sign that no provider's format has."""


class Sign(NamedTuple):
    view: str
    weight: int
    evidence: str
    holds: Callable[[Messages], bool]


class Shape(NamedTuple):
    """How to recognise the messages of a library, and an answer among them."""

    view: str
    evidence: str
    holds: Callable[[dict[str, Any]], bool]
    is_answer: Callable[[dict[str, Any]], bool]


class Guess(NamedTuple):
    """A view that fits, and why. `is_answer`: it is one message, and a model's."""

    view: str
    evidence: tuple[str, ...]
    score: int
    is_answer: bool


def guesses(data: Any) -> list[Guess]:
    """All views that fit."""
    return [*_libraries(data), *_guesses(data)]


def _libraries(data: Any) -> list[Guess]:
    """Libraries in whose shape every single message is."""
    items = data if isinstance(data, list) else [data]
    if not items or not all(isinstance(item, dict) for item in items):
        return []
    fitting = [shape for shape in SHAPES if all(shape.holds(item) for item in items)]
    if not any("provider_data" in item for item in items):
        fitting = [shape for shape in fitting if shape.view != "openai-agents"]
    is_answer = not isinstance(data, list)
    return [
        Guess(shape.view, (shape.evidence,), 20, is_answer and shape.is_answer(data))
        for shape in fitting
    ]


def _guesses(data: Any) -> list[Guess]:
    context = isinstance(data, dict) and "messages" in data
    messages = data["messages"] if context else [data] if isinstance(data, dict) else data
    if not _are_messages(messages):
        return []
    found: list[Guess] = []
    signs = [sign for sign in SIGNS if not context or _in_context(sign)]
    is_answer = not isinstance(data, list) and messages[0]["role"] in ("assistant", "ASSISTANT")
    for view in dict.fromkeys(sign.view for sign in signs):
        seen = [sign for sign in signs if sign.view == view and sign.holds(messages)]
        evidence, score = [sign.evidence for sign in seen], sum(sign.weight for sign in seen)
        if view == "camel" and context and isinstance(data.get("systemPrompt"), str):
            evidence, score = [*evidence, "systemPrompt"], score + SURE
        if score:
            found.append(Guess(view, tuple(evidence), score, is_answer and not context))
    return found


def _in_context(sign: Sign) -> bool:
    """Whether it distinguishes a view from a provider's request, which has `messages` too."""
    return sign.view == "camel" or (sign.view == "flat" and sign.weight >= SURE)


def _are_messages(messages: Any) -> bool:
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(each, dict) and isinstance(each.get("role"), str) for each in messages)
        and not any("schema_version" in each for each in messages)  # the canonical form
    )


def _objects(messages: Messages, key: str) -> Iterator[dict[str, Any]]:
    lists = [message[key] for message in messages if isinstance(message.get(key), list)]
    return (each for some in lists for each in some if isinstance(each, dict))


def _some(key: str, holds: Callable[[dict[str, Any]], bool]) -> Callable[[Messages], bool]:
    """Whether an object in this list of some message is such."""
    return lambda messages: any(holds(each) for each in _objects(messages, key))


def _word(part: dict[str, Any], key: str = "type") -> str | None:
    word = part.get(key)
    return word if isinstance(word, str) else None


def _roles(messages: Messages) -> set[str]:
    return {message["role"] for message in messages}


def _keys(*keys: str) -> Callable[[Messages], bool]:
    return lambda messages: any(key in message for message in messages for key in keys)


def _plain(messages: Messages, roles: Mapping[str, Any], types: Container[str | None]) -> bool:
    """Whether everything is text, or of these types, in these roles."""
    return _roles(messages) <= roles.keys() and all(
        _word(part) in types for part in _objects(messages, "content")
    )


def _camel_part(part: dict[str, Any]) -> bool:
    kind = part.get("type")
    return (
        kind == "toolCall"
        or "thinkingSignature" in part
        or "textSignature" in part
        or (kind == "image" and "mimeType" in part)
        or (kind == "thinking" and part.get("redacted") is True)
    )


def _flat_media(part: dict[str, Any]) -> bool:
    return part.get("type") in ("image", "audio", "file") and any(
        isinstance(part.get(key), str) for key in ("url", "data", "file_id")
    )


def _is_flat_result(message: dict[str, Any]) -> bool:
    others = ("tool_call_id", "toolCallId", "tool_name")
    return (
        message["role"] == "tool" and "id" in message and not any(key in message for key in others)
    )


def _is_ui(messages: Messages) -> bool:
    return _plain(messages, UI_ROLES, ("text", None))


_has_answers = _keys("tool_call_id")
_has_functions = _some("tool_calls", lambda call: "function" in call)


SIGNS: tuple[Sign, ...] = (
    Sign("parts", SURE, "roles in upper case", lambda m: _roles(m) <= PARTS_ROLES.keys()),
    Sign("parts", SURE, "parts with a kind", _some("content", lambda p: _word(p, "kind") in KINDS)),
    Sign("camel", SURE, "role toolResult", lambda m: "toolResult" in _roles(m)),
    Sign("camel", SURE, f"blocks of camel ({', '.join(BLOCKS)})", _some("content", _camel_part)),
    Sign("camel", 6, "keys in camelCase", _keys("stopReason", "responseModel", "responseId")),
    Sign("flat", SURE, "call_id or extra", _keys("call_id", "extra")),
    Sign("flat", 6, "reasoning or refusal beside the content", _keys("reasoning", "refusal")),
    Sign(
        "flat",
        SURE,
        "calls with name and arguments",
        _some("tool_calls", lambda c: "name" in c and "function" not in c),
    ),
    Sign(
        "flat",
        SURE,
        "media with url, data or file_id beside the type",
        _some("content", _flat_media),
    ),
    Sign("flat", SURE, "results that answer an id", lambda m: any(map(_is_flat_result, m))),
    Sign("flat", 3, "plain messages", lambda m: _plain(m, FLAT_ROLES, FLAT_PARTS)),
    Sign("openai-ui", 6, "tool_call_id", lambda m: _is_ui(m) and _has_answers(m)),
    Sign("openai-ui", 6, "calls with a function", lambda m: _is_ui(m) and _has_functions(m)),
    Sign("openai-ui", 2, "plain messages", lambda m: _is_ui(m)),
)


def _is_pydantic_ai(item: dict[str, Any]) -> bool:
    return item.get("kind") in ("request", "response") and isinstance(item.get("parts"), list)


def _is_response(item: dict[str, Any]) -> bool:
    return bool(item["kind"] == "response")


def _is_answer(item: dict[str, Any]) -> bool:
    return item.get("role") == "assistant"


def _is_agents_item(item: dict[str, Any]) -> bool:
    return "role" in item or "type" in item


def _is_langchain(item: dict[str, Any]) -> bool:
    match item:
        case {"lc": int(), "id": ["langchain" | "langchain_core", *_], "kwargs": {"content": _}}:
            return True
        case {"type": str(word), "data": {"content": _}}:
            return word in LANGCHAIN_ROLES
        case {"type": str(word), "content": _, "response_metadata": _}:
            return word in LANGCHAIN_ROLES
    return False


def _is_ai_message(item: dict[str, Any]) -> bool:
    return item.get("type") == "ai" or "AIMessage" in item.get("id", ())


def _is_llama_index(item: dict[str, Any]) -> bool:
    blocks = item.get("blocks")
    return (
        isinstance(item.get("role"), str)
        and isinstance(blocks, list)
        and all(isinstance(block, dict) and "block_type" in block for block in blocks)
    )


def _is_llm(item: dict[str, Any]) -> bool:
    """A message, or a response with its prompt."""
    if isinstance(item.get("prompt"), dict) and isinstance(item.get("messages"), list):
        return all(isinstance(each, dict) and _is_llm(each) for each in item["messages"])
    parts = item.get("parts")
    return (
        isinstance(item.get("role"), str)
        and "id" not in item
        and isinstance(parts, list)
        and all(isinstance(part, dict) and _word(part) in LLM_PARTS for part in parts)
    )


SHAPES: tuple[Shape, ...] = (
    Shape("pydantic-ai", "requests and responses made of parts", _is_pydantic_ai, _is_response),
    Shape("langchain", "messages of LangChain", _is_langchain, _is_ai_message),
    Shape("llama-index", "messages made of blocks with a block_type", _is_llama_index, _is_answer),
    Shape("llm-messages", "messages of llm", _is_llm, _is_answer),
    Shape("openai-agents", "items with provider_data", _is_agents_item, lambda _: False),
)
