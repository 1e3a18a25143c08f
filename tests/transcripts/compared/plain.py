"""What a file of sessions says, counted in plain JSON: neither the package's readers nor those of
the tools that are compared have a part in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WHAT = (
    "prompts",
    "texts",
    "calls",
    "results",
    "failed",
    "thinking",
    "signatures",
    "pictures",
    "usage",
)
_BY_THE_TOOL = ("<", "# AGENTS", "Another language model", "[Image: source")
"""How texts in the user's name begin that a tool says."""
Counts = Counter[str]


def counted(path: Path, format: str) -> Counts:
    """How many there are of each; `usage` is answers with a number of tokens."""
    counts: Counts = Counter()
    _READERS[format](path, counts)
    return counts


def call_ids(path: Path, format: str) -> set[str]:
    """The ids of calls, as the source has them."""
    text = path.read_text(errors="replace")
    found: set[str] = set()
    for key in _CALL_KEYS[format]:
        for piece in text.split(f'"{key}":')[1:]:
            name = piece.lstrip().partition('"')[2].partition('"')[0]
            found |= {name.partition("|")[0]} if name.startswith(("toolu_", "call_")) else set()
    return found


_CALL_KEYS = {
    "claude-code": ("id",),
    "codex": ("call_id",),
    "pi": ("id",),
    "opencode": ("callID",),
}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def _claude_code(path: Path, counts: Counts) -> None:
    used: set[str] = set()
    for line in _lines(path):
        message = line.get("message")
        if line.get("isSidechain") or line.get("isMeta") or line.get("isCompactSummary"):
            continue
        if not isinstance(message, dict) or message.get("model") == "<synthetic>":
            continue
        if line.get("type") == "assistant":
            if (message.get("usage") or {}).get("output_tokens"):
                used.add(str(message.get("id")))
            _blocks(message.get("content"), "texts", counts)
        elif line.get("type") == "user":
            _blocks(message.get("content"), "prompts", counts)
    counts["usage"] = len(used)


def _blocks(content: Any, spoken: str, counts: Counts) -> None:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content or ():
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and block["text"].strip() and not _is_a_note(block["text"], spoken):
            counts[spoken] += 1
        elif kind in ("thinking", "redacted_thinking"):
            counts["thinking"] += 1
            counts["signatures"] += bool(block.get("signature") or block.get("data"))
        elif kind == "tool_use":
            counts["calls"] += 1
        elif kind == "image":
            counts["pictures"] += 1
        elif kind == "tool_result":
            counts["results"] += 1
            counts["failed"] += block.get("is_error") is True
            inside = block.get("content")
            pictures = inside if isinstance(inside, list) else []
            counts["pictures"] += sum(each.get("type") == "image" for each in pictures)


def _is_a_note(text: str, spoken: str) -> bool:
    return spoken == "prompts" and text.lstrip().startswith(_BY_THE_TOOL)


def _codex(path: Path, counts: Counts) -> None:
    records = events = 0
    for line in _lines(path):
        item = line.get("payload")
        if not isinstance(item, dict):
            continue
        records += line.get("type") == "token_usage_record"
        events += item.get("type") == "token_count" and isinstance(item.get("info"), dict)
        if line.get("type") == "response_item":
            _item(item, counts)
    counts["usage"] = records or events


def _item(item: dict[str, Any], counts: Counts) -> None:
    kind, role = item.get("type"), item.get("role")
    if kind == "message" and role in ("user", "assistant"):
        dialect = "prompts" if role == "user" else "texts"
        for part in item["content"] if isinstance(item["content"], list) else ():
            if part["type"] == "input_image":
                counts["pictures"] += 1
            elif part["text"].strip() and not _is_a_note(part["text"], dialect):
                counts[dialect] += 1
    elif kind == "reasoning":
        counts["thinking"] += 1
        counts["signatures"] += bool(item.get("encrypted_content"))
    elif kind in ("function_call", "custom_tool_call"):
        counts["calls"] += 1
    elif kind in ("function_call_output", "custom_tool_call_output"):
        counts["results"] += 1
        parts = item["output"] if isinstance(item["output"], list) else []
        counts["pictures"] += sum(each.get("type") == "input_image" for each in parts)


def _pi(path: Path, counts: Counts) -> None:
    for line in _lines(path):
        message = line.get("message")
        if line.get("type") != "message" or not isinstance(message, dict):
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        role = message.get("role")
        pictures = sum(block.get("type") == "image" for block in blocks)
        if role == "user":
            texts = [each for each in blocks if each.get("type") == "text"]
            counts["prompts"] += sum(not _is_a_note(each["text"], "prompts") for each in texts)
            counts["pictures"] += pictures
        elif role == "toolResult":
            counts.update(results=1, failed=message.get("isError") is True, pictures=pictures)
        elif role == "assistant":
            counts["usage"] += bool((message.get("usage") or {}).get("output"))
            _pi_answer(blocks, counts)


def _pi_answer(blocks: list[dict[str, Any]], counts: Counts) -> None:
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            counts["texts"] += bool(block["text"].strip())
        elif kind == "thinking":
            counts["thinking"] += 1
            counts["signatures"] += bool(block.get("thinkingSignature"))
        elif kind == "toolCall":
            counts["calls"] += 1


def _opencode(path: Path, counts: Counts) -> None:
    for message in json.loads(path.read_bytes())["messages"]:
        info = message["info"]
        is_answer = info["role"] == "assistant"
        if info.get("summary") is True:
            continue
        counts["usage"] += is_answer and bool((info.get("tokens") or {}).get("output"))
        for part in message["parts"]:
            _part(part, "texts" if is_answer else "prompts", counts)


def _part(part: dict[str, Any], spoken: str, counts: Counts) -> None:
    kind = part["type"]
    if kind == "text" and not part.get("synthetic"):
        counts[spoken] += bool(part["text"].strip()) and not _is_a_note(part["text"], spoken)
    elif kind == "reasoning":
        sealed = json.dumps(part.get("metadata") or {})
        counts["thinking"] += 1
        counts["signatures"] += any(word in sealed for word in ("ignature", "Encrypted"))
    elif kind == "file":
        counts["pictures"] += 1
    elif kind == "tool":
        state = part["state"]
        counts["calls"] += 1
        counts["results"] += state["status"] in ("completed", "error")
        counts["failed"] += state["status"] == "error"
        counts["pictures"] += len(state.get("attachments") or ())


def _rows(path: Path, counts: Counts) -> None:
    for row in _lines(path):
        for message in row.get("messages") or ():
            role, content = message["role"], message.get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            pictures = sum("image" in str(part.get("type")) for part in parts)
            texts = [part["text"] for part in parts if part.get("text")]
            pictures += sum(text.count("<image>") for text in texts)
            counts["pictures"] += pictures
            counts["thinking"] += bool(message.get("reasoning_content") or message.get("thinking"))
            if role == "tool":
                counts["results"] += 1
                counts["failed"] += bool(message.get("is_error"))
            elif role in ("user", "assistant"):
                dialect = "prompts" if role == "user" else "texts"
                counts[dialect] += sum(not _is_a_note(text, dialect) for text in texts)
                counts["calls"] += len(message.get("tool_calls") or ())


_READERS: dict[str, Callable[[Path, Counts], None]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "pi": _pi,
    "opencode": _opencode,
    "rows": _rows,
}
