"""Sessions for programs without an event loop.

    with il.open_store() as store:
        session = il.Session.create(store, model="anthropic:claude-sonnet-4-6")
        turn = session.begin("How high is the Zugspitze?")
        call = turn.call()
        answer = call.complete(post(call.wire))      # any HTTP client will do

`interlingua.sessions.aio` has the same with `await`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

from interlingua.adapters.adapter import Adapter
from interlingua.bus.bus import Bus
from interlingua.given import GivenMessage, GivenOptions, Tools, messages_of, options_of
from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, UserContent
from interlingua.prices.table import PriceTable
from interlingua.routing.router import Router
from interlingua.say import Fitting
from interlingua.sessions import call as _call
from interlingua.sessions import core as _core
from interlingua.sessions import turn as _turn
from interlingua.sessions.call import broken_off
from interlingua.sessions.effects import run
from interlingua.sessions.exports import export
from interlingua.sessions.faces import CallFace, SessionFace, TurnFace
from interlingua.sessions.plans import SwapPlan
from interlingua.sessions.resuming import resume
from interlingua.sessions.setting import Takes, setting_of
from interlingua.store.base import Store
from interlingua.store.rows import SearchHit


class Session(SessionFace):
    """One stored conversation. Made by `create` or `open`; not to be shared between threads."""

    def __init__(self, store: Store, core: _core.Core) -> None:
        self.store = store
        self._core = core

    @classmethod
    def create(
        cls,
        store: Store,
        workspace_path: str = ".",
        *,
        model: str | None = None,
        name: str | None = None,
        system: str | Mapping[str, str | None] | None = None,
        tools: Tools | None = None,
        options: GivenOptions | None = None,
        router: Router | None = None,
        prices: PriceTable | None = None,
        bus: Bus | None = None,
        dialects: Mapping[str, str] | None = None,
        user_id: str | None = None,
        team_id: str | None = None,
        profiles: Takes = None,
    ) -> Session:
        """A new session. `model` is its default, by name, id or alias; `system` its instructions,
        whole or in named parts; `tools` are Python functions, `il.ToolDefinition` or a registry of
        them; `options` are `il.Options` or a dict (`{"temperature": 0}`); `dialects` says how to
        speak to a model or provider where that is not the usual way; `profiles` what models take,
        in place of the rules of this machine's user."""
        setting = setting_of(
            router, prices, tools, bus, dialects, options, user_id, team_id, profiles
        )
        session = cls(store, run(store, _core.create(setting, workspace_path, model, name)))
        if system is not None:
            session.compose({"base": system} if isinstance(system, str) else system)
        return session

    @classmethod
    def open(
        cls,
        store: Store,
        id: str,
        *,
        tools: Tools | None = None,
        options: GivenOptions | None = None,
        router: Router | None = None,
        prices: PriceTable | None = None,
        bus: Bus | None = None,
        dialects: Mapping[str, str] | None = None,
        user_id: str | None = None,
        team_id: str | None = None,
        profiles: Takes = None,
    ) -> Session:
        """A session as it was left. Nothing is read but its row until somebody asks for more."""
        setting = setting_of(
            router, prices, tools, bus, dialects, options, user_id, team_id, profiles
        )
        return cls(store, run(store, _core.reopen(setting, id)))

    def messages(self) -> list[Message]:
        """The whole history, in order."""
        return list(run(self.store, self._core.load()))

    def tail(self, count: int = 50) -> list[Message]:
        """The last messages; as quick in a long session as in a short one."""
        return run(self.store, self._core.tail(count))

    def search(self, words: str, limit: int = 50) -> list[SearchHit]:
        """Messages of this session that have all the words."""
        return run(self.store, self._core.search(words, limit))

    def unanswered(self) -> dict[str, str]:
        """Calls that wait for a result: id to the tool's name."""
        return _core.open_calls(run(self.store, self._core.load()))

    def cost(self) -> Decimal | None:
        """What the answers cost together, in US dollars; None if the cost of one is unknown."""
        return run(self.store, self._core.cost())

    def reload(self) -> list[Message]:
        """The history with what other programs appended meanwhile."""
        return list(run(self.store, self._core.reload()))

    def append(self, *messages: GivenMessage) -> tuple[Message, ...]:
        """Keep messages that came from elsewhere. Calls get ids of ours, and results follow."""
        return run(self.store, self._core.append(messages_of(messages)))

    def compose(self, parts: Mapping[str, str | None]) -> Message:
        """Set parts of the system prompt (`base`, `memory`, `skills`, `workspace`, or others)."""
        return run(self.store, self._core.composed(parts))

    def begin(
        self,
        content: UserContent | GivenMessage,
        *,
        override: str | None = None,
        options: GivenOptions | None = None,
        **more: Any,
    ) -> Turn:
        """Start a turn with a user's message; `@model` at its start, or `override`, chooses the
        model of this turn alone. A message is text, blocks, `il.Message`, or a dict with role and
        content. `options` are those of this turn, and each may be a keyword (`temperature=0`);
        other keywords are what routing may ask about (`skills`, `cost_today_usd`, …)."""
        beginning = _turn.beginning(self._core, content, override, options, more)
        return Turn(self.store, run(self.store, _turn.begin(self._core, beginning)))

    def resume(self, *, options: GivenOptions | None = None) -> Turn:
        """Go on where a turn broke off: results or an answer are missing, not a question."""
        return Turn(self.store, run(self.store, resume(self._core, options_of(options))))

    def plan(self, model: str) -> SwapPlan:
        """What a change to this model would lose and cost. Nothing is changed."""
        return run(self.store, self._core.plan(model))

    def swap(self, model: str | None) -> bool:
        """Change the model for the turns to come, or with None go back to the default. True if the
        change waits for the end of a turn. A model that cannot take the history over raises
        `SwapError`, and nothing is changed."""
        return run(self.store, self._core.swap(model))

    def fork(self, message_id: str | None = None, *, name: str | None = None) -> Session:
        """A new session that begins with this one's messages, up to and with the given one."""
        return type(self)(self.store, run(self.store, self._core.forked(message_id, name)))

    def export(self, to: str = "canonical", model: str | None = None) -> tuple[bytes, Report]:
        """The conversation as JSON: `canonical`, or as a request in a dialect; and what that could
        not say."""
        return export(run(self.store, self._core.load()), to, model)

    def adapter(self, model: str | None = None) -> Adapter:
        """What speaks to a model for this session."""
        run(self.store, self._core.load())
        return self._core.adapter(_core.require_model(self._core, model))

    def end(self, disposition: Literal["completed", "abandoned", "error"] = "completed") -> None:
        """Say in the trace that the session is over. It can be opened again."""
        run(self.store, self._core.end(disposition))


class Turn(TurnFace):
    """From a user's message to the answer that ends it. Made by `Session.begin`."""

    def __init__(self, store: Store, core: _turn.TurnCore) -> None:
        self._store = store
        self._core = core

    def call(
        self,
        options: GivenOptions | None = None,
        clock: Callable[[], float] = time.perf_counter,
        *,
        profile: Fitting = None,
        stream: bool | None = None,
    ) -> Call:
        """The next request. Every call of the answer before it needs its result first. `profile` is
        what the model takes, where that is not what the rules say, or False to say the request as
        it is. With `stream` the answer comes as a stream, if the model has any."""
        effects = _call.started(self._core, options_of(options), clock, profile, stream)
        return Call(self._store, run(self._store, effects))

    def results(self, *results: Message | ToolResultBlock) -> tuple[Message, ...]:
        """Keep what the tools gave."""
        return run(self._store, self._core.results(results))

    def end(self) -> None:
        """End the turn; an answer without open calls has ended it already."""
        run(self._store, self._core.end())

    def cancel(self, reason: _turn.Reason = "user_cancel") -> None:
        """Give up. A second time changes nothing."""
        run(self._store, self._core.cancel(reason))


class Call(CallFace):
    """One request and its answer. Made by `Turn.call`."""

    def __init__(self, store: Store, core: _call.CallCore) -> None:
        self._store = store
        self._core = core

    def complete(self, wire: dict[str, Any] | bytes | str) -> Message:
        """Keep the provider's answer, as it came over the wire."""
        return run(self._store, self._core.complete(wire))

    def answer(self, response: Response) -> Message:
        """Keep an answer that was read already."""
        return run(self._store, self._core.answer(response))

    def stream(self, chunks: Iterable[bytes]) -> Iterator[Event]:
        """The events of a streamed answer, kept as it arrives. Leaving early cancels it; if
        `chunks` raises, what had arrived is kept as a failed answer, and the turn may try again.
        If the store fails, nothing is decided: `close` or `cancel` may be called again."""
        source = iter(chunks)
        try:
            while True:
                try:
                    chunk = next(source)
                except StopIteration:
                    break
                except Exception as problem:
                    self.fail(broken_off(problem))
                    raise
                yield from self.feed(chunk)
            yield from self.close()
        except BaseException as problem:
            if not isinstance(problem, Exception) and not self.ended:
                self.cancel()
            raise

    def feed(self, data: bytes) -> list[Event]:
        """Bytes of a streamed answer."""
        return run(self._store, self._core.feed(data))

    def take(self, event: Event) -> list[Event]:
        """An event of a streamed answer, as a reader of the dialect gave it."""
        return run(self._store, self._core.take(event))

    def close(self) -> list[Event]:
        """The stream has ended, well or not."""
        return run(self._store, self._core.close())

    def fail(self, error: ProviderError, retries: int = 0) -> Message:
        """There is no answer, or no more of it; the turn may try again."""
        return run(self._store, self._core.fail(error, retries))

    def cancel(self, reason: _turn.Reason = "user_cancel") -> list[Event]:
        """The user wants no more: what arrived is kept, and the turn is over."""
        return run(self._store, self._core.cancel(reason))
