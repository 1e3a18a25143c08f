"""Chat Completions as a gateway serves it."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from interlingua.dialects.front import Ending, Filler, Front, Peek, PlainTurn, Wire
from interlingua.dialects.openai_chat.tables import COUNTS, NAME, STOP_REASONS
from interlingua.dialects.openai_usage import read_tier, read_usage
from interlingua.model.metadata import StopReason

_MESSAGE: Wire = {"content": None, "refusal": None}


class CompletionFiller(Filler):
    """Nulls that the types promise, and the time, which the writer sets to 0."""

    def __init__(self, request: bytes) -> None:
        self._now = int(time.time())

    def whole(self, wire: Wire) -> Wire:
        choices = [
            {"logprobs": None, **choice, "message": {**_MESSAGE, **choice["message"]}}
            for choice in wire.get("choices", ())
        ]
        return {**wire, "created": wire.get("created") or self._now, "choices": choices}

    def frames(self, data: bytes) -> bytes:
        """No text can look like that: in a text, quotes are escaped."""
        return data.replace(b'"created":0,', b'"created":%d,' % self._now)


class RouterFiller(CompletionFiller):
    """OpenRouter's answers have a fingerprint, which may be null; OpenAI's may not."""

    def whole(self, wire: Wire) -> Wire:
        return {"system_fingerprint": None, **super().whole(wire)}


class _Message(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw()
    refusal: Any = None
    tool_calls: Any = None
    function_call: Any = None
    executed_tools: Any = None

    def is_plain(self) -> bool:
        """Whether `stop` describes the end completely, and the usage the cost."""
        if self.refusal or self.tool_calls or self.function_call or self.executed_tools:
            return False
        return not bytes(self.content).startswith(b"[")


class _Choice(msgspec.Struct):
    index: int = 0
    message: _Message | None = None
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    """An answer, or a chunk of one."""

    choices: list[_Choice] = []
    usage: Wire | None = None
    error: Any = None
    service_tier: Any = None


_completion = msgspec.json.Decoder(_Completion).decode


class CompletionEnding(Ending):
    marks = (b'"finish_reason":"', b'"finish_reason": "', b"[DONE]")
    silent = frozenset({b"[DONE]"})

    def __init__(self, answers: int = 1) -> None:
        super().__init__(answers)
        self._ended: set[int] = set()

    def _look(self, data: str, name: str | None) -> None:
        if data.strip() == "[DONE]":
            self.reach()
            return
        for choice in _completion(data).choices:
            if choice.finish_reason is not None:
                self._ended.add(choice.index)
        if len(self._ended) >= self.answers:
            self.reach(last=False)  # its usage comes after it


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    messages: list[PlainTurn]
    model: str | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None
    stream: bool | None = None
    stream_options: dict[str, bool] | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    user: str | None = None

    def limits(self) -> tuple[int | None, ...]:
        return (self.max_tokens, self.max_completion_tokens)


def _peek(body: bytes) -> Peek | None:
    completion = _completion(body)
    choice = completion.choices[0] if len(completion.choices) == 1 else _Choice()
    if choice.message is None or completion.usage is None or completion.error is not None:
        return None
    reason = STOP_REASONS.words.get(choice.finish_reason or "")
    if reason is StopReason.END_TURN and not choice.message.is_plain():
        return None
    usage, odd = read_usage(completion.usage, NAME, COUNTS)
    if completion.service_tier is not None:
        usage = read_tier(usage, {"service_tier": completion.service_tier})
    return None if reason is None or odd is not None else Peek(usage, reason)


FRONT = Front(
    dialect=NAME,
    provider="openai",
    paths={"/v1/chat/completions": "generate", "/chat/completions": "generate"},
    usage_on_request=True,
    headers_up=frozenset({b"openai-beta"}),
    filler=CompletionFiller,
    fills_frames=True,
    ending=CompletionEnding,
    speaks=b'"choices"',
    texts=b"content|reasoning_content|reasoning|refusal|arguments",
    peek=_peek,
    plain=msgspec.json.Decoder(_Plain),
    unbounded={
        "web_search_options": "searches run by the provider",
        "prediction": "a predicted answer, whose rejected tokens are billed",
        "audio": "output other than text",
        "plugins": "plugins run by the provider",
        "models": "models that the provider falls back to",
    },
)
HOSTED = (
    msgspec.structs.replace(
        FRONT,
        provider="openrouter",
        errors="openrouter",
        paths={"/api/v1/chat/completions": "generate"},
        filler=RouterFiller,
    ),
)
"""OpenRouter's path."""
