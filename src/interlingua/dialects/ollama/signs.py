"""By what ollama is recognised."""

from __future__ import annotations

from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    both,
    call_arguments,
    has_all,
    has_key,
    messages_of,
    messages_there,
    of_type,
    with_roles,
)


def _bare_images(data: Wire) -> bool:
    return any(
        isinstance(message.get("images"), list)
        and all(isinstance(image, str) for image in message["images"])
        for message in messages_of(data)
        if message.get("images")
    )


def _lone_error(data: Wire) -> bool:
    return isinstance(data.get("error"), str) and data.keys() <= {"error", "signin_url"}


def _ollama_answer_there(data: Wire) -> bool:
    return isinstance(data.get("message"), dict) or _lone_error(data)


BODIES: dict[Kind, Holds] = {"request": messages_there, "response": _ollama_answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign("request", 6, "keys of Ollama", has_key("keep_alive", "think")),
    Sign("request", 6, "an options object", of_type("options", dict)),
    Sign("request", 6, "format as a schema or a word", has_all("messages", "format")),
    Sign("request", 6, "images as bare base64", _bare_images),
    Sign("request", 9, "call arguments as objects", call_arguments(dict)),
    Sign("response", 9, "done beside a message", both(has_key("done"), of_type("message", dict))),
    Sign("response", 5, "an error that is a string", _lone_error),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "done" in data and ("message" in data or "model" in data)
