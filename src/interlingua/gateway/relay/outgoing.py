"""What a client gets of a provider's stream: its own bytes, or those of another dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interlingua.adapt.refusals import with_category
from interlingua.adapt.stream_convert import StreamConverter
from interlingua.client.errors import CallError
from interlingua.client.failures import redact
from interlingua.client.targets import Prepared
from interlingua.costs.cost import with_runs
from interlingua.dialects.framing import encoder
from interlingua.dialects.front import Front
from interlingua.gateway.relay.passthrough import BROKEN_OFF, ModelRenamer, Passthrough, TextCounter
from interlingua.gateway.relay.whole import (
    ANTHROPIC,
    REFUSED,
    echoed,
    fallback_id,
    retold_transformations,
)
from interlingua.gateway.shared.fronts import CHAT, codec_of, recognizable
from interlingua.gateway.shared.state import Arrival, Outcome, Principal
from interlingua.model.codec import dumps
from interlingua.model.events import (
    Event,
    MessageComplete,
    MessageStart,
    Stop,
    StreamError,
    UsageUpdate,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason


class TranslatedStream:
    """A stream from another dialect."""

    seams = 0
    """How often it went on after it broke off."""

    def __init__(
        self,
        arrival: Arrival,
        outcome: Outcome,
        prepared: Prepared,
        front: Front,
        tells_usage: bool,
        request_body: bytes,
        secrets: Iterable[str] = (),
        diagnose: Callable[[Response], Response] | None = None,
    ) -> None:
        """`diagnose` adds why the prompt cache was missed, for a client that asks for it."""
        self.error: ProviderError | None = None
        self.complete: Response | None = None
        self._answer: Response | None = None
        self.began = False
        self.is_whole = False
        """Whether the answer is complete; what happens to the connection after that does not
        matter."""
        self.over = False
        """Whether nothing can follow."""
        self._secrets = tuple(secrets)
        self._arrival = arrival
        self._outcome = outcome
        self._report = prepared.report
        self._prepared, self._request_body = prepared, request_body
        self._tells_usage, self._diagnose = tells_usage, diagnose
        self._front = front
        same = prepared.target.dialect.name == front.dialect and prepared.answer_adapter is None
        self._goes_home = same and front.restyle is not None
        """Whether an older version of the dialect comes from its own provider: passed on
        unchanged."""
        self._filler = front.filler(request_body) if front.fills_frames else None
        self._converter = self._converter_of(prepared, front)

    def _converter_of(self, prepared: Prepared, front: Front) -> Any:
        source, back = prepared.target.dialect.name, prepared.answer_adapter
        return StreamConverter(source, front.dialect, None, self._watch, back)

    def _watch(self, event: Event) -> Event | None:
        noted = self._noted(event)
        return event if self._goes_home and type(event) is not StreamError else noted

    def _noted(self, event: Event) -> Event | None:
        kind, arrival, outcome = type(event), self._arrival, self._outcome
        if kind is MessageStart:
            self.began = True
            id = event.response_id or fallback_id(arrival)  # type: ignore[union-attr]  # by its kind
            model = arrival.client_model or self._prepared.target.name
            return event.replace(model=model, response_id=id)
        if kind is UsageUpdate:
            outcome.usage = event.usage  # type: ignore[union-attr]  # by its kind
            return event if self._tells_usage else None
        if kind is Stop:
            return event.replace(raw_stop_reason=None)  # the provider's word, see `echoed`
        if kind is MessageComplete:
            self.complete = event.response  # type: ignore[union-attr]  # by its kind
            self.is_whole = True
            self._answer = self.complete
            self._hear(self.complete.message)
            metadata = self.complete.message.metadata
            outcome.usage = with_runs(self.complete.message) or outcome.usage
            outcome.stop_reason = metadata.stop_reason
            outcome.cache = metadata.cache_diagnosis
            outcome.answered_by = metadata.response_model
            return MessageComplete(self._echo_of(self.complete), choice=event.choice)
        if kind is StreamError:
            self.error = shown(event.error, self._secrets)  # type: ignore[union-attr]  # by its kind
            self.over = True
            partial: Message | None = event.partial  # type: ignore[union-attr, assignment]  # by its kind
            if partial is not None:
                self._hear(partial)
            return event.replace(error=self.error)
        return event

    def _hear(self, message: Message) -> None:
        if self._arrival.principal.metered:
            self._outcome.heard = len(dumps(message))

    def _echo_of(self, response: Response) -> Response:
        source = self._prepared.target.dialect.name
        if response.message.metadata.input_transformations:
            response = retold_transformations(
                response, self._prepared, self._front.dialect, self._request_body
            )
        if self._diagnose is not None:
            response = self._diagnose(response)
        refused = response.message.metadata.stop_reason in REFUSED
        if refused and self._front.dialect == ANTHROPIC:
            response = with_category(response, source)
        echo = echoed(response, self._arrival, self._prepared.target)
        if self._tells_usage:
            return echo
        metadata = echo.message.metadata.replace(usage=None)
        return echo.replace(message=echo.message.replace(metadata=metadata))

    def feed(self, data: bytes) -> bytes:
        out = self._converter.feed(data)
        return out if self._filler is None else self._filler.frames(out)

    def close(self) -> bytes:
        out = self._converter.close()
        return out if self._filler is None else self._filler.frames(out)

    def fail(self, error: CallError) -> bytes:
        self.over = True
        out = self._converter.fail(error)
        return out if self._filler is None else self._filler.frames(out)

    @property
    def is_last(self) -> bool:
        """Whether no more usage can arrive."""
        return self.is_whole

    @property
    def broke(self) -> ProviderError | None:
        """Why it broke off, if it may go on."""
        return None

    def note(self) -> None:
        """Notes what is known of the exchange so far."""

    def end(self) -> None:
        self._report.extend(self._converter.report)
        front, answer = self._front, self._answer
        if front.restyle is not None and answer is not None:
            self._report.extend(
                codec_of(front.dialect).write_response(front.restyle(answer)).report
            )
        # It is in a circle with its converter; the bodies need not wait for the collector.
        vars(self).update(_request_body=b"", _prepared=None)


class PassthroughStream:
    """A stream of the client's own dialect."""

    broke: ProviderError | None = None
    complete: Response | None = None

    def __init__(
        self,
        principal: Principal,
        outcome: Outcome,
        front: Front,
        passthrough: Passthrough,
        rename: ModelRenamer | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self._outcome = outcome
        self._rename = rename
        self._front = front
        self._passthrough = passthrough
        self._secrets = tuple(secrets)
        self._counter = TextCounter(front.dialect) if principal.metered else None
        self.began = False
        self.over = False

    @property
    def error(self) -> ProviderError | None:
        return self._passthrough.error

    @property
    def is_whole(self) -> bool:
        passthrough = self._passthrough
        return passthrough.end.is_reached and not passthrough.ends_with_connection

    @property
    def is_last(self) -> bool:
        return self._passthrough.end.is_last

    def feed(self, data: bytes) -> bytes:
        out = self._passthrough.feed(data)
        if out:
            self.began = True
            if self._counter is not None:
                self._counter.add(out)
        if self._passthrough.error is BROKEN_OFF and not self.over:
            self.over = True
            return out + error_frames(self._front, BROKEN_OFF) if self.began else b""
        return out if self._rename is None else self._rename(out)

    def close(self) -> bytes:
        """Ends the stream; a premature end is reported to the client."""
        before = self._passthrough.error
        out = self._passthrough.close()
        error = self._passthrough.error
        if error is not None and before is None:
            self.over = True
            return error_frames(self._front, shown(error, self._secrets)) if self.began else b""
        return out if self._rename is None else self._rename(out)

    def fail(self, error: CallError) -> bytes:
        self.over = True
        return error_frames(self._front, ProviderError(ErrorKind.NETWORK, error.problem))

    def note(self) -> None:
        """Notes what is known of the exchange so far."""
        outcome, passthrough = self._outcome, self._passthrough
        usage, stop_reason = passthrough.usage, passthrough.stop_reason
        if passthrough.end.is_last and stop_reason is None and passthrough.error is None:
            stop_reason = StopReason.OTHER  # `[DONE]`, and not a word why
        outcome.usage, outcome.stop_reason = usage, stop_reason
        outcome.cache, outcome.answered_by = passthrough.cache, passthrough.answered_by
        if self._counter is not None and (usage is None or outcome.error is not None):
            outcome.heard = self._counter.count()

    end = note

    def take_response(self) -> Response | None:
        """The answer as far as it was looked at, once, when it is whole."""
        response, self._passthrough.response = self._passthrough.response, None
        return response


def shown(error: ProviderError, secrets: tuple[str, ...]) -> ProviderError:
    """An error without the secrets that its provider may repeat in it."""
    text = f"{error.message}{error.code}{error.raw}"
    if not any(secret in text for secret in secrets if secret):
        return error
    code = error.code if error.code is None else redact(error.code, secrets)
    return error.replace(message=redact(error.message, secrets), code=code, raw=None)


def error_frames(front: Front, error: ProviderError) -> bytes:
    """The end of a stream that cannot go on, in the client's dialect."""
    is_chat = front.dialect == CHAT.dialect
    name = front.errors if is_chat and front.errors is not None else front.dialect
    writer, encode = codec_of(name).stream_writer(), encoder(name)
    frames = [*writer.feed(StreamError(recognizable(front, error))), *writer.close()]
    return b"".join([encode(frame) for frame in frames])
