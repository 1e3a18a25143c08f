"""The chunks of a Gemini stream, put together to the answer that would have come whole."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import Any


def assembled(chunks: Iterable[Any]) -> tuple[dict[str, Any], str | None]:
    """The whole answer, and the message of an error that came in between."""
    whole: dict[int, dict[str, Any]] = {}
    found: dict[str, Any] = {}
    error = None
    for data in chunks:
        for chunk in data if isinstance(data, list) else [data]:
            if "error" in chunk:
                error = str(chunk["error"].get("message"))
            for key in ("usageMetadata", "promptFeedback"):
                found[key] = chunk.get(key) or found.get(key)
            for candidate in chunk.get("candidates") or ():
                one = whole.setdefault(candidate.get("index") or 0, {"content": {"parts": []}})
                _merge(one, candidate)
    remaining = {key: item for key, item in found.items() if item}
    return {**remaining, "candidates": [whole[index] for index in sorted(whole)]}, error


def _merge(one: dict[str, Any], candidate: Any) -> None:
    for part in (candidate.get("content") or {}).get("parts") or ():
        _add_part(one["content"]["parts"], part)
    for key, item in candidate.items():
        if key == "groundingMetadata" and key in one:
            # A later chunk repeats, and adds to, what an answer rests on.
            one[key] = {**one[key], **{name: each for name, each in item.items() if each}}
        elif key != "content" and item is not None:
            one[key] = item


def _add_part(parts: list[Any], part: Any) -> None:
    """Texts of one kind go on; a signed part is whole with its signature."""
    last = parts[-1] if parts else {}
    both = "text" in part and "text" in last
    alike = bool(part.get("thought")) == bool(last.get("thought"))
    if both and alike and "thoughtSignature" not in last:
        last["text"] += part["text"]
        if "thoughtSignature" in part:
            last["thoughtSignature"] = part["thoughtSignature"]
        return
    call = part.get("functionCall") or {}
    before = last.get("functionCall") or {}
    if "functionCall" in part and before.get("willContinue"):
        before["willContinue"] = call.get("willContinue")
        _pieces(before.setdefault("args", {}), call.get("partialArgs") or ())
        return
    part = {**part, "functionCall": {**call}} if call else dict(part)
    if call.get("partialArgs"):
        _pieces(part["functionCall"].setdefault("args", {}), call["partialArgs"])
    parts.append(part)


def _pieces(arguments: dict[str, Any], pieces: Iterable[Any]) -> None:
    """Vertex tells arguments value by value, each with its path."""
    for piece in pieces:
        names = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", piece.get("jsonPath") or "")
        path = [int(index) if index else name for name, index in names]
        key = next((each for each in piece if each.endswith("Value")), None)
        if path and key is not None:
            value = None if key == "nullValue" else piece[key]
            _put(arguments, path, value, key == "stringValue")


def _put(node: Any, path: list[Any], value: Any, goes_on: bool) -> None:
    for step, after in itertools.pairwise(path):
        empty: Any = [] if isinstance(after, int) else {}
        if isinstance(step, int):
            node += [empty] if step == len(node) else []
            node = node[step]
        else:
            node = node.setdefault(step, empty)
    last = path[-1]
    known = node[last] if isinstance(node, dict) and last in node else None
    if isinstance(node, list):
        known = node[last] if last < len(node) else None
        node += [None] if last == len(node) else []
    node[last] = known + value if goes_on and isinstance(known, str) else value
