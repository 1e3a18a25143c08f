"""What a request says, in neutral words, read from plain JSON: nothing here is the package's, so
that a writer and a reader that are wrong together do not agree here too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple


class Item(NamedTuple):
    """One thing that is said: a `text` or `image` of a role, `thinking`, a `call` or a `result`.
    `about` is the role, the tool's name or the call's id; `more` the arguments, pictures or the
    signature; `failed` is None where the wire has no word for it."""

    kind: str
    about: str
    text: str = ""
    more: str = ""
    failed: bool | None = None


def items_of(body: dict[str, Any]) -> list[Item]:
    """The history of a request in any of three dialects, the client's instructions apart."""
    if "contents" in body:
        return list(_gemini(body["contents"]))
    if "input" in body:
        return list(_responses(body["input"]))
    return list(_anthropic(body.get("messages", [])))


def digest(data: str) -> str:
    """A picture in Base64, by its first words."""
    return sha256(data.encode()).hexdigest()[:12]


def spelled(value: Any) -> str:
    """Arguments, in one spelling."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _anthropic(messages: list[dict[str, Any]]) -> Iterator[Item]:
    for message in messages:
        role, content = message["role"], message["content"]
        if isinstance(content, str):
            yield Item("text", role, content)
            continue
        for block in content:
            yield from _block(role, block)


def _block(role: str, block: dict[str, Any]) -> Iterator[Item]:
    kind = block["type"]
    if kind == "text":
        yield Item("text", role, block["text"])
    elif kind == "thinking":
        yield Item("thinking", role, block["thinking"], block.get("signature") or "")
    elif kind == "image":
        yield Item("image", role, "", digest(block["source"].get("data") or ""))
    elif kind == "tool_use":
        yield Item("call", block["name"], block["id"], spelled(block["input"]))
    elif kind == "tool_result":
        texts, pictures = _inside(block.get("content") or "")
        yield Item("result", block["tool_use_id"], texts, pictures, bool(block.get("is_error")))
    else:
        yield Item(kind, role, spelled(block))


def _inside(content: Any) -> tuple[str, str]:
    """The text of a result, and its pictures."""
    if isinstance(content, str):
        return content, ""
    texts = [each["text"] for each in content if each["type"] in ("text", "input_text")]
    pictures = [_picture(each) for each in content if each["type"] in ("image", "input_image")]
    return "\n".join(texts), " ".join(pictures)


def _picture(part: dict[str, Any]) -> str:
    if part["type"] == "input_image":
        return digest(part["image_url"].partition(",")[2])
    return digest(part["source"].get("data") or "")


def _responses(given: Any) -> Iterator[Item]:
    for item in given:
        kind = item.get("type", "message")
        if kind == "message":
            yield from _spoken(item)
        elif kind == "reasoning":
            text = "\n".join(part["text"] for part in item.get("summary") or ())
            yield Item("thinking", "assistant", text, item.get("encrypted_content") or "")
        elif kind == "function_call":
            yield Item("call", item["name"], item["call_id"], _spelled_again(item["arguments"]))
        elif kind == "custom_tool_call":
            yield Item("call", item["name"], item["call_id"], spelled({"input": item["input"]}))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            texts, pictures = _inside(item["output"])
            yield Item("result", item["call_id"], texts, pictures)
        else:
            yield Item(kind, "", spelled(item))


def _spelled_again(arguments: str) -> str:
    return spelled(json.loads(arguments or "{}"))


def _spoken(item: dict[str, Any]) -> Iterator[Item]:
    content = item["content"]
    if isinstance(content, str):
        yield Item("text", item["role"], content)
        return
    for part in content:
        if part["type"] == "input_image":
            yield Item("image", item["role"], "", _picture(part))
        else:
            yield Item("text", item["role"], part["text"])


def _gemini(contents: list[dict[str, Any]]) -> Iterator[Item]:
    for content in contents:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            yield from _part(role, part)


def _part(role: str, part: dict[str, Any]) -> Iterator[Item]:
    if "functionCall" in part:
        call = part["functionCall"]
        yield Item("call", call["name"], call.get("id") or "", spelled(call.get("args") or {}))
    elif "functionResponse" in part:
        result = part["functionResponse"]
        response = result.get("response") or {}
        text = response.get("output", response.get("error", response))
        inside = [digest(each["inlineData"]["data"]) for each in result.get("parts") or ()]
        text = text if isinstance(text, str) else spelled(text)
        yield Item("result", result.get("id") or "", text, " ".join(inside), "error" in response)
    elif "inlineData" in part:
        yield Item("image", role, "", digest(part["inlineData"]["data"]))
    elif part.get("thought"):
        yield Item("thinking", role, part.get("text") or "", part.get("thoughtSignature") or "")
    else:
        yield Item("text", role, part.get("text") or "")
