"""Messages as events of their own, as the conventions had them up to 1.36, said as attributes say
them now: `{role, parts}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.transcripts.otel.otlp import Event
from interlingua.transcripts.otel.tables import CHOICE, COMPLETIONS, PROMPTS, ROLES_OF_EVENTS

Wire = dict[str, Any]


def said_in(events: list[Event]) -> tuple[list[Wire], list[Wire]]:
    """What went in and what came out, in the order of the events."""
    given: list[Wire] = []
    made: list[Wire] = []
    for event in events:
        body = _content(event.body)
        if event.name in ROLES_OF_EVENTS:
            given.append(_message(body, ROLES_OF_EVENTS[event.name]))
        elif event.name == CHOICE:
            made.append(_choice(body))
        elif event.name == PROMPTS[0]:
            given.extend(_listed(body.get(PROMPTS[1]), "user"))
        elif event.name == COMPLETIONS[0]:
            made.extend(_listed(body.get(COMPLETIONS[1]), "assistant"))
    return given, made


def in_attribute(value: Any) -> list[Event]:
    """Events that a library keeps as JSON in one attribute of the span (pydantic-ai before 1.0)."""
    found = as_json(value)
    return (
        [Event(str(each.get("event.name")), each) for each in found if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )


def as_json(value: Any) -> Any:
    """The value of a text that is JSON; any other value is itself."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return value


def _content(body: Any) -> Wire:
    """An event of a span has its body as JSON in an attribute."""
    if isinstance(body, dict) and "gen_ai.event.content" in body:
        body = as_json(body["gen_ai.event.content"])
    return body if isinstance(body, dict) else {"content": body}


def _choice(body: Wire) -> Wire:
    """The calls stand in the message, or beside it."""
    message = as_json(body.get("message"))
    inner = message if isinstance(message, dict) else {"content": message}
    if body.get("tool_calls") and "tool_calls" not in inner:
        inner = {**inner, "tool_calls": body["tool_calls"]}
    said = _message(inner, "assistant")
    end = body.get("finish_reason")
    return {**said, "finish_reason": end} if isinstance(end, str) else said


def _message(body: Wire, role: str) -> Wire:
    told = body.get("role")
    content = (
        as_json(body.get("content")) if _is_listed(body.get("content")) else body.get("content")
    )
    if role == "tool":
        answer = {"type": "tool_call_response", "id": body.get("id"), "response": content}
        return {"role": "tool", "parts": [answer]}
    calls = as_json(body.get("tool_calls"))
    parts = [*_parts(content), *_calls(calls)]
    return {"role": told if isinstance(told, str) else role, "parts": parts}


def _is_listed(content: Any) -> bool:
    return isinstance(content, str) and content.startswith("[{")


def _parts(content: Any) -> Iterator[Wire]:
    for each in content if isinstance(content, list) else [content]:
        match each:
            case None | "":
                continue
            case str(text):
                yield {"type": "text", "content": text}
            case {"type": "text", "text": str(text)} | {"text": str(text)}:
                yield {"type": "text", "content": text}
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                yield {"type": "uri", "modality": "image", "uri": url}
            case {"type": str()}:
                yield each
            case _:
                yield {"type": "text", "content": msgspec.json.encode(each).decode()}


def _calls(calls: Any) -> Iterator[Wire]:
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": str(name), **function}}:
                given = function.get("arguments")
                yield {"type": "tool_call", "id": call.get("id"), "name": name, "arguments": given}
            case {"type": str()}:
                yield call


def _listed(value: Any, role: str) -> Iterator[Wire]:
    """All messages in one attribute: a list of them, or a text."""
    found = as_json(value)
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict):
            yield _message(each, str(each.get("role") or role))
        elif each is not None:
            yield {"role": role, "parts": [{"type": "text", "content": str(each)}]}
