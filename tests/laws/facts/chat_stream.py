"""The chunks of a Chat stream, put together to the answer that would have come whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TEXTS = ("content", "reasoning", "reasoning_content", "refusal", "reasoning_signature")


def assembled(frames: Iterable[tuple[str | None, Any]]) -> dict[str, Any]:
    """`choices`, `usage` and `error`, as a whole answer has them."""
    choices: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {"usage": None}
    for _, data in frames:
        if not isinstance(data, dict):
            continue
        if data.get("error"):
            error = data["error"]
            whole["error"] = error if isinstance(error, dict) else {"message": error}
        for choice in data.get("choices") or ():
            one = choices.setdefault(choice.get("index") or 0, {"message": {"role": "assistant"}})
            _merge(one["message"], choice.get("delta") or choice.get("message") or {})
            if choice.get("finish_reason"):
                one["finish_reason"] = choice["finish_reason"]
            whole["usage"] = choice.get("usage") or whole["usage"]
        # Groq says the usage of the whole in its last chunk, under a name of its own.
        groq = (data.get("x_groq") or {}).get("usage")
        whole["usage"] = data.get("usage") or groq or whole["usage"]
    whole["choices"] = [choices[index] for index in sorted(choices)]
    return whole


def _merge(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in TEXTS:
        piece = delta.get(key)
        if isinstance(piece, str) and not isinstance(message.get(key), list):
            message[key] = (message.get(key) or "") + piece
        elif isinstance(piece, str) and piece:
            message[key].append({"type": "text", "text": piece})
        elif isinstance(piece, list):
            before = message.get(key)
            stored = before if isinstance(before, list) else _as_parts(before)
            message[key] = stored
            for part in piece:
                _add_part(stored, part)
    for detail in delta.get("reasoning_details") or ():
        _add_detail(message.setdefault("reasoning_details", []), detail)
    for call in delta.get("tool_calls") or ():
        _add_call(message.setdefault("tool_calls", []), call)
    for key in ("annotations", "images"):
        if delta.get(key):
            message[key] = [*(message.get(key) or ()), *delta[key]]
    if delta.get("audio"):
        _add_audio(message.setdefault("audio", {}), delta["audio"])
    if delta.get("function_call"):
        legacy = message.setdefault("function_call", {"name": "", "arguments": ""})
        for key in legacy:
            legacy[key] += delta["function_call"].get(key) or ""


def _as_parts(text: str | None) -> list[Any]:
    return [{"type": "text", "text": text}] if text else []


def _add_part(parts: list[Any], part: Any) -> None:
    """Mistral streams pieces of parts: those of one kind go on."""
    last = parts[-1] if parts else {}
    if part.get("type") == last.get("type") == "text":
        last["text"] += part["text"]
    elif part.get("type") == last.get("type") == "thinking":
        last["thinking"] = [*last["thinking"], *(part.get("thinking") or ())]
        last["signature"] = part.get("signature") or last.get("signature")
    else:
        parts.append(dict(part))


def _add_detail(details: list[Any], piece: Any) -> None:
    """Pieces of one detail have its number and kind; the signature comes late."""
    for known in details:
        if (known.get("type"), known.get("index")) == (piece.get("type"), piece.get("index")):
            if piece.get("type") == "reasoning.encrypted" and piece.get("id") != known.get("id"):
                continue
            for key, item in piece.items():
                if key in ("text", "summary", "data") and isinstance(item, str):
                    known[key] = (known.get(key) or "") + item
                elif item is not None:
                    known[key] = item
            return
    details.append(dict(piece))


def _add_call(calls: list[Any], piece: Any) -> None:
    index, id = piece.get("index"), piece.get("id")
    known = [call for call in calls if call.get("index") == index] if index is not None else []
    last = known[-1] if known else None
    # Some hosts give every call the number 0: a new id is a new call.
    if last is None or (id and last.get("id") and id != last["id"]):
        room = "custom" if "custom" in piece else "function"
        calls.append({**piece, room: dict(piece.get(room) or {})})
        return
    last["id"] = last.get("id") or id
    for room, text in (("function", "arguments"), ("custom", "input")):
        new = piece.get(room)
        if new:
            inner = last.setdefault(room, {})
            inner["name"] = inner.get("name") or new.get("name")
            inner[text] = (inner.get(text) or "") + (new.get(text) or "")
    for key in ("extra_content", "type"):
        if piece.get(key):
            last[key] = piece[key]


def _add_audio(audio: dict[str, Any], piece: Any) -> None:
    for key, item in piece.items():
        if key in ("data", "transcript") and isinstance(item, str):
            audio[key] = (audio.get(key) or "") + item
        elif item is not None:
            audio[key] = item
