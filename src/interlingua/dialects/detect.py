"""Which dialect some JSON is in, by its shape.

`SIGNS` is a table: each sign speaks for one dialect and kind with a weight. A sign of weight 5 or
more is proof enough by itself; signs of lesser weight add up. No sign speaks for JSON that has no
conversation where the dialect has it: `BODIES` says where that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from interlingua.dialects.registry import Detected, Kind


class Sign(NamedTuple):
    dialect: str
    kind: Kind
    weight: int
    says: str
    """The evidence in words."""
    holds: Callable[[dict[str, Any]], bool]


def candidates(data: Any) -> list[Detected]:
    """All dialects that fit, the best first, each with its evidence."""
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # Gemini's streaming endpoint wraps an error in a list
    if not isinstance(data, dict):
        return []
    scores: dict[tuple[str, Kind], int] = {}
    evidence: dict[tuple[str, Kind], list[str]] = {}
    bodies = {key for key, is_there in BODIES.items() if is_there(data)}
    for sign in SIGNS:
        key = (sign.dialect, sign.kind)
        if key in bodies and sign.holds(data):
            scores[key] = scores.get(key, 0) + sign.weight
            evidence.setdefault(key, []).append(sign.says)
    found = [
        Detected(dialect, kind, tuple(evidence[dialect, kind]), score)
        for (dialect, kind), score in scores.items()
        if score > 0
    ]
    return sorted(found, key=lambda each: -each.score)


def _has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda data: any(key in data for key in keys)


def _is(key: str, *values: Any) -> Callable[[dict[str, Any]], bool]:
    return lambda data: isinstance(data.get(key), (str, bool)) and data[key] in values


def _of_type(key: str, kind: type) -> Callable[[dict[str, Any]], bool]:
    return lambda data: isinstance(data.get(key), kind)


def _messages(data: dict[str, Any]) -> list[dict[str, Any]]:
    messages = data.get("messages")
    if not isinstance(messages, list):
        return []
    return [message for message in messages if isinstance(message, dict)]


def _parts(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in _messages(data):
        content = message.get("content")
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict):
                yield part


def _roles(data: dict[str, Any]) -> bool:
    messages = _messages(data)
    return bool(messages) and all("role" in message for message in messages)


def _part_types(*types: str) -> Callable[[dict[str, Any]], bool]:
    return lambda data: any(
        isinstance(part.get("type"), str) and part["type"] in types for part in _parts(data)
    )


def _message_keys(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda data: any(key in message for message in _messages(data) for key in keys)


def _tool_keys(*keys: str) -> Callable[[dict[str, Any]], bool]:
    def holds(data: dict[str, Any]) -> bool:
        tools = data.get("tools")
        return isinstance(tools, list) and any(
            isinstance(tool, dict) and key in tool for tool in tools for key in keys
        )

    return holds


def _untyped_parts(data: dict[str, Any]) -> bool:
    """Bedrock's parts are objects with one key and no type."""
    parts = list(_parts(data))
    return bool(parts) and all("type" not in part and len(part) == 1 for part in parts)


def _untyped_system(data: dict[str, Any]) -> bool:
    system = data.get("system")
    return isinstance(system, list) and all(
        isinstance(part, dict) and "type" not in part for part in system
    )


def _leading_system(data: dict[str, Any]) -> bool:
    messages = _messages(data)
    return bool(messages) and messages[0].get("role") in ("system", "developer")


def _call_arguments(kind: type) -> Callable[[dict[str, Any]], bool]:
    def holds(data: dict[str, Any]) -> bool:
        messages = [*_messages(data), data.get("message")]
        for message in messages:
            calls = message.get("tool_calls") if isinstance(message, dict) else None
            for call in calls if isinstance(calls, list) else []:
                function = call.get("function") if isinstance(call, dict) else None
                if isinstance(function, dict) and isinstance(function.get("arguments"), kind):
                    return True
        return False

    return holds


def _bare_images(data: dict[str, Any]) -> bool:
    return any(
        isinstance(message.get("images"), list)
        and all(isinstance(image, str) for image in message["images"])
        for message in _messages(data)
        if message.get("images")
    )


def _choice_keys(*keys: str) -> Callable[[dict[str, Any]], bool]:
    def holds(data: dict[str, Any]) -> bool:
        choices = data.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                message = choice.get("message")
                inner = message if isinstance(message, dict) else {}
                if any(key in choice or key in inner for key in keys):
                    return True
        return False

    return holds


def _error_has(*keys: str) -> Callable[[dict[str, Any]], bool]:
    return lambda data: (
        isinstance(data.get("error"), dict)
        and data.get("type") != "error"
        and all(key in data["error"] for key in keys)
    )


def _gemini_error(data: dict[str, Any]) -> bool:
    error = data.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("status"), str)
    )


def _openrouter_error(data: dict[str, Any]) -> bool:
    error = data.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and "status" not in error
        and "type" not in error
    )


def _input_items(data: dict[str, Any]) -> bool:
    return "input" in data and isinstance(data["input"], (str, list)) and "messages" not in data


def _bedrock_output(data: dict[str, Any]) -> bool:
    return isinstance(data.get("output"), dict) and "message" in data["output"]


def _aws_error(data: dict[str, Any]) -> bool:
    """A message alone is any API's, so its type has to be there too."""
    keys = {key.lower() for key in data}
    said = isinstance(data.get("message", data.get("Message")), str)
    return said and {"message"} < keys <= {"message", "__type", "code"}


def _lone_error(data: dict[str, Any]) -> bool:
    return isinstance(data.get("error"), str) and data.keys() <= {"error", "signin_url"}


def _all_have(items: Any, *keys: str) -> bool:
    """A list of objects each of which has one of these keys."""
    return isinstance(items, list) and all(
        isinstance(item, dict) and any(key in item for key in keys) for item in items
    )


_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function", "model"})


def _messages_there(data: dict[str, Any]) -> bool:
    """Messages with roles, one of which is somebody's in a conversation."""
    messages = data.get("messages")
    return _all_have(messages, "role") and (
        not messages or any(_word(each["role"]) in _ROLES for each in _messages(data))
    )


def _anthropic_messages_there(data: dict[str, Any]) -> bool:
    """Hosts of Chat have keys of Anthropic's, but not its roles."""
    roles = [message.get("role") for message in _messages(data)]
    chat = {"tool", "function", "developer"}.intersection(filter(None, map(_word, roles)))
    return _messages_there(data) and not chat and roles[:1] != ["system"]


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _input_there(data: dict[str, Any]) -> bool:
    given = data.get("input")
    if any(key in data for key in _OTHER_INPUT) or _makes_no_answers(data.get("model")):
        return False
    if isinstance(given, list):
        return _all_have(given, "type", "role", "content", "id") and not any(
            item.get("type") == "user_input" for item in given
        )
    return given is None or (isinstance(given, str) and any(key in data for key in _BESIDE_INPUT))


_OTHER_INPUT = (
    *("encoding_format", "dimensions", "voice", "system_instruction", "agent", "messages"),
    *("contents",),
)
"""Beside an input, what only embeddings, speech and Gemini's interactions have; and what would be
the conversation if it were one. Interactions also have an input of type `user_input`."""


def _makes_no_answers(model: Any) -> bool:
    """Models that are asked with `model` and `input` too, and say nothing."""
    return isinstance(model, str) and any(
        word in model for word in ("embed", "moderation", "tts-", "-tts")
    )


_BESIDE_INPUT = (
    *("model", "prompt", "instructions", "previous_response_id", "conversation", "tools"),
    *("stream", "max_output_tokens", "reasoning", "text"),
)


def _contents_there(data: dict[str, Any]) -> bool:
    """Turns of parts; parts with a type are those of some page."""
    contents = data.get("contents")
    turns: list[Any] = contents if isinstance(contents, list) else [contents]
    return _all_have(turns, "parts", "role") and not any(
        isinstance(part, dict) and "type" in part
        for turn in turns
        if isinstance(turn.get("parts"), list)
        for part in turn["parts"]
    )


def _choices_there(data: dict[str, Any]) -> bool:
    choices = ("message", "messages", "delta", "finish_reason", "text")
    return "error" in data or _all_have(data.get("choices"), *choices)


def _message_there(data: dict[str, Any]) -> bool:
    return data.get("type") == "error" or isinstance(data.get("content"), list)


def _candidates_there(data: dict[str, Any]) -> bool:
    found = ("content", "finishReason", "finish_reason", "index")
    return "candidates" not in data or _all_have(data["candidates"], *found)


def _output_there(data: dict[str, Any]) -> bool:
    return (
        data.get("object") == "response" or "error" in data or _all_have(data.get("output"), "type")
    )


def _ollama_answer_there(data: dict[str, Any]) -> bool:
    return isinstance(data.get("message"), dict) or _lone_error(data)


def _bedrock_answer_there(data: dict[str, Any]) -> bool:
    return _bedrock_output(data) or _aws_error(data)


BODIES: dict[tuple[str, Kind], Callable[[dict[str, Any]], bool]] = {
    ("openai-chat", "request"): _messages_there,
    ("openrouter", "request"): _messages_there,
    ("anthropic", "request"): _anthropic_messages_there,
    ("bedrock", "request"): _messages_there,
    ("ollama", "request"): _messages_there,
    ("openai-responses", "request"): _input_there,
    ("gemini", "request"): _contents_there,
    ("openai-chat", "response"): _choices_there,
    ("openrouter", "response"): _choices_there,
    ("openai-responses", "response"): _output_there,
    ("anthropic", "response"): _message_there,
    ("gemini", "response"): _candidates_there,
    ("ollama", "response"): _ollama_answer_there,
    ("bedrock", "response"): _bedrock_answer_there,
}
"""Whether there is something that could be the conversation."""

SIGNS: tuple[Sign, ...] = (
    Sign("openai-chat", "request", 2, "messages with roles", _roles),
    Sign(
        "openai-chat",
        "request",
        3,
        "keys of Chat",
        _has(
            "max_completion_tokens",
            "response_format",
            "frequency_penalty",
            "presence_penalty",
            "logprobs",
            "top_logprobs",
            "n",
            "stream_options",
            "reasoning_effort",
            "parallel_tool_calls",
            "logit_bias",
            "functions",
        ),
    ),
    Sign(
        "openai-chat",
        "request",
        3,
        "parts of Chat",
        _part_types("image_url", "input_audio", "file", "refusal"),
    ),
    Sign("openai-chat", "request", 2, "tools in a function key", _tool_keys("function")),
    Sign("openai-chat", "request", 3, "call arguments as text", _call_arguments(str)),
    Sign("openai-chat", "request", 2, "tool_call_id", _message_keys("tool_call_id")),
    Sign("openai-chat", "request", 1, "max_tokens", _has("max_tokens")),
    Sign("openai-chat", "request", 3, "a leading message of role system", _leading_system),
    Sign(
        "openrouter",
        "request",
        9,
        "keys of OpenRouter",
        _has("plugins", "models", "transforms", "route", "provider"),
    ),
    Sign("openrouter", "request", 9, "reasoning_details", _message_keys("reasoning_details")),
    Sign(
        "openrouter",
        "request",
        6,
        "a reasoning object beside messages",
        lambda data: isinstance(data.get("reasoning"), dict) and "messages" in data,
    ),
    Sign("anthropic", "request", 1, "messages with roles", _roles),
    Sign("anthropic", "request", 2, "max_tokens", _has("max_tokens")),
    Sign(
        "anthropic",
        "request",
        5,
        "keys of Anthropic",
        _has("system", "stop_sequences", "anthropic_version", "output_config"),
    ),
    Sign(
        "anthropic",
        "request",
        5,
        "thinking beside max_tokens",
        lambda data: "thinking" in data and "max_tokens" in data,
    ),
    Sign("anthropic", "request", 5, "tools with input_schema", _tool_keys("input_schema")),
    Sign(
        "anthropic",
        "request",
        5,
        "blocks of Anthropic",
        _part_types(
            "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"
        ),
    ),
    Sign("openai-responses", "request", 6, "input", _input_items),
    Sign(
        "openai-responses",
        "request",
        5,
        "keys of Responses",
        lambda data: (
            any(key in data for key in ("instructions", "previous_response_id", "conversation"))
            and "messages" not in data
            and "contents" not in data
        ),
    ),
    Sign(
        "openai-responses",
        "request",
        5,
        "a stored prompt",
        lambda data: isinstance(data.get("prompt"), dict) and "id" in data["prompt"],
    ),
    Sign("gemini", "request", 9, "contents", _has("contents")),
    Sign(
        "gemini",
        "request",
        5,
        "keys of Gemini",
        _has("generationConfig", "systemInstruction", "system_instruction", "safetySettings"),
    ),
    Sign(
        "bedrock",
        "request",
        9,
        "keys of Converse",
        lambda data: (
            "contents" not in data
            and any(
                key in data
                for key in (
                    "inferenceConfig",
                    "toolConfig",
                    "additionalModelRequestFields",
                    "modelId",
                )
            )
        ),
    ),
    Sign("bedrock", "request", 6, "parts with one key and no type", _untyped_parts),
    Sign("bedrock", "request", 4, "system parts with no type", _untyped_system),
    Sign("ollama", "request", 1, "messages with roles", _roles),
    Sign("ollama", "request", 6, "keys of Ollama", _has("keep_alive", "think")),
    Sign("ollama", "request", 6, "an options object", _of_type("options", dict)),
    Sign(
        "ollama",
        "request",
        6,
        "format as a schema or a word",
        lambda data: "messages" in data and "format" in data,
    ),
    Sign("ollama", "request", 6, "images as bare base64", _bare_images),
    Sign("ollama", "request", 9, "call arguments as objects", _call_arguments(dict)),
    Sign("openai-chat", "response", 6, "choices", _of_type("choices", list)),
    Sign("openai-chat", "response", 2, "object chat.completion", _is("object", "chat.completion")),
    Sign("openrouter", "response", 5, "choices", _of_type("choices", list)),
    Sign(
        "openrouter",
        "response",
        5,
        "keys of OpenRouter",
        _choice_keys("native_finish_reason", "reasoning_details"),
    ),
    Sign(
        "openrouter",
        "response",
        5,
        "a provider beside choices",
        lambda data: "choices" in data and isinstance(data.get("provider"), str),
    ),
    Sign("openai-responses", "response", 9, "object response", _is("object", "response")),
    Sign("openai-responses", "response", 5, "an output list", _of_type("output", list)),
    Sign("anthropic", "response", 9, "type message", _is("type", "message")),
    Sign(
        "anthropic",
        "response",
        9,
        "type error",
        lambda data: data.get("type") == "error" and isinstance(data.get("error"), dict),
    ),
    Sign("gemini", "response", 9, "candidates", _has("candidates", "promptFeedback")),
    Sign("gemini", "response", 5, "usageMetadata", _has("usageMetadata", "modelVersion")),
    Sign("gemini", "response", 7, "an error with a status word", _gemini_error),
    Sign(
        "ollama",
        "response",
        9,
        "done beside a message",
        lambda data: "done" in data and isinstance(data.get("message"), dict),
    ),
    Sign(
        "ollama",
        "response",
        5,
        "an error that is a string",
        _lone_error,
    ),
    Sign("bedrock", "response", 9, "output.message", _bedrock_output),
    Sign("bedrock", "response", 5, "stopReason", _has("stopReason")),
    Sign("bedrock", "response", 4, "a message with its type", _aws_error),
    Sign("openai-chat", "response", 5, "an error with type and message", _error_has("type")),
    Sign("openai-responses", "response", 5, "an error with type and message", _error_has("type")),
    Sign("openrouter", "response", 6, "an error with a number as code", _openrouter_error),
)
