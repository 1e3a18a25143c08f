"""The UI message stream, version 1: chunks to a UI message, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jiter
import msgspec

from interlingua.transcripts.ui_message.parts import Part, is_call, tool_name

_WHOLE = frozenset({"file", "reasoning-file", "source-url", "source-document", "custom"})
"""Chunks that are a part as they are."""
_ABOUT_CALL = ("providerExecuted", "title", "toolMetadata")


class FoldedStream(NamedTuple):
    """A folded stream: the message, and how it ended."""

    message: Part
    finish: str | None = None
    error: str | None = None
    aborted: bool = False
    finished: bool = False


def fold(chunks: Iterable[Part]) -> FoldedStream:
    """The UI message that a stream builds up, as the package's own reader builds it."""
    folding = _Folding()
    for chunk in chunks:
        folding.feed(chunk)
    return folding.result()


class _Folding:
    def __init__(self) -> None:
        self.message: Part = {"id": "", "role": "assistant", "parts": []}
        self.parts: list[Part] = self.message["parts"]
        self._open: dict[tuple[str, str], Part] = {}
        self._pieces: dict[int, list[str]] = {}
        self._calls: dict[str, Part] = {}
        self._finish: str | None = None
        self._error: str | None = None
        self._aborted = self._finished = False

    def result(self) -> FoldedStream:
        for part in self.parts:
            self._close_text(part)
            if part.get("state") == "input-streaming":
                part["rawInput"] = "".join(self._pieces.pop(id(part), []))
                part["input"] = _partly(part["rawInput"])
        return FoldedStream(self.message, self._finish, self._error, self._aborted, self._finished)

    def feed(self, chunk: Part) -> None:
        kind = str(chunk.get("type"))
        name, _, step = kind.rpartition("-")
        if kind in ("start", "finish", "message-metadata", "error", "abort"):
            self._about(kind, chunk)
        elif kind == "start-step":
            self.parts.append({"type": "step-start"})
        elif kind == "reset-step":
            self._reset()
        elif name in ("text", "reasoning") and step in ("start", "delta", "end"):
            self._text(name, step, chunk)
        elif kind.startswith("tool-"):
            self._tool(kind.removeprefix("tool-"), chunk)
        elif kind.startswith("data-"):
            self._data(chunk)
        elif kind in _WHOLE or kind == "steering-message":
            self.parts.append(dict(chunk))

    def _about(self, kind: str, chunk: Part) -> None:
        if isinstance(chunk.get("messageId"), str):
            self.message["id"] = chunk["messageId"]
        metadata = chunk.get("messageMetadata")
        if metadata is not None:
            self.message["metadata"] = _merged(self.message.get("metadata"), metadata)
        if kind == "finish":
            reason = chunk.get("finishReason")
            self._finish, self._finished = reason if isinstance(reason, str) else None, True
        elif kind == "error":
            self._error = str(chunk.get("errorText") or "")
        elif kind == "abort":
            self._aborted = True

    def _reset(self) -> None:
        """Take back the parts since the last border."""
        while self.parts and self.parts[-1].get("type") != "step-start":
            part = self.parts.pop()
            self._pieces.pop(id(part), None)
        self._open.clear()

    def _text(self, kind: str, step: str, chunk: Part) -> None:
        key = (kind, str(chunk.get("id")))
        part = self._open.get(key)
        if part is None or step == "start":
            part = {"type": kind, "text": "", "state": "streaming"}
            if kind == "reasoning":
                part["id"] = key[1]
            self._open[key] = part
            self.parts.append(part)
            self._pieces[id(part)] = []
        if isinstance(chunk.get("delta"), str):
            self._pieces[id(part)].append(chunk["delta"])
        for member in ("providerMetadata", "citations"):
            if chunk.get(member) is not None:
                part[member] = chunk[member]
        if step == "end":
            part["state"] = "done"
            self._close_text(part)
            del self._open[key]

    def _close_text(self, part: Part) -> None:
        if part.get("type") in ("text", "reasoning"):
            part["text"] += "".join(self._pieces.pop(id(part), []))

    def _tool(self, step: str, chunk: Part) -> None:
        if step == "approval-response":
            self._approved(chunk)
            return
        name = chunk.get("toolCallId")
        if not isinstance(name, str):
            return
        part = self._calls.get(name)
        if part is None or step == "input-start":
            if part is None and not step.startswith("input-"):
                return  # an answer to nothing that was asked
            part = self._begin(name, chunk)
        self._update(step, part, chunk)

    def _begin(self, name: str, chunk: Part) -> Part:
        tool = str(chunk.get("toolName"))
        dynamic = {"type": "dynamic-tool", "toolName": tool}
        part: Part = dynamic if chunk.get("dynamic") else {"type": f"tool-{tool}"}
        part |= {"toolCallId": name, "state": "input-streaming"}
        self._calls[name] = part
        self._pieces[id(part)] = []
        self.parts.append(part)
        return part

    def _update(self, step: str, part: Part, chunk: Part) -> None:
        part |= {key: chunk[key] for key in _ABOUT_CALL if chunk.get(key) is not None}
        metadata = chunk.get("providerMetadata")
        if metadata is not None:
            ended = step.startswith("output-") or step == "input-error"
            part["resultProviderMetadata" if ended else "callProviderMetadata"] = metadata
        match step:
            case "input-delta":
                self._pieces.setdefault(id(part), []).append(str(chunk.get("inputTextDelta")))
            case "input-available":
                part |= {"state": "input-available", "input": chunk.get("input")}
            case "input-error":
                part |= {"state": "output-error", "input": chunk.get("input")}
                part["errorText"] = chunk.get("errorText")
            case "output-available":
                part |= {"state": "output-available", "output": chunk.get("output")}
                part |= {key: chunk[key] for key in ("preliminary",) if key in chunk}
            case "output-error":
                part |= {"state": "output-error", "errorText": chunk.get("errorText")}
            case "output-denied":
                part["state"] = "output-denied"
            case "approval-request":
                part |= {"state": "approval-requested", "approval": _approval(chunk)}

    def _approved(self, chunk: Part) -> None:
        for part in self.parts:
            approval = part.get("approval")
            if isinstance(approval, dict) and approval.get("id") == chunk.get("approvalId"):
                part["state"] = "approval-responded"
                approval |= {key: chunk[key] for key in ("approved", "reason") if key in chunk}

    def _data(self, chunk: Part) -> None:
        """Data with a known id replaces the earlier data; transient data is ignored."""
        if chunk.get("transient"):
            return
        for part in self.parts if "id" in chunk else ():
            if (part.get("type"), part.get("id")) == (chunk["type"], chunk["id"]):
                part["data"] = chunk.get("data")
                return
        self.parts.append(dict(chunk))


def _approval(chunk: Part) -> Part:
    names = {
        "approvalId": "id",
        "approvalDescriptor": "descriptor",
        "inputSchemaInput": "inputSchemaInput",
        "reason": "requestReason",
        "isAutomatic": "isAutomatic",
        "signature": "signature",
    }
    return {names[key]: chunk[key] for key in names if chunk.get(key) is not None}


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}


def _partly(text: str) -> Any:
    """Arguments that are still incomplete."""
    try:
        return jiter.from_json(text.encode(), partial_mode="on") if text else {}
    except ValueError:
        return {}


def unfold(message: Part, finish: str | None = None, error: str | None = None) -> Iterator[Part]:
    """The chunks of a message of the assistant."""
    yield {"type": "start", "messageId": message["id"]}
    steps: list[list[Part]] = [[]]
    for part in message["parts"]:
        if part.get("type") == "step-start":
            steps.append([])
        else:
            steps[-1].append(part)
    number = 0
    for at, step in enumerate(steps):
        if at:
            yield {"type": "start-step"}
        for part in step:
            yield from _chunks(part, str(number))
            number += 1
        yield from (each for part in step if is_call(part) for each in _ended(part))
        if at:
            yield {"type": "finish-step"}
    if error is not None:
        yield {"type": "error", "errorText": error}
    last: Part = {"type": "finish"}
    if finish is not None:
        last["finishReason"] = finish
    if message.get("metadata") is not None:
        last["messageMetadata"] = message["metadata"]
    yield last


def _chunks(part: Part, name: str) -> Iterator[Part]:
    if part.get("type") in ("text", "reasoning") and isinstance(part.get("text"), str):
        yield from _text_chunks(part, name)
    elif is_call(part):
        yield from _call_chunks(part)
    else:
        yield part


def _text_chunks(part: Part, name: str) -> Iterator[Part]:
    kind = part["type"]
    name = part.get("id") or name
    yield {"type": f"{kind}-start", "id": name}
    if part["text"]:
        yield {"type": f"{kind}-delta", "id": name, "delta": part["text"]}
    end: Part = {"type": f"{kind}-end", "id": name}
    end |= {key: part[key] for key in ("citations", "providerMetadata") if key in part}
    if part.get("state") != "streaming":
        yield end


def _call_chunks(part: Part) -> Iterator[Part]:
    call: Part = {"toolCallId": part["toolCallId"], "toolName": tool_name(part)}
    call |= {key: part[key] for key in _ABOUT_CALL if key in part}
    if part["type"] == "dynamic-tool":
        call["dynamic"] = True
    if "callProviderMetadata" in part:
        call["providerMetadata"] = part["callProviderMetadata"]
    if part.get("state") == "input-streaming":
        yield {"type": "tool-input-start", **call}
        text = part.get("rawInput") or msgspec.json.encode(part.get("input")).decode()
        name = part["toolCallId"]
        yield {"type": "tool-input-delta", "toolCallId": name, "inputTextDelta": text}
        return
    yield {"type": "tool-input-available", **call, "input": part.get("input")}


def _ended(part: Part) -> Iterator[Part]:
    name = {"toolCallId": part["toolCallId"]}
    approval = part.get("approval")
    if isinstance(approval, dict):
        yield from _approval_chunks(approval, name)
    extra: Part = {}
    if "resultProviderMetadata" in part:
        extra["providerMetadata"] = part["resultProviderMetadata"]
    match part.get("state"):
        case "output-available":
            extra |= {key: part[key] for key in ("preliminary",) if key in part}
            yield {"type": "tool-output-available", **name, "output": part["output"], **extra}
        case "output-error":
            error = part.get("errorText") or ""
            yield {"type": "tool-output-error", **name, "errorText": error, **extra}
        case "output-denied":
            yield {"type": "tool-output-denied", **name}


def _approval_chunks(approval: Part, name: Part) -> Iterator[Part]:
    request: Part = {"type": "tool-approval-request", "approvalId": approval.get("id"), **name}
    names = {"requestReason": "reason", "descriptor": "approvalDescriptor"}
    for key, value in approval.items():
        if key not in ("id", "approved", "reason"):
            request[names.get(key, key)] = value
    yield request
    if "approved" in approval:
        answer: Part = {key: approval[key] for key in ("approved", "reason") if key in approval}
        yield {"type": "tool-approval-response", "approvalId": approval.get("id"), **answer}
