"""Coerces arguments to canonical values: dicts to messages, functions to tools, words to options.

Clients, sessions, chats and agents accept the same things; anything else is a `TypeError` that
names what is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias

import msgspec

from interlingua.errors import a_type
from interlingua.model.base import unchecked
from interlingua.model.blocks import UnknownBlock
from interlingua.model.exchange import (
    CHOICES,
    EFFORTS,
    Options,
    Reasoning,
    Request,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.exchange import OptionWords as OptionWords
from interlingua.model.interop import SdkObject, is_sdk_object
from interlingua.model.losses import Locator, Loss
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from interlingua.tools.registry import ToolRegistry, each_tool

Tool: TypeAlias = ToolDefinition | Callable[..., Any] | Mapping[str, Any]
Tools: TypeAlias = ToolRegistry | Iterable[Tool]
"""Tools: definitions, Python functions, or dicts as other libraries have them."""
MessageLike: TypeAlias = Message | Mapping[str, Any] | SdkObject
Messages: TypeAlias = MessageLike | Sequence[MessageLike] | str
Conversation: TypeAlias = Request | Messages
"""Text, a message or several, or a whole request. A message may be a dict with a role and content,
as OpenAI, Anthropic or Gemini write them, or an object of their SDKs."""
OptionsLike: TypeAlias = Options | Mapping[str, Any]

_MESSAGES = (
    "messages are text, il.Message, a dict with role and content, a list of those, or il.Request"
)
_PLAIN_KEYS = {"role", "content", "name"}
BEDROCK_PARTS = (
    *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "cachePoint"),
    *("guardContent", "reasoningContent", "citationsContent", "searchResult"),
)
"""Parts without a type: each has one of these keys, and no `kind`."""
_ROLES = {*Role, "model", "function"}
_REQUESTS = ("messages", "contents", "input")
"""The paths of the messages in whole requests, by provider."""


_OTHER_WORDS = Options.other_names
_FIELDS = Options.__struct_fields__
_NOTHING: Mapping[str, Any] = {}


# Messages


def as_conversation(value: Conversation) -> Request | tuple[Message, ...]:
    """Converts anything that can stand for a conversation: a request stays a request, all else
    becomes messages."""
    match value:
        case Request():
            return value
        case Message():
            return (value,)
        case str():
            return (Message.user(value),)
        case Mapping() if "role" not in value and any(key in value for key in _REQUESTS):
            return _request(value)
        case Mapping():
            return _messages([value])
        case list() | tuple():
            return _messages(value)
        case _ if is_sdk_object(value):
            return as_conversation(_plain(value))
        case Iterable() if not isinstance(value, (bytes, bytearray, memoryview)):
            return as_messages(value)
        case _:
            raise TypeError(f"{_MESSAGES}; found {a_type(value)}")


def places_in(value: Conversation) -> Locator | None:
    """Finds the places of losses in a conversation that is made of dicts."""
    if isinstance(value, Mapping):
        is_body = "role" not in value and any(key in value for key in _REQUESTS)
        return _Dicts(dict(value)) if is_body else _Dicts({"messages": [value]}, "$.messages[0]")
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        return None
    from interlingua.dialects.signs import key_of

    key = key_of(value)
    return _Dicts({key: value}, f"$.{key}")


class _Dicts(msgspec.Struct, frozen=True):
    """The dicts of a conversation as a body; `outside` has the keys beside the messages."""

    body: dict[str, Any]
    outside: str = "$"

    def places(self, entries: Sequence[Loss]) -> list[tuple[str, ...]]:
        from interlingua.adapt.places import Source

        format = _format_of(self.body)
        source = Source(self.body, format, lambda body: _request(body, format))
        found = source.places(entries)
        return [tuple("$" + at.removeprefix(self.outside) for at in each) for each in found]


def as_messages(values: Iterable[MessageLike]) -> tuple[Message, ...]:
    """Messages, some of which may be dicts."""
    return _messages(list(values))


def as_message(value: Any) -> Message:
    """One message of the user's: text, blocks, a dict with a role, or a message as it is."""
    if isinstance(value, Message):
        return value
    if is_sdk_object(value):
        value = _plain(value)
    if isinstance(value, Mapping) and "role" in value:
        messages = _read([value])
        if len(messages) != 1:
            raise TypeError(f"expected one message, found {len(messages)}")
        return messages[0]
    return Message.user(value)


def _messages(values: Sequence[Any]) -> tuple[Message, ...]:
    if all(isinstance(each, Message) for each in values):
        return tuple(values)
    found: list[Message] = []
    dicts: list[Mapping[str, Any]] = []
    for each in values:
        if is_sdk_object(each) or _is_answer(each):
            each = _plain(each)
        if isinstance(inside := getattr(each, "message", None), Message):
            each = inside  # of an il.Answer or il.Response
        if isinstance(each, Mapping):
            dicts.append(each)
            continue
        if not isinstance(each, Message):
            raise TypeError(f"{_MESSAGES}; found {a_type(each)} in the list")
        found += _read(dicts)
        dicts = []
        found.append(each)
    return (*found, *_read(dicts))


def _plain(value: Any) -> Any:
    """An SDK's object as JSON; of a whole answer, its message."""
    from interlingua.views.objects import plain_of

    plain = plain_of(value)
    is_message = isinstance(plain, dict) and ("role" in plain or plain.keys() & set(_REQUESTS))
    if isinstance(plain, dict) and (not is_message or _is_answer(plain)):
        from interlingua.adapt import formats

        found = formats.detect(plain)
        if found.kind == "response":
            read = formats.read(plain, found.dialect, "response")
            assert not isinstance(read, Request)
            return read.message
    return plain[0] if isinstance(plain, list) and len(plain) == 1 else plain


def _is_answer(value: Any) -> bool:
    """Whether it is a whole answer that looks like a message, as Anthropic's does."""
    return isinstance(value, Mapping) and "role" in value and "stop_reason" in value


def _read(dicts: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Messages that follow each other, as some library writes them."""
    if all(_is_plain(each) for each in dicts):
        return tuple([Message(Role(d["role"]), d["content"], d.get("name")) for d in dicts])
    plain = [dict(each) for each in dicts]
    if (view := _view_of(plain)) is not None:
        return _request(plain, view).messages
    if any(_is_canonical(each) for each in dicts):
        from interlingua.model import codec

        return tuple([codec.convert(dict(each), Message) for each in dicts])
    from interlingua.dialects.signs import key_of

    if (key := key_of(plain)) == "input":
        return _items(plain)
    for each in dicts:
        _require_role(each)
        _require_types(each)
    return _request({key: plain}).messages


def _items(plain: list[dict[str, Any]]) -> tuple[Message, ...]:
    """Items of the Responses API; others with a type and no role are refused."""
    messages = _request({"input": plain}, "openai-responses").messages
    for block in (block for message in messages for block in message.content):
        if type(block) is UnknownBlock and (own := next(iter(block.raw.values()))) in plain:
            _require_role(own)
    return messages


def _require_role(message: Mapping[str, Any]) -> None:
    role = message.get("role")
    if role is None:
        keys = ", ".join(map(str, message)) or "nothing"
        raise TypeError(f"a message is a dict with role and content; found one with {keys}")
    if role not in _ROLES:
        known = ", ".join(Role)
        raise TypeError(f"a message's role is one of {known}; found {role!r}")


def _require_types(message: Mapping[str, Any]) -> None:
    """Refuse content that no provider and no view has: it would be sent half-made."""
    if not message.keys() & _CONTENT_KEYS:
        keys = ", ".join(map(str, message))
        raise TypeError(f"a message is a dict with role and content; found one with {keys}")
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and ("kind" in part or not part.keys() & _PART_KEYS):
            keys = ", ".join(map(str, part)) or "nothing"
            raise TypeError(f"a part of content is a dict with a type; found one with {keys}")


_PART_KEYS = {"type", *BEDROCK_PARTS}
_CONTENT_KEYS = frozenset(
    {
        *(
            "content",
            "parts",
            "tool_calls",
            "tool_call_id",
            "call_id",
            "refusal",
            "audio",
            "images",
        ),
        *("reasoning", "reasoning_content", "reasoning_details", "thinking", "function_call"),
        *("tool_plan", "output", "message"),
    }
)
"""Keys that hold the content of a message in some dialect."""


def _is_plain(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    is_known = message.keys() <= _PLAIN_KEYS and role in tuple(Role)
    return is_known and isinstance(message.get("content"), str) and role != Role.TOOL


def _is_canonical(message: Mapping[str, Any]) -> bool:
    """Whether a message is in the form of `il.dumps`: it has members that no provider has."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else ()
    sources = [block.get("source") for block in blocks if isinstance(block, Mapping)]
    has_kind = any(isinstance(source, Mapping) and "kind" in source for source in sources)
    return "schema_version" in message or has_kind


def _request(body: Mapping[str, Any] | list[Any], format: str | None = None) -> Request:
    """A whole request of some provider, or messages in the shape of a view."""
    from interlingua.adapt import formats
    from interlingua.errors import ReadError

    plain: Any = dict(body) if isinstance(body, Mapping) else body
    model = plain.get("model") if isinstance(plain, dict) else None
    try:
        read = formats.read(plain, format or _format_of(plain), "request", model)
    except ReadError as error:
        raise TypeError(f"{_MESSAGES}; these cannot be read: {error}") from None
    assert isinstance(read, Request)
    return read


def _format_of(body: dict[str, Any]) -> str:
    """The dialect of a request body; if several would read it alike, any of them."""
    from interlingua.adapt.formats import detect
    from interlingua.errors import DetectError

    try:
        return _view_of(body) or detect(body, kind="request").dialect
    except DetectError:
        return "openai-chat"


def _view_of(plain: Any) -> str | None:
    """The view with this shape; None if no sign distinguishes it from a provider's format."""
    from interlingua.adapt.formats import VIEW_NAMES, fitting
    from interlingua.views.detect import SURE

    best = next(iter(fitting(plain)), None)
    if best is None or best.score < SURE or best.dialect not in VIEW_NAMES:
        return None
    return None if best.dialect == "openai-ui" else best.dialect


# Options


def as_options(
    options: OptionsLike | Any | None, more: Mapping[str, Any] = _NOTHING
) -> Options | None:
    """`options` with keyword options applied over them; None if there are neither."""
    if not more and (options is None or type(options) is Options):
        return options
    if options is None or isinstance(options, Options):
        changes = _changes(more)
        return (options or Options()).replace(**changes)
    if not isinstance(options, Mapping):
        found = a_type(options)
        raise TypeError(f"options are il.Options, or a dict of its fields; found {found}")
    return unchecked(Options, **_changes({**options, **more}))


def is_option(word: str) -> bool:
    return word in _FIELDS or word in _OTHER_WORDS


def _changes(words: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for word, value in words.items():
        if not is_option(word):
            raise TypeError(f"no option is called {word!r}{_near(word)}")
        name = _OTHER_WORDS.get(word, word)
        changes[name] = value if value is None else option_of(name, value, word)
    return changes


_ELSEWHERE = {
    "input": "messages are the second argument",
    "instructions": "il.Client(instructions='hoist') moves all of them to the front",
    "prompt": "messages are the second argument",
    "response_model": "client.parse(model, messages, schema) gives a value of a type",
    "schema": "client.parse(model, messages, schema) gives a value of a type",
    "system": "instructions are messages: il.Message.system(text)",
    "thinking": "use reasoning: True, an effort, or a number of tokens",
    "timeout": "use deadline, in seconds",
}
"""Option names of other libraries, with a hint what to use here."""


def _near(word: str) -> str:
    if word in _ELSEWHERE:
        return f"; {_ELSEWHERE[word]}"
    near = get_close_matches(str(word), [*_FIELDS, *_OTHER_WORDS], 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(_FIELDS)}"


def option_of(name: str, value: Any, word: str) -> Any:
    """The value of an option, coerced from the shorthands that are accepted for it."""
    if name == "tool_choice" and not isinstance(value, ToolChoice):
        return _choice(value)
    if name == "reasoning" and not isinstance(value, Reasoning):
        return _reasoning(value)
    if name == "response_format" and not isinstance(value, ResponseFormat):
        return _format(value)
    try:
        return Options.taken(name, value)
    except TypeError as error:
        _, _, problem = str(error).partition(f".{name}")
        raise TypeError(f"option {word}{problem}") from None


def _choice(value: Any) -> ToolChoice:
    if isinstance(value, str):
        mode = CHOICES.get(value)
        return ToolChoice("any", (value,)) if mode is None else ToolChoice(mode)
    if callable(value):
        return ToolChoice("any", (value.__name__,))
    if isinstance(value, Mapping) and isinstance(value.get("type"), str):
        return _vendor_choice(value)
    expected = "il.ToolChoice, 'auto', 'none', 'any', or the name of a tool"
    raise TypeError(f"option tool_choice is {expected}; found {value!r}")


def _vendor_choice(value: Mapping[str, Any]) -> ToolChoice:
    """A choice as OpenAI or Anthropic write it, in full."""
    inner = value.get("function", value)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return ToolChoice(value["type"], (name,) if isinstance(name, str) else ())


def _reasoning(value: Any) -> Reasoning:
    if isinstance(value, bool):
        return Reasoning() if value else Reasoning(mode="off")
    if isinstance(value, int):
        return Reasoning(budget_tokens=value)
    if value in EFFORTS:
        return Reasoning(value)
    expected = f"il.Reasoning, True, False, a number of tokens, or one of {', '.join(EFFORTS)}"
    raise TypeError(f"option reasoning is {expected}; found {value!r}")


def _format(value: Any) -> ResponseFormat:
    if value in ("text", "json"):
        return ResponseFormat(value)
    if isinstance(value, Mapping) and value.get("type") in ("text", "json_object", "json_schema"):
        read = _request({"messages": [], "model": "", "response_format": dict(value)})
        if read.options.response_format is not None:
            return read.options.response_format
    from interlingua.client.structured import shape_of

    return shape_of(dict(value) if isinstance(value, Mapping) else value).format


# Tools


def as_definitions(tools: Tools) -> tuple[ToolDefinition, ...]:
    """The definitions of tools, as a model sees them."""
    if isinstance(tools, ToolRegistry):
        return tuple(tools)
    found = _plain_tools(tools)
    if all(isinstance(each, ToolDefinition) for each in found):
        return found  # type: ignore[return-value]  # just checked
    return tuple(ToolRegistry(found))


def as_registry(tools: Tools | None) -> ToolRegistry | None:
    """Tools as a registry, functions with themselves as handlers."""
    if tools is None or isinstance(tools, ToolRegistry):
        return tools
    return ToolRegistry(_plain_tools(tools))


def _plain_tools(tools: Tools) -> tuple[ToolDefinition | Callable[..., Any], ...]:
    if isinstance(tools, (list, tuple)):
        tools = [_tool(each) if isinstance(each, Mapping) else each for each in tools]
    return tuple(each_tool(tools))


def _tool(definition: Mapping[str, Any]) -> ToolDefinition:
    """A tool as OpenAI (`function`, `parameters`) or Anthropic (`input_schema`) write it."""
    inner: Any = definition.get("function", definition)
    if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
        schema = inner.get("parameters", inner.get("input_schema"))
        about, strict = inner.get("description"), inner.get("strict")
        return ToolDefinition(inner["name"], about, schema, strict=strict)
    keys = ", ".join(map(str, definition)) or "nothing"
    raise TypeError(f"a tool as a dict has name, description and parameters; found {keys}")
