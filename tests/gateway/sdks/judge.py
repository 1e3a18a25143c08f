"""A chat model on loopback that answers closed questions, by numbers or by letters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import interlingua as il
from tests.gateway.sdks.provider import Upstream
from tests.replay.exchanges import Exchange
from tests.replay.routes import Route as Asked


class Judge(Upstream):
    """A chat model that thinks that the first option of every question is three times as probable
    as all others."""

    refuses = False

    def _choose(self, id: str | None, route: Asked | None, body: bytes) -> Exchange | None:
        if route is not None and route.dialect == "openai-chat" and not self.answers:
            wire = json.loads(body)
            self.asked.append(il.dialect("openai-chat").read_request(wire))
            return Exchange("chat", "openai-chat", "", body=json.dumps(_completion(wire)).encode())
        return super()._choose(id, route, body)

    def _answered(self, dialect: str, request: il.Request) -> il.Response:
        response = super()._answered(dialect, request)
        if request.options.logprobs is None or self.refuses:
            return response
        message = response.message
        metadata = message.metadata.replace(logprobs=tuple(_tokens(message.text)))
        return response.replace(message=message.replace(metadata=metadata))

    def _content(self, dialect: str, request: il.Request, number: int) -> Iterator[il.Block]:
        if self.refuses:
            yield il.TextBlock("I will not.")
            return
        format = request.options.response_format
        assert format is not None
        assert format.schema is not None
        yield il.TextBlock(json.dumps(_judged(format.schema)))


def _judged(schema: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, shape in schema["properties"].items():
        if "enum" in shape:
            made[name] = shape["enum"][0]
        else:
            made[name] = {
                id: 0.75 if number == 0 else 0.25 / (len(shape["properties"]) - 1)
                for number, id in enumerate(shape["properties"])
            }
    return made


def _tokens(text: str) -> list[Any]:
    """The tokens of a text, with three alternatives to each letter."""
    pieces = [piece for piece in text.replace('"', '\x00"\x00').split("\x00") if piece]
    top = [
        {"token": letter, "logprob": math.log(chance), "bytes": None}
        for letter, chance in (("A", 0.6), ("B", 0.2), ("and", 0.2))
    ]
    return [
        {
            "token": piece,
            "logprob": math.log(0.6),
            "bytes": None,
            "top_logprobs": top if piece == "A" else [],
        }
        for piece in pieces
    ]


def _completion(wire: Any) -> Any:
    """An answer by letters, with the probabilities of its tokens."""
    schema = wire["response_format"]["json_schema"]["schema"]
    text = json.dumps(_judged(schema))
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "logprobs": {"content": _tokens(text), "refusal": None} if wire.get("logprobs") else None,
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": wire["model"],
        "choices": [choice],
        "usage": usage,
    }
