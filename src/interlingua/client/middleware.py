"""What stands between a caller and a provider: sees each call on its way in and out.

On the way in the first one registered comes first; on the way out, events of streams included, it
comes last. Retries and fallbacks happen further in: a middleware sees one call, however many tries
it takes."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from interlingua.client.answer import Answer
from interlingua.client.errors import CallError
from interlingua.model.events import Event
from interlingua.model.exchange import Request
from interlingua.models.profile import Profile
from interlingua.outbound import WrittenRequest

if TYPE_CHECKING:
    from interlingua.client.targets import Prepared


class Call(msgspec.Struct, frozen=True, eq=False):
    """One call: what is asked, of which models (the first, then those to fall back to)."""

    id: str
    models: tuple[str, ...]
    request: Request
    stream: bool = False
    dialect: str | None = None
    deadline: float | None = None
    """Seconds for everything: tries, waits, and the answer."""
    profile: Profile | Literal[False] | None = None
    """What the first model takes, where it is not what the rules say; False: nothing is fitted."""
    headers: Mapping[str, str] = {}
    """Sent with every try, beside those that the provider asks for."""
    written_request: WrittenRequest | None = None
    """The request as it was written already for one of the models."""

    def replace(self, **changes: Any) -> Call:
        return msgspec.structs.replace(self, **changes)


class Middleware:
    """Base class: overwrite what you need. `request` and `answer` may be coroutines."""

    def request(self, call: Call) -> Call | Awaitable[Call]:
        """On the way in."""
        return call

    def sending(self, call: Call, prepared: Prepared) -> None:
        """For each try, just before it is sent: what goes to whom, and what it could not say."""

    def answer(self, call: Call, answer: Answer) -> Answer | Awaitable[Answer]:
        """On the way out, for an answer that came whole, and at the end of a stream that did."""
        return answer

    def event(self, call: Call, event: Event) -> Event | None:
        """On the way out, for each event of a stream; None leaves it out. The last event has the
        whole response: who changes text changes it there too."""
        return event

    def error(self, call: Call, error: CallError) -> CallError:
        """On the way out, for a call that failed; what it gives is raised."""
        return error

    def dropped(self, call: Call) -> None:
        """For a call that came to no end of its own: its task was cancelled, or there was nobody
        to ask."""


class Layers:
    """Several middlewares as one."""

    def __init__(self, layers: Iterable[Middleware]) -> None:
        self._in = tuple(layers)
        self._out = self._in[::-1]
        self.on_event = tuple(
            each.event for each in self._out if type(each).event is not Middleware.event
        )
        self.on_sending = tuple(
            each.sending for each in self._in if type(each).sending is not Middleware.sending
        )

    async def request(self, call: Call) -> Call:
        for each in self._in:
            made = each.request(call)
            call = await made if isawaitable(made) else made
        return call

    async def answer(self, call: Call, answer: Answer) -> Answer:
        for each in self._out:
            made = each.answer(call, answer)
            answer = await made if isawaitable(made) else made
        return answer

    def error(self, call: Call, error: CallError) -> CallError:
        for each in self._out:
            error = each.error(call, error)
        return error

    def dropped(self, call: Call) -> None:
        for each in self._out:
            each.dropped(call)

    def event(self, call: Call, event: Event) -> Event | None:
        told: Event | None = event
        for each in self.on_event:
            if told is None:
                return None
            told = each(call, told)
        return told
