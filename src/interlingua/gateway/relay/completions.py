"""`/v1/completions` by chat: the prompt is a user's message, the answer its continuation."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import msgspec

from interlingua.dialects.framing import decoder
from interlingua.gateway.shared.fronts import CHAT, Send
from interlingua.gateway.shared.state import Refusal
from interlingua.model.codec import body_problem
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import Loss, Report, loss_of
from interlingua.model.reasons import because

Wire = dict[str, Any]
_encode = msgspec.json.Encoder().encode
_OWN = frozenset({"prompt", "echo", "suffix", "best_of", "logprobs"})


class Completion:
    """A request for a completion, as one for chat, and the way back."""

    def __init__(self, body: bytes) -> None:
        wire = _decoded(body)
        prompt = wire.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        if not isinstance(prompt, str) or not prompt:
            raise _refused("prompt", "expected one text; send several prompts in several requests")
        if wire.get("suffix"):
            raise _refused(
                "suffix", "not supported, as chat models cannot insert text; leave it out"
            )
        if (wire.get("best_of") or 1) != (wire.get("n") or 1):
            raise _refused(
                "best_of", "not supported, as all answers are returned; leave it out, or set n"
            )
        self._prefix = prompt if wire.get("echo") else ""
        self._echoed: set[int] = set()
        chat = {name: value for name, value in wire.items() if name not in _OWN}
        top = wire.get("logprobs")
        if type(top) is int:
            chat["logprobs"] = True
            if top:
                chat["top_logprobs"] = top
        self.body = _encode({**chat, "messages": [{"role": "user", "content": prompt}]})

    @property
    def report(self) -> Report:
        """What that changes."""
        made = loss_of(CHAT.dialect, "approximated", "$.prompt", because("completion_as_chat"))
        changed: Loss = msgspec.structs.replace(made, at=("$.prompt",))
        return Report(CHAT.dialect, [changed])

    def whole(self, wire: Wire) -> Wire:
        """The answer of a chat as a completion."""
        choices = [
            {
                "text": self._text(choice, "message"),
                "index": choice.get("index", 0),
                "logprobs": _logprobs(choice.get("logprobs"), len(self._prefix)),
                "finish_reason": choice.get("finish_reason"),
            }
            for choice in wire.get("choices", ())
        ]
        return {**wire, "object": "text_completion", "choices": choices}

    def _text(self, choice: Wire, name: str) -> str:
        index, text = choice.get("index", 0), (choice.get(name) or {}).get("content") or ""
        if self._prefix and index not in self._echoed:
            self._echoed.add(index)
            text = self._prefix + text
        return text

    def chunk(self, data: str) -> str | None:
        """A frame of a stream; None for one without content for a client of completions."""
        try:
            wire = msgspec.json.decode(data)
        except msgspec.DecodeError:
            return data  # the end
        if not isinstance(wire, dict) or "choices" not in wire:
            return data  # an error
        choices = [
            {
                "text": self._text(choice, "delta"),
                "index": choice.get("index", 0),
                "logprobs": _logprobs(choice.get("logprobs"), 0),
                "finish_reason": choice.get("finish_reason"),
            }
            for choice in wire["choices"]
            if (choice.get("delta") or {}).get("content") or choice.get("finish_reason")
        ]
        if not choices and not wire.get("usage"):
            return None
        return _encode({**wire, "object": "text_completion", "choices": choices}).decode()


class CompletionSend:
    """Sends the answer of a chat as that of a completion; errors go on as they are."""

    def __init__(self, completion: Completion, send: Send) -> None:
        self._completion = completion
        self._send = send
        self._start: MutableMapping[str, Any] | None = None
        self._decoder: Any = None
        self._as_it_is = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = dict(message["headers"])
            self._as_it_is = message["status"] != 200
            if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
                self._decoder = decoder(CHAT.dialect)
            elif not self._as_it_is:
                self._start = message
                return
            await self._send(message)
        elif self._as_it_is:
            await self._send(message)
        elif self._decoder is not None:
            await self._send({**message, "body": self._frames(message)})
        else:
            await self._whole(message)

    def _frames(self, message: MutableMapping[str, Any]) -> bytes:
        data = message.get("body", b"")
        if data.startswith(b":"):
            return bytes(data)  # a sign of life
        frames = self._decoder.feed(data) if data else []
        if not message.get("more_body"):
            frames += self._decoder.close()
        made = [self._completion.chunk(frame.data) for frame in frames]
        return b"".join([b"data: %b\n\n" % each.encode() for each in made if each is not None])

    async def _whole(self, message: MutableMapping[str, Any]) -> None:
        assert self._start is not None, "a body follows its head"
        body = _encode(self._completion.whole(msgspec.json.decode(message["body"])))
        headers = [pair for pair in self._start["headers"] if pair[0] != b"content-length"]
        length = (b"content-length", b"%d" % len(body))
        await self._send({**self._start, "headers": [*headers, length]})
        await self._send({**message, "body": body})


def _decoded(body: bytes) -> Wire:
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        text = body_problem(error, body)
        raise Refusal(400, ErrorKind.INVALID_REQUEST, text) from None
    if not isinstance(wire, dict):
        raise Refusal(400, ErrorKind.INVALID_REQUEST, "invalid request body: expected an object")
    return wire


def _refused(name: str, problem: str) -> Refusal:
    return Refusal(400, ErrorKind.INVALID_REQUEST, f"{name}: {problem}", "unsupported_parameter")


def _logprobs(chat: Any, offset: int) -> Wire | None:
    """The log probabilities of a chat in the older form."""
    listed = chat.get("content") if isinstance(chat, dict) else None
    if not listed:
        return None
    made: Wire = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for each in listed:
        made["tokens"].append(each["token"])
        made["token_logprobs"].append(each["logprob"])
        top = {one["token"]: one["logprob"] for one in each.get("top_logprobs") or ()}
        made["top_logprobs"].append(top or None)
        made["text_offset"].append(offset)
        offset += len(each["token"])
    return made
