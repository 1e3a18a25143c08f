"""The Responses API as a gateway serves it."""

from __future__ import annotations

import re
import time
from typing import Any

import msgspec
from msgspec.structs import asdict

from interlingua.dialects.front import Filler, Front, NamedEnding, Stored, Wire
from interlingua.dialects.openai_responses.tables import COMPLETED, FAILED, INCOMPLETE, NAME

_RESPONSE: Wire = dict.fromkeys(("completed_at", "error", "incomplete_details", "usage"))
_PLAIN_TEXT = {"type": "text"}
_USAGE: Wire = {
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
_FRAME = re.compile(rb'data: (\{[^\r\n]*"response":\{[^\r\n]*)')


class Repeated(msgspec.Struct):
    """Members that a response repeats from its request, with defaults."""

    model: str | None = ""
    tools: Any = []
    tool_choice: Any = "auto"
    parallel_tool_calls: bool | None = True
    instructions: Any = None
    previous_response_id: str | None = None
    temperature: float | None = 1.0
    top_p: float | None = 1.0
    presence_penalty: float | None = 0.0
    frequency_penalty: float | None = 0.0
    top_logprobs: int | None = 0
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    truncation: str | None = "disabled"
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    store: bool | None = False
    background: bool | None = False
    service_tier: str | None = "auto"
    metadata: dict[str, Any] | None = msgspec.field(default_factory=dict)
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    def members(self) -> Wire:
        usual, fields = asdict(Repeated()), asdict(self)
        members = {key: usual[key] if value is None else value for key, value in fields.items()}
        members["text"] = {"format": _PLAIN_TEXT, **(self.text or {})}
        members["reasoning"] = {"effort": None, "summary": None, **(self.reasoning or {})}
        return {**members, "output": []}


_repeated = msgspec.json.Decoder(Repeated).decode
_decode = msgspec.json.Decoder(Wire).decode
_encode = msgspec.json.Encoder().encode


class ResponseFiller(Filler):
    def __init__(self, request: bytes) -> None:
        self._now = int(time.time())
        try:
            self._repeated = _repeated(request).members()
        except msgspec.DecodeError:
            self._repeated = Repeated().members()

    def whole(self, wire: Wire) -> Wire:
        out = {**_RESPONSE, **self._repeated, **wire}
        if out["usage"]:
            out["usage"] = {**_USAGE, **out["usage"]}
        out["created_at"] = wire.get("created_at") or self._now
        if out["completed_at"] is None and wire.get("status") == "completed":
            out["completed_at"] = int(time.time())
        return out

    def frames(self, data: bytes) -> bytes:
        """Frames with the current state of the response. No text can look like that: in a text,
        quotes are escaped."""
        return _FRAME.sub(self._frame, data) if b'"response":{' in data else data

    def _frame(self, found: re.Match[bytes]) -> bytes:
        wire = _decode(found.group(1))
        if not isinstance(wire.get("response"), dict):
            return found.group()
        return b"data: " + _encode({**wire, "response": self.whole(wire["response"])})


class ResponseEnding(NamedEnding):
    last = frozenset({COMPLETED, INCOMPLETE, FAILED})
    marks = tuple([name.encode() for name in sorted(last)])


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    input: str
    model: str | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    stream: bool | None = None
    store: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    n: None = None

    def limits(self) -> tuple[int | None, ...]:
        return (self.max_output_tokens,)


FRONT = Front(
    dialect=NAME,
    provider="openai",
    paths={
        "/v1/responses": "generate",
        "/responses": "generate",
        "/v1/responses/compact": "compact",
        "/responses/compact": "compact",
        "/v1/responses/input_tokens": "count_tokens",
        "/responses/input_tokens": "count_tokens",
    },
    headers_up=frozenset({b"openai-beta"}),
    filler=ResponseFiller,
    fills_frames=True,
    ending=ResponseEnding,
    texts=b"delta",
    plain=msgspec.json.Decoder(_Plain),
    unbounded={
        "background": "an answer in the background",
        "context_management": "summaries that the provider makes",
    },
    counted="input_tokens",
    count_members={"object": "response.input_tokens"},
    stored=Stored(
        "previous_response_id",
        frozenset({"openai", "azure"}),
        "Response",
        (b'"previous_response_id"', b'"conversation"', b'"input"'),
    ),
)
