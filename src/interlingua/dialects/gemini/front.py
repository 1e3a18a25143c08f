"""The Gemini API as a gateway serves it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from interlingua.dialects.front import GOOGLE_VERSIONS, Action, Ending, Front, RequestPath, Wire
from interlingua.dialects.gemini.tables import NAME

_PREFIXES = (*[f"/{version}/models/" for version in GOOGLE_VERSIONS], "/models/")
"""The last one is for clients whose users gave a base URL without a version."""
_ACTIONS: dict[str, tuple[Action, bool]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count_tokens", False),
    "embedContent": ("embed", False),
    "batchEmbedContents": ("embed", False),
}
_DOMAIN = "interlingua"


_VERTEX = re.compile(
    r"(?:/v1(?:beta1)?)?(?:/projects/[^/]+/locations/[^/]+)?/publishers/[^/]+/models/.+"
)


def _vertex_path(path: str) -> RequestPath | None:
    """`predict` is only served for Google's embeddings."""
    if path.endswith(":predict") and "/publishers/google/" not in path:
        return None
    return _read_path(path, predict="embed") if _VERTEX.fullmatch(path) else None


def _path(path: str) -> RequestPath | None:
    return _read_path(path) if path.startswith(_PREFIXES) else None


def _read_path(path: str, **more: Action) -> RequestPath | None:
    position, _, word = path.rpartition(":")
    model = position.partition("/models/")[2]
    action = (more[word], False) if word in more else _ACTIONS.get(word)
    if action is None or not model:
        return None
    return RequestPath(action[0], unquote(model), action[1])


def _error_details(code: str | None, facts: Mapping[str, str]) -> Wire:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code or ""}
    return {"details": [{**info, "domain": _DOMAIN, "metadata": dict(facts)}]}


class _Candidate(msgspec.Struct):
    index: int = 0
    finish_reason: str | None = None
    camel: str | None = msgspec.field(default=None, name="finishReason")


class _Candidates(msgspec.Struct):
    candidates: list[_Candidate] = []
    feedback: Any = msgspec.field(default=None, name="promptFeedback")
    prompt_feedback: Any = None
    usage: Any = msgspec.field(default=None, name="usageMetadata")
    usage_metadata: Any = None


_candidates = msgspec.json.Decoder(_Candidates).decode


class ContentEnding(Ending):
    marks = (b"finishReason", b"finish_reason", b"lockReason", b"lock_reason")

    def __init__(self, answers: int = 1) -> None:
        super().__init__(answers)
        self._ended: dict[int, bool] = {}

    def _look(self, data: str, name: str | None) -> None:
        chunk = _candidates(data)
        for each in chunk.candidates:
            ended = each.finish_reason is not None or each.camel is not None
            self._ended[each.index] = ended or self._ended.get(each.index, False)
        blocked = not self._ended and (chunk.feedback or chunk.prompt_feedback)
        if blocked or (self._ended and all(self._ended.values())):
            self.reach(last=(chunk.usage or chunk.usage_metadata) is not None)


TWINS = frozenset(
    {
        *("generation_config", "generationConfig", "max_output_tokens", "maxOutputTokens"),
        *("candidate_count", "candidateCount", "service_tier", "serviceTier"),
        *("response_modalities", "responseModalities"),
    }
)
"""Members of requests that have two spellings; the one that was not read had the other beside
it."""


def _repeats_field(raw: Any) -> bool:
    left = raw if isinstance(raw, dict) else {}
    config = left.get("generationConfig")
    inside = config if isinstance(config, dict) else {}
    return not TWINS.isdisjoint({*inside, *left} - ({"generationConfig"} - inside.keys()))


def _to_count(body: bytes) -> bytes:
    """A request may be wrapped; the path already has its model."""
    wire: Any = msgspec.json.decode(body)
    inner = wire.get("generateContentRequest") if isinstance(wire, dict) else None
    if not isinstance(inner, dict):
        return body
    inner.pop("model", None)
    return msgspec.json.encode(inner)


FRONT = Front(
    dialect=NAME,
    provider="gemini",
    paths={},
    path=_path,
    needs_id=True,
    error_details=_error_details,
    ending=ContentEnding,
    marks=(b"usageMetadata", b'"error"'),
    unbounded={
        "cachedContent": "a prompt stored at the provider",
        "cached_content": "a prompt stored at the provider",
        "continuationToken": "a conversation stored at the provider",
        "continuation_token": "a conversation stored at the provider",
    },
    repeats_field=_repeats_field,
    counted="totalTokens",
    to_count=_to_count,
)

HOSTED = (replace(FRONT, provider="vertex", path=_vertex_path),)
"""Gemini at Vertex."""
