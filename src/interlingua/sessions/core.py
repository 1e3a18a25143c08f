"""A session, as effects that `session.py` runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from interlingua.adapt.remembered import History
from interlingua.adapt.target import ProfileChoice
from interlingua.costs.cost import total
from interlingua.events.payloads import SessionCreated, SessionEnded, SessionResumed
from interlingua.model.blocks import (
    CompactionBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.ids import Ulids
from interlingua.model.message import Message, Role, with_provenance
from interlingua.model.metadata import PROMPT_PARTS, MessageMetadata, MessageStatus
from interlingua.model.rules import validate
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.estimator import Estimator
from interlingua.providers.profiles import ModelLookup, lookup_here
from interlingua.routing.decision import Decision, SwapError
from interlingua.routing.swap import CapabilityLookup, Choice, check_swap
from interlingua.routing.turn import Facts, facts_of
from interlingua.sessions.adapters.adapter import Adapter
from interlingua.sessions.adapters.ids import IdMap
from interlingua.sessions.effects import Effects, SessionError
from interlingua.sessions.holding import stored_prices
from interlingua.sessions.plans import SwapPlan, estimated_tokens, reading_cost, trial_write
from interlingua.sessions.pruning import sendable, with_files
from interlingua.sessions.recorder import Recorder
from interlingua.sessions.setting import Setting, lookup
from interlingua.store.base import Store
from interlingua.store.rows import Appended, Hold, SearchHit, SessionRow, ToolCallRow

if TYPE_CHECKING:
    from interlingua.costs.ahead import Ahead
    from interlingua.costs.comparing import SentPrompts

PARTS = ("base", "memory", "skills", "workspace")
"""The known parts, in the order of the prompt; others follow in their own order."""


def compose(parts: Mapping[str, str | None]) -> Message:
    """The parts with content, as one SYSTEM message; without any, an empty placeholder."""
    names = [*(name for name in PARTS if name in parts), *(n for n in parts if n not in PARTS)]
    chosen = [(name, text) for name in names if (text := parts[name])]
    metadata = MessageMetadata(extra={PROMPT_PARTS: [name for name, _ in chosen]})
    return Message(Role.SYSTEM, tuple([TextBlock(text) for _, text in chosen]), metadata=metadata)


def parts_of(message: Message) -> dict[str, str]:
    """The parts of a message that `compose` made; its whole text as `base` of any other."""
    texts = [block.text for block in message.content if type(block) is TextBlock]
    names = (message.metadata.extra or {}).get(PROMPT_PARTS)
    if isinstance(names, list) and len(names) == len(texts):
        return dict(zip(names, texts, strict=True))
    return {"base": "\n\n".join(texts)} if texts else {}


def is_composed(message: Message) -> bool:
    return message.role is Role.SYSTEM and PROMPT_PARTS in (message.metadata.extra or {})


_IDS = Ulids()
INTERRUPTED = "interrupted: the program ended before the answer did"
DEFAULT, STICKY, ROUTE_NAME = "default_model", "sticky", "route"
"""Entries of a session's `routing_policy`: the model it began with, whether the active one was
chosen with `/model`, and the name by which it was chosen, which may be a route of the gateway."""


class LastTurn(NamedTuple):
    """The turn before this one; the user's next message is feedback about its answer."""

    question: str
    """The digest of the user's message."""
    model: str
    answer_id: str


Make = Callable[[Store, SessionRow], object]


def _add(store: Store, row: SessionRow) -> object:
    return store.add_session(row)


def create(
    setting: Setting,
    workspace_path: str,
    model: str | None,
    name: str | None,
    policy: Mapping[str, object] | None = None,
    make: Make = _add,
    parent_id: str | None = None,
) -> Effects[Core]:
    """A new session. `model` is its default: `/model` may choose another one later. `make`
    stores it, with everything that is created in the same moment. `parent_id` is the session
    whose worker it is."""
    id = None if model is None else setting.router.config().names.require(model)
    now = datetime.now(UTC)
    stored_policy = {DEFAULT: id, STICKY: False, **(policy or {})}
    row = SessionRow(_IDS.new(), workspace_path, now, now, id, stored_policy, name, parent_id)
    yield lambda store: make(store, row)
    core = Core(row, setting)
    core.prices = yield from stored_prices(setting.prices)
    core.history, core.ids = [], IdMap()
    created = SessionCreated(
        workspace_path=workspace_path,
        workspace_hash=hashlib.sha256(workspace_path.encode()).hexdigest(),
        initial_active_model=id,
        routing_policy_version=setting.router.config().policy.version,
    )
    core.recorder.emit("session.created", created)
    yield from core.recorder.stored()
    return core


def reopen(setting: Setting, id: str) -> Effects[Core]:
    """A stored session, also one of a program that was killed."""
    row: SessionRow = yield lambda store: store.session(id)
    core = Core(row, setting)
    core.prices = yield from stored_prices(setting.prices)
    resumed = SessionResumed(
        active_model=row.active_model,
        message_count=row.message_count,
        routing_policy_version=setting.router.config().policy.version,
    )
    core.recorder.emit("session.resumed", resumed)
    yield from core.recorder.stored()
    return core


class Core:
    """A session in memory: its row, its history once it is loaded, and the model in use.

    `turn` is the id of the turn that is under way, if any; there is one at a time."""

    def __init__(self, row: SessionRow, setting: Setting) -> None:
        self.id = row.id
        self.row = row
        self.setting = setting
        self.history: list[Message] | None = None
        self.ids: IdMap | None = None
        self.prices = setting.prices
        """The table for costs: under a version that the store has."""
        self.turn: str | None = None
        self.decision: Decision | None = None
        """The last one, for `/model show`."""
        self.last_turn: LastTurn | None = None
        self._facts = (0, Facts())
        """The facts of the first messages, and their number."""
        self._compacted = (0, False)
        """Whether so many messages have a compaction among them."""
        self.sent = History()
        self.prompts: SentPrompts | None = None
        """The requests that the caller sent from `call.wire`, to explain misses of the cache."""
        """The last request as written: the next one begins with its messages."""
        self._lookup: ModelLookup | None = None
        """The models' rules, as they were when the last turn began."""
        self._adapters: dict[str, Adapter] = {}
        """The adapters of this turn's models."""
        self._estimators: dict[str, Estimator] = {}
        self._estimated: tuple[str | None, int, int] = (None, 0, 0)
        """The last request's model, its messages, and about how many tokens it had."""
        self.recorder = Recorder(row.id, setting.bus)
        policy = row.routing_policy or {}
        self.choice = Choice(row.active_model if policy.get(STICKY) else None)
        self.default_model: str | None = policy.get(DEFAULT) or (
            None if policy.get(STICKY) else row.active_model
        )

    @property
    def model(self) -> str | None:
        """The model in use: the one that was chosen, else the default."""
        return self.choice.model or self.default_model

    @property
    def tools(self) -> tuple[ToolDefinition, ...]:
        return tuple(self.setting.tools or ())

    # Reading

    def load(self) -> Effects[list[Message]]:
        """The whole history; read once, then extended by what this session appends."""
        if self.history is None or self.ids is None:
            calls: list[ToolCallRow] = yield lambda store: store.tool_calls(self.id)
            stored: list[Message] = yield lambda store: store.messages(self.id)
            self.history = [with_provenance(message) for message in stored]
            last = self.history[-1].id if self.history else None
            self.ids = IdMap.of(calls, Ulids(after=last))
        return self.history

    def reload(self) -> Effects[list[Message]]:
        """The current history of the store, with messages that other programs appended."""
        self.row = yield lambda store: store.session(self.id)
        self.history = self.ids = None
        self._forget()
        return (yield from self.load())

    def _forget(self) -> None:
        """The history is another than was looked at."""
        self._facts, self._estimated = (0, Facts()), (None, 0, 0)
        self.sent, self._compacted = History(), (0, False)

    def search(self, words: str, limit: int) -> Effects[list[SearchHit]]:
        hits: list[SearchHit]
        hits = yield lambda store: store.search(words, session_id=self.id, limit=limit)
        return hits

    def tail(self, count: int) -> Effects[list[Message]]:
        if self.history is not None:
            return self.history[-count:] if count > 0 else []
        last: list[Message] = yield lambda store: store.tail(self.id, count)
        return last

    # Facts of the history, without walking all of it again

    def facts(self) -> Facts:
        """The facts of the history that concern routing."""
        history = self.history or []
        count, known = self._facts
        if count < len(history):
            known |= facts_of(history[count:])
            self._facts = (len(history), known)
        return known

    def is_compacted(self) -> bool:
        """Whether the history has a compaction, which replaces earlier messages in requests."""
        history = self.history or []
        count, found = self._compacted
        if count < len(history) and not found:
            found = any(
                type(block) is CompactionBlock for each in history[count:] for block in each.content
            )
        self._compacted = (len(history), found)
        return found

    def estimate(self, model: str, request: Request) -> int:
        """About how many tokens a request with the whole history has."""
        tokens = self._estimator(model).tokens(request.messages, request.tools, request.options)
        self._estimated = (model, len(self.history or ()), tokens)
        return tokens

    def expected(self, adapter: Adapter, message: Message | None, options: Options | None) -> int:
        """The estimated tokens of this model's next request: those of its last one, and of the
        messages since."""
        history = self.history or []
        new = [] if message is None else [message]
        estimator = self._estimator(adapter.model)
        model, count, tokens = self._estimated
        if model != adapter.model or count > len(history):
            messages = [*sendable(history, adapter.dialect.name), *new]
            return estimated_tokens(adapter, estimator, messages, self.tools, options)
        return tokens + round(estimator.added([*history[count:], *new]))

    def _estimator(self, model: str) -> Estimator:
        if model not in self._estimators:
            self._estimators[model] = Estimator(model)
            while len(self._estimators) > _MODELS:
                del self._estimators[next(iter(self._estimators))]
        return self._estimators[model]

    # Writing

    def append(
        self, messages: Iterable[Message], hold: Hold | None = None
    ) -> Effects[tuple[Message, ...]]:
        """Stores messages from elsewhere: an older transcript, a user's messages, results. Calls
        get ids of ours, and results follow them."""
        yield from self.load()
        adopted = [self._adopted(message) for message in messages]
        return (yield from self.add(adopted, hold=hold))

    def add(
        self,
        messages: Sequence[Message],
        after: int | None = None,
        check: bool = True,
        hold: Hold | None = None,
    ) -> Effects[tuple[Message, ...]]:
        """Store messages that have our ids already; without `check`, an answer is stored
        unchecked."""
        assert self.ids is not None
        assert self.history is not None
        if check:
            self._check(messages)
        if after is None and self.setting.alone:
            after = len(self.history)
        ids = {id: own for m in messages for id, own in self.ids.provider_ids(m).items()}
        done: Appended = yield lambda store: store.append(
            self.id, messages, provider_ids=ids, after=after, hold=hold, check=check
        )
        self.history.extend(done.messages)
        if any(type(b) is CompactionBlock for m in done.messages for b in m.content):
            self._forget()
        self.row = replace(self.row, message_count=done.first + len(done.messages) - 1)
        return done.messages

    def save(
        self, message: Message, instead_of: Message | None = None, hold: Hold | None = None
    ) -> Effects[Message]:
        """Saves a changed message. Messages that others may also change are written only
        `instead_of` the copy that we have."""
        assert self.ids is not None
        message = with_provenance(message)
        ids = self.ids.provider_ids(message)
        yield lambda store: store.save(
            message, provider_ids=ids, instead_of=instead_of, hold=hold, check=False
        )
        if self.history is not None:
            for index in range(len(self.history) - 1, -1, -1):
                if self.history[index].id == message.id:
                    self.history[index] = message
                    if index < max(self._facts[0], self._estimated[1], self._compacted[0]):
                        self._forget()
                    break
        return message

    def _adopted(self, message: Message) -> Message:
        assert self.ids is not None
        if message.session_id not in (None, self.id):
            raise SessionError(
                f"message {message.id} belongs to session {message.session_id}, not to {self.id}"
            )
        return self.ids.adopt(message, message.metadata.provider)

    def _check(self, messages: Sequence[Message]) -> None:
        """Structure, and that each result answers a call of this session, once."""
        assert self.history is not None
        for message in messages:
            if message.id is not None or message.session_id is not None:
                message = message.replace(session_id=None, id=None)
            broken = validate(message)
            if broken:
                raise SessionError(f"session {self.id} rejects this message: {broken[0]}")
        if any(m.role is Role.TOOL for m in messages):
            open = open_calls(self.history)
            for message in messages:
                open.update(open_calls([message]))
                for block in message.content if message.role is Role.TOOL else ():
                    if type(block) is ToolResultBlock:
                        if block.tool_use_id not in open:
                            raise SessionError(
                                f"result for {block.tool_use_id!r}: no call of session {self.id}"
                                " waits for it"
                            )
                        del open[block.tool_use_id]

    def composed(self, parts: Mapping[str, str | None]) -> Effects[Message]:
        """Sets parts of the system prompt: in the first message if it is the only one, otherwise in
        a new message with the changes."""
        history = yield from self.load()
        before = [message for message in history if is_composed(message)]
        if not before:
            return (yield from self.add([compose(parts)]))[0]
        if len(history) == 1:
            new = compose({**parts_of(before[0]), **parts})
            rewritten = before[0].replace(content=new.content, metadata=new.metadata)
            return (yield from self.save(rewritten, instead_of=before[0]))
        current = {name: text for message in before for name, text in parts_of(message).items()}
        changed = {name: text for name, text in parts.items() if text and current.get(name) != text}
        if not changed:
            return before[-1]
        return (yield from self.add([compose(changed)]))[0]

    def interrupted(self) -> Effects[list[Message]]:
        """The history, with the partial answers of a killed program marked as interrupted."""
        history = self.history or (yield from self.load())
        for message in history[-_LOOK_BACK:]:
            if message.metadata.status is MessageStatus.PARTIAL:
                metadata = message.metadata.replace(
                    status=MessageStatus.ERROR, error_message=INTERRUPTED
                )
                yield from self.save(message.replace(metadata=metadata), instead_of=message)
        return history

    # Models

    def look_up_models(self) -> None:
        """Looks up what models accept, once when a turn begins. Later changes of the user's files
        apply from the next turn on."""
        found = self.setting.model_lookup or lookup_here()
        if found is not self._lookup:
            self._lookup = found
            self._adapters.clear()

    def capabilities(self) -> CapabilityLookup:
        """The lookup for routing; the default router uses the turn's own."""
        setting, configured = self.setting, self.setting.router.capabilities
        if self._lookup is None or setting.model_lookup is not None or configured is not lookup:
            return configured
        return self._lookup.capabilities

    def turn_adapter(self, model: str, profile: ProfileChoice = None) -> Adapter:
        """The adapter of a model for the turn in progress, made once."""
        known = self._adapters.get(model) if profile is None else None
        if known is None or known.ids is not self.ids or known.prices is not self.prices:
            known = self.adapter(model, profile, self._lookup)
            if profile is None:
                self._adapters[model] = known
        return known

    def adapter(
        self, model: str, profile: ProfileChoice = None, lookup: ModelLookup | None = None
    ) -> Adapter:
        """A new adapter of a model for this session; `profile` replaces its rules."""
        setting = self.setting
        entry = setting.router.registry.entries.get(model)
        dialect = setting.dialects.get(model) or setting.dialects.get(model.partition(":")[0])
        return Adapter(
            model,
            dialect or (entry.adapter if entry else None),
            ids=self.ids,
            prices=self.prices,
            wire_name=entry.wire_name if entry else None,
            profile=profile,
            model_lookup=setting.model_lookup or lookup,
            instructions=setting.instructions,
            caching=setting.caching,
        )

    def plan(self, model: str) -> Effects[SwapPlan]:
        """The losses and cost of a change to this model; nothing is changed or logged."""
        history = yield from self.load()
        router, tools, options = self.setting.router, self.tools, self.setting.options
        model = router.config().names.require(model)
        adapter = self.adapter(model)
        messages = with_files(sendable(history, adapter.dialect.name), self.row.workspace_path)
        adapter = adapter.for_request(adapter.request(messages, tools, options))
        tokens = estimated_tokens(adapter, self._estimator(adapter.model), messages, tools, options)
        report, critical = trial_write(adapter, messages, tools, options)
        present = self.model
        now = present_ahead = None
        if present is not None:
            there = self.adapter(present)
            memory = self._estimator(there.model)
            now = reading_cost(there, estimated_tokens(there, memory, history, tools, options))
            present_ahead = self._ahead(there, history)
        return SwapPlan(
            model,
            report,
            tokens,
            reading_cost(adapter, tokens),
            present,
            now,
            check_swap(
                model,
                history,
                router.config().names,
                router.capabilities,
                active_model=present,
                tools=tools,
                input_tokens=tokens,
            ),
            critical,
            self._ahead(adapter, history),
            present_ahead,
        )

    def _ahead(self, adapter: Adapter, history: Sequence[Message]) -> Ahead:
        """The predicted cache read of the next prompt."""
        from interlingua.costs.ahead import ahead

        options = self.setting.options or Options()
        request = Request(tuple(history), tools=tuple(self.tools), options=options)
        now = datetime.now(UTC)
        return ahead(request, adapter.model, now, adapter.prices, adapter.caching)

    def swap(self, model: str | None) -> Effects[bool]:
        """Change the model, or with None go back to the default. True if that waits for the end of
        the turn. A model that cannot take the history over is refused, and nothing changes."""
        if model is not None:
            model = self.setting.router.config().names.require(model)
            yield from self._require_fit(model)
        overridden = self.choice.set(model)
        self.recorder.emit("route.overridden", overridden)
        if not overridden.queued:
            yield from self._keep_choice()
        yield from self.recorder.stored()
        return overridden.queued

    def _require_fit(self, model: str) -> Effects[None]:
        history = yield from self.load()
        router, adapter, options = self.setting.router, self.adapter(model), self.setting.options
        sent = sendable(history, adapter.dialect.name)
        tokens = estimated_tokens(adapter, self._estimator(model), sent, self.tools, options)
        refusal = check_swap(
            model,
            history,
            router.config().names,
            router.capabilities,
            active_model=self.model,
            tools=self.tools,
            input_tokens=tokens,
        )
        if refusal is not None:
            self.recorder.emit("routing.constraint_failure", refusal.event())
            yield from self.recorder.stored()
            raise SwapError(refusal)

    def _keep_choice(self) -> Effects[None]:
        policy = dict(self.row.routing_policy or {})
        policy.update({DEFAULT: self.default_model, STICKY: self.choice.model is not None})
        active = self.model
        self.row = yield lambda store: store.update_session(
            self.id, active_model=active, routing_policy=policy
        )

    def turn_ended(self) -> Effects[None]:
        """Choices made during the turn take effect, if the history still fits them."""
        self.turn = None
        before = self.choice.model
        waited = self.choice.queued
        self.choice.end_turn()
        if waited:
            if self.choice.model is not None:
                queued_model, self.choice.model = self.choice.model, before
                try:
                    yield from self._require_fit(queued_model)
                except SwapError:
                    return
                self.choice.model = queued_model
            yield from self._keep_choice()

    # The rest

    def forked(self, message_id: str | None, name: str | None) -> Effects[Core]:
        row: SessionRow = yield lambda store: store.fork(self.id, message_id, name=name)
        core = Core(row, self.setting)
        core.prices = self.prices
        created = SessionCreated(
            workspace_path=row.workspace_path,
            workspace_hash=hashlib.sha256(row.workspace_path.encode()).hexdigest(),
            initial_active_model=row.active_model,
            routing_policy_version=self.setting.router.config().policy.version,
        )
        core.recorder.emit("session.created", created)
        yield from core.recorder.stored()
        return core

    def cost(self) -> Effects[Decimal | None]:
        """The total cost of the session's answers; None if the cost of one is unknown."""
        history = yield from self.load()
        return cost_of_messages(history)

    def end(self, disposition: Literal["completed", "abandoned", "error"]) -> Effects[None]:
        """Records that this session is over. It can still be read, and opened again."""
        history = yield from self.load()
        lasted = datetime.now(UTC) - self.row.created_at
        ended = SessionEnded(
            disposition=disposition,
            turn_count=sum(m.role is Role.USER for m in history),
            total_cost_usd=cost_of_messages(history),
            duration_ms=max(0, int(lasted.total_seconds() * 1000)),
        )
        self.recorder.emit("session.ended", ended)
        yield from self.recorder.stored()


_MODELS = 3
"""Models whose estimates are remembered."""
_LOOK_BACK = 50
"""A killed program leaves one partial message, near the end."""


def open_calls(messages: Iterable[Message]) -> dict[str, str]:
    """Calls that wait for a result of ours: id to the tool's name. Calls of an incomplete answer
    never do: it is unknown whether they were complete."""
    open: dict[str, str] = {}
    for message in messages:
        whole = message.metadata.status is MessageStatus.COMPLETE
        for block in message.content:
            if type(block) is ToolUseBlock and block.executor == "client" and whole:
                open[block.id] = block.name
            elif type(block) is ToolResultBlock:
                open.pop(block.tool_use_id, None)
    return open


def cost_of_messages(messages: Iterable[Message]) -> Decimal | None:
    costs = []
    for message in messages:
        usage = message.metadata.usage
        if usage is None:
            continue
        if usage.cost_usd is not None:
            costs.append(usage.cost_usd)
        elif usage.is_known:
            return None
    return total(*costs)


def require_model(core: Core, name: str | None) -> str:
    """The model that is meant: by id or alias, or the one in use."""
    name = name or core.model
    if name is None:
        raise SessionError(f"session {core.id} has no model; choose one with swap")
    return core.setting.router.config().names.require(name)
