"""Traces to transcripts. The conversation is the request with the longest history and its answer;
the usage of each answer is in the request that it followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.otel.otlp import (
    AGENT,
    ANSWERED_BY,
    CACHED,
    CALL,
    CHOICE,
    COMPLETIONS,
    CONVERSATION,
    COST,
    ENDS,
    EXPORTED,
    INFERENCE,
    INPUT,
    INSTRUCTIONS,
    MODEL,
    NAME,
    OLDER,
    OPERATION,
    OUTPUT,
    OUTPUT_TOKENS,
    PROMPT_TOKENS,
    PROMPTS,
    PROVIDER,
    PROVIDERS,
    REASONED,
    RESPONSE,
    ROLES_OF_EVENTS,
    STOP_WORDS,
    STOPS,
    TOOL_RUN,
    TOOLS,
    WRITTEN,
    Event,
    Record,
    Records,
    Wire,
    read_message,
    read_parts,
)
from interlingua.transcripts.rows import RowsFile, first_row, read_tools, row_positions
from interlingua.transcripts.transcript import (
    Branch,
    Origin,
    SubAgent,
    Transcript,
    models_of,
    total,
    usage_with,
)
from interlingua.transcripts.values import NOT_JSON, as_text, dollars, listed, objects


def messages_in(events: list[Event]) -> tuple[list[Wire], list[Wire]]:
    """Input and output, in the order of the events."""
    history: list[Wire] = []
    made: list[Wire] = []
    for event in events:
        body = _content(event.body)
        if event.name in ROLES_OF_EVENTS:
            history.append(_message(body, ROLES_OF_EVENTS[event.name]))
        elif event.name == CHOICE:
            made.append(_choice(body))
        elif event.name == PROMPTS[0]:
            history.extend(_listed(body.get(PROMPTS[1]), "user"))
        elif event.name == COMPLETIONS[0]:
            made.extend(_listed(body.get(COMPLETIONS[1]), "assistant"))
    return history, made


def in_attribute(value: Any) -> list[Event]:
    """Events that a library keeps as JSON in one attribute of the span (pydantic-ai before 1.0)."""
    found = as_json(value)
    return (
        [Event(str(each.get("event.name")), each) for each in found if isinstance(each, dict)]
        if isinstance(found, list)
        else []
    )


def as_json(value: Any) -> Any:
    """The value of a text that is JSON; any other value is itself."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except NOT_JSON:
        return value


def _content(body: Any) -> Wire:
    """An event of a span has its body as JSON in an attribute."""
    if isinstance(body, dict) and "gen_ai.event.content" in body:
        body = as_json(body["gen_ai.event.content"])
    return body if isinstance(body, dict) else {"content": body}


def _choice(body: Wire) -> Wire:
    """An answer whose calls are in the message, or beside it."""
    message = as_json(body.get("message"))
    inner = message if isinstance(message, dict) else {"content": message}
    if body.get("tool_calls") and "tool_calls" not in inner:
        inner = {**inner, "tool_calls": body["tool_calls"]}
    message_read = _message(inner, "assistant")
    end = body.get("finish_reason")
    return {**message_read, "finish_reason": end} if isinstance(end, str) else message_read


def _message(body: Wire, role: str) -> Wire:
    own_role = body.get("role")
    content = body.get("content")
    if isinstance(content, str) and content.startswith("[{"):
        content = as_json(content)
    if role == "tool":
        answer = {"type": "tool_call_response", "id": body.get("id"), "response": content}
        return {"role": "tool", "parts": [answer]}
    calls = as_json(body.get("tool_calls"))
    parts = [*_parts(content), *_calls(calls)]
    return {"role": own_role if isinstance(own_role, str) else role, "parts": parts}


def _parts(content: Any) -> Iterator[Wire]:
    for each in content if isinstance(content, list) else [content]:
        match each:
            case None | "":
                continue
            case str(text):
                yield {"type": "text", "content": text}
            case {"type": "text", "text": str(text)} | {"text": str(text)}:
                yield {"type": "text", "content": text}
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                yield {"type": "uri", "modality": "image", "uri": url}
            case {"type": str()}:
                yield each
            case _:
                yield {"type": "text", "content": msgspec.json.encode(each).decode()}


def _calls(calls: Any) -> Iterator[Wire]:
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"function": {"name": str(name), **function}}:
                arguments = function.get("arguments")
                yield {
                    "type": "tool_call",
                    "id": call.get("id"),
                    "name": name,
                    "arguments": arguments,
                }
            case {"type": str()}:
                yield call


def _listed(value: Any, role: str) -> Iterator[Wire]:
    """All messages in one attribute: a list of them, or a text."""
    found = as_json(value)
    for each in found if isinstance(found, list) else [found]:
        if isinstance(each, dict):
            yield _message(each, str(each.get("role") or role))
        elif each is not None:
            yield {"role": role, "parts": [{"type": "text", "content": str(each)}]}


_KEYS = {"text": "content", "tool_call": "name", "tool_call_response": "id", "uri": "uri"}
"""The identity of a message that is repeated; thinking may be left out by then."""


class Chat(msgspec.Struct, eq=False):
    """One request and its answer, as entries `{role, parts}`."""

    record: Record
    instructions: list[Wire]
    history: list[Wire]
    made: list[Wire]

    @property
    def has_messages(self) -> bool:
        return bool(self.history or self.made)


class Chain(msgspec.Struct, eq=False):
    """Requests that go on from one another, in runs that say their history again.

    Most requests repeat all of the history, so that one which begins with what another ended with
    goes on from it. Some programs record what is new alone, and some shorten the history: such a
    request goes on from the one before it, if both name the same conversation. One that begins as
    another did and goes elsewhere is a way of its own."""

    runs: list[list[Chat]]

    @property
    def last(self) -> Chat:
        return self.runs[-1][-1]

    @property
    def entries(self) -> list[Wire]:
        """All messages: of each run the last history, and its answer."""
        return [entry for run in self.runs for entry in (*run[-1].history, *run[-1].made[:1])]

    @property
    def makers(self) -> dict[int, Chat]:
        """For each answer, the request that it was returned for, by its index among the entries."""
        found: dict[int, Chat] = {}
        start = 0
        for run in self.runs:
            found |= {start + len(chat.history): chat for chat in run if chat.made}
            start += len(run[-1].history) + len(run[-1].made[:1])
        return found


def chats_of(records: Iterable[Record], report: Report) -> list[Chat]:
    """The requests to models; if none of them has messages, those to agents."""
    every = [_chat(record, report) for record in records]
    # Older traces, and events without their span, do not name the operation.
    requested = [
        each
        for each in every
        if _operation(each) in INFERENCE or (_operation(each) is None and each.has_messages)
    ]
    if any(each.has_messages for each in requested):
        return requested
    agents = [each for each in every if each.has_messages and _operation(each) != TOOL_RUN]
    return agents or requested


def _operation(chat: Chat) -> Any:
    return chat.record.attributes.get(OPERATION)


def _chat(record: Record, report: Report) -> Chat:
    attributes = record.attributes
    history, made = _entries(record, INPUT, report), _entries(record, OUTPUT, report)
    if not history and not made:
        events = record.events or in_attribute(attributes.get("events"))
        history, made = messages_in(events)
    return Chat(record, _entries(record, INSTRUCTIONS, report), history, made)


def _entries(record: Record, name: str, report: Report) -> list[Wire]:
    """A list of objects: as JSON in a text, or as values of their own."""
    value = as_json(record.attributes.get(name))
    if value is not None and not isinstance(value, list):
        report.add("dropped", f"{record.where}, {name}", because("not_messages"))
        return []
    return [each for each in value or () if isinstance(each, dict)]


def chains_of(chats: Iterable[Chat], named: bool) -> tuple[list[Chain], list[Chat]]:
    """All branches, and answers without requests; `named`: requests name their conversation."""
    ways = _Ways(named)
    alone: list[Chat] = []
    for chat in sorted(chats, key=lambda each: (each.record.start, each.record.end)):
        if chat.history:
            ways.take(chat)
        else:
            alone.append(chat)
    return ways.chains, alone


class _Ways:
    def __init__(self, named: bool) -> None:
        self.chains: list[Chain] = []
        self._named = named
        self._tips: dict[int, tuple[Chain, list[Chat]]] = {}
        self._begun: set[int] = set()
        self._latest: Chain | None = None

    def take(self, chat: Chat) -> None:
        steps = _steps(chat.history)
        known = next((each for step in reversed(steps) if (each := self._tip(step))), None)
        if known is not None:
            chain, run = known
            run.append(chat)
        else:
            chain, run = self._begin(chat, steps[1])
        self._latest = chain
        self._tips[_steps(chat.made[:1], steps[-1])[-1]] = chain, run

    def _tip(self, step: int) -> tuple[Chain, list[Chat]] | None:
        """A way that ends here, and no longer does so."""
        known = self._tips.pop(step, None)
        return known if known is not None and known[0].runs[-1] is known[1] else None

    def _begin(self, chat: Chat, first: int) -> tuple[Chain, list[Chat]]:
        run = [chat]
        if self._latest is not None and self._named and first not in self._begun:
            self._latest.runs.append(run)
            return self._latest, run
        self._begun.add(first)
        self.chains.append(Chain([run]))
        return self.chains[-1], run


def _steps(entries: list[Wire], start: int = 0) -> list[int]:
    """A number for each beginning of a list of messages."""
    steps = [start]
    for entry in entries:
        steps.append(hash((steps[-1], key_of(entry))))
    return steps


def key_of(entry: Wire) -> tuple[Any, ...]:
    """The identity of an entry."""
    parts = entry.get("parts")
    facts = []
    for part in parts if isinstance(parts, list) else ():
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if kind in _KEYS:
            facts.append((kind, str(part.get(_KEYS[kind]))))
    return (entry.get("role") == "assistant", tuple(facts))


class ShownMessage(NamedTuple):
    """A message as an entry shows it, and its note in that entry."""

    message: Message
    note: Any = None


def detect_file(sample: Sample) -> str | None:
    row = first_row(sample) or {}
    return next((f"OTLP with {key}" for key in EXPORTED if key in row), None)


def read_file(path: Path) -> Transcript:
    """The first conversation of a file; others are reported."""
    first, *others = read_all_in(path)
    if others:
        reason = because("more_conversations", count=len(others))
        first.report.add("dropped", "conversation 2", reason)
    return first


def read_all_in(path: Path) -> Iterator[Transcript]:
    """Every conversation; one that is alone in its file is written back with all of it."""
    report = Report(NAME)
    file = RowsFile(path, report)
    records = Records()
    for position in row_positions(file):
        if not records.take(position.value, position.where):
            report.add("dropped", position.where, because("not_otlp"))
    talks = _talks(records.join(), report)
    if not talks:
        raise TranscriptError(path, "it contains no readable model request")
    for number, talk in enumerate(talks):
        transcript = talk.transcript(Report(NAME) if number else report)
        if len(talks) == 1:
            none = tuple(() for _ in transcript.messages)
            transcript = transcript.replace(
                origin=Origin(NAME, (file.origin(),), transcript.messages, none)
            )
        yield transcript


class Talk:
    """The requests of one conversation; helpers by the run of the tool that they were made in."""

    def __init__(self, name: str | None, named: bool = True) -> None:
        self.name = name
        self.named = named
        self.chats: list[Chat] = []
        self.helpers: dict[str | None, tuple[Record, Talk]] = {}

    def shown(self, report: Report) -> list[ShownMessage]:
        """The messages of the longest way."""
        return self._ways(report)[0]

    def _ways(self, report: Report) -> tuple[list[ShownMessage], list[list[ShownMessage]]]:
        """The longest way, of several the last, and all others."""
        chains, alone = chains_of(self.chats, self.named)
        if not chains:
            instructed = next((chat for chat in reversed(alone) if chat.instructions), None)
            return [*(_instructions(instructed) if instructed else []), *_alone(alone, report)], []
        main = max(reversed(chains), key=lambda chain: len(chain.entries))
        shown, left = _shown(main, alone, report)
        others = [_shown(chain, [], report)[0] for chain in chains if chain is not main]
        others += [_alone([chat], report) for chat in left if chat.made]
        return shown, others + _other_choices(main, shown, report)

    def transcript(self, report: Report) -> Transcript:
        shown, others = self._ways(report)
        messages = _with_notes(shown)
        records = sorted((chat.record for chat in self.chats), key=lambda each: each.end)
        last = records[-1]
        if not messages:
            reason = because("trace_without_content")
            report.add("dropped", last.where, reason)
        return Transcript.of(
            NAME,
            messages,
            id=self.name,
            created_at=_time(min(each.start for each in records)),
            updated_at=_time(last.end),
            models=models_of(messages) or models_of(map(_bare_answer, self.chats)),
            usage=total(_usage(each.attributes) for each in records),
            branches=(
                Branch(None, messages, True),
                *(Branch(None, _with_notes(each)) for each in others),
            ),
            subagents=tuple(
                SubAgent(talk.transcript(report), as_text(run.attributes.get(CALL)))
                for run, talk in self.helpers.values()
            ),
            tools=read_tools(
                as_json(last.attributes.get(TOOLS)),
                "openai-responses",
                report,
                f"{last.where}, {TOOLS}",
            ),
            report=report,
            details={"service": last.service, "agent": last.attributes.get("gen_ai.agent.name")},
        )


def _talks(records: list[Record], report: Report) -> list[Talk]:
    """Requests by conversation, else by trace; those inside a tool's run are its helper's."""
    traces = {each.trace: name for each in records if (name := _conversation(each))}
    spans = {(each.trace, each.span): each for each in records}
    talks: dict[str | None, Talk] = {}
    inside: list[tuple[Record, Chat]] = []
    for chat in chats_of(records, report):
        run = _run_of(chat.record, spans)
        if run is not None:
            inside.append((run, chat))
        else:
            _talk_of(chat.record, traces, talks).chats.append(chat)
    for run, chat in inside:
        caller = _talk_of(run, traces, talks)
        name = as_text(chat.record.attributes.get(AGENT)) or run.span
        _, helper = caller.helpers.setdefault(run.span, (run, Talk(name)))
        helper.chats.append(chat)
    # Where nothing of a conversation was recorded, its helpers stand alone.
    return [
        each
        for talk in talks.values()
        for each in ([talk] if talk.chats else [helper for _, helper in talk.helpers.values()])
    ]


def _talk_of(record: Record, traces: dict[str | None, str], talks: dict[str | None, Talk]) -> Talk:
    name = _conversation(record) or traces.get(record.trace)
    return talks.setdefault(name or record.trace, Talk(name or record.trace, name is not None))


def _run_of(record: Record, spans: dict[tuple[str | None, str | None], Record]) -> Record | None:
    """The run of a tool that a request was made in."""
    seen: set[str] = set()
    above = record.parent
    while above is not None and above not in seen:
        seen.add(above)
        found = spans.get((record.trace, above))
        if found is None:
            return None
        if found.attributes.get(OPERATION) == TOOL_RUN:
            return found
        above = found.parent
    return None


def _conversation(record: Record) -> str | None:
    return as_text(record.attributes.get(CONVERSATION))


def _shown(
    chain: Chain, alone: list[Chat], report: Report
) -> tuple[list[ShownMessage], list[Chat]]:
    """The messages of a chain, and those answers without requests that are not in it."""
    entries, makers = chain.entries, chain.makers
    placed = _matched(alone, entries, makers)
    shown = _instructions(chain.last)
    for at, entry in enumerate(entries):
        maker = makers.get(at) or placed.get(at)
        if maker is not None and _thinks(maker.made[0]) and not _thinks(entry):
            entry = {**entry, "parts": maker.made[0]["parts"]}  # histories may omit thinking
        shown.extend(_entry(entry, at, maker, chain.last.record.where, report))
    found = {id(chat) for chat in placed.values()}
    return _paired(shown), [chat for chat in alone if id(chat) not in found]


def _alone(chats: list[Chat], report: Report) -> list[ShownMessage]:
    """Answers whose requests are unknown."""
    return [
        each
        for at, chat in enumerate(chats)
        for entry in chat.made[:1]
        for each in _entry(entry, at, chat, chat.record.where, report)
    ]


def _matched(alone: list[Chat], entries: list[Wire], taken: dict[int, Chat]) -> dict[int, Chat]:
    """Answers without their requests, at the place where the history repeats them."""
    free: dict[Any, list[int]] = {}
    for at in reversed(range(len(entries))):
        if at not in taken:
            free.setdefault(key_of(entries[at]), []).append(at)
    found: dict[int, Chat] = {}
    for chat in alone:
        places = free.get(key_of(chat.made[0])) if chat.made else None
        if places:
            found[places.pop()] = chat
    return found


def _thinks(entry: Wire) -> bool:
    kinds = (part.get("type") for part in objects(entry.get("parts")))
    return any(kind in ("reasoning", "thinking") for kind in kinds)


def _instructions(chat: Chat) -> list[ShownMessage]:
    content = read_parts(chat.instructions)
    if not content:
        return []
    return [ShownMessage(Message(Role.SYSTEM, content), chat.instructions[0].get(KEY))]


def _entry(
    entry: Wire, at: int, maker: Chat | None, where: str, report: Report
) -> Iterator[ShownMessage]:
    try:
        messages = read_message(entry, at)
    except InterlinguaError as error:
        report.add("dropped", f"{where}, message {at}", because("unreadable", error=error))
        return
    for message in messages:
        if message.role is Role.ASSISTANT:
            message = _answer(message, entry, maker)
        yield ShownMessage(message, entry.get(KEY) if len(messages) == 1 else None)


def _answer(message: Message, entry: Wire, maker: Chat | None) -> Message:
    record = maker.record if maker else Record("", {})
    ends = listed(record.attributes.get(ENDS))
    end = entry.get("finish_reason") or (ends[0] if ends else None)
    metadata = _metadata(record.attributes, end)
    return replace(message, metadata=metadata, created_at=_time(record.end))


def _metadata(attributes: dict[str, Any], end: Any) -> MessageMetadata:
    word = as_text(_get(attributes, PROVIDER))
    provider = PROVIDERS.get(word, word) if word else None
    requested, answered = as_text(attributes.get(MODEL)), as_text(attributes.get(ANSWERED_BY))
    model = requested or answered
    stop = STOPS.get(end) if isinstance(end, str) else None
    return MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        response_model=answered or requested,
        response_id=as_text(attributes.get(RESPONSE)),
        usage=_usage(attributes),
        stop_reason=stop,
        raw_stop_reason=end if stop is None or STOP_WORDS.get(stop) != end else None,
    )


def _usage(attributes: dict[str, Any]) -> Usage | None:
    """The prompt's count includes tokens that were read from a cache, and written to it."""
    prompt, output = _count(attributes, PROMPT_TOKENS), _count(attributes, OUTPUT_TOKENS)
    if prompt is None and output is None:
        return None
    counts = (prompt, output, _count(attributes, CACHED), _count(attributes, WRITTEN))
    cost, reasoned = dollars(attributes.get(COST)), _count(attributes, REASONED)
    return usage_with(*counts, reasoning_tokens=reasoned, cost_usd=cost)


def _get(attributes: dict[str, Any], name: str) -> Any:
    names = (name, *OLDER.get(name, ()))
    return next((attributes[each] for each in names if attributes.get(each) is not None), None)


def _count(attributes: dict[str, Any], name: str) -> int | None:
    value = _get(attributes, name)
    return value if type(value) is int and value >= 0 else None


def _bare_answer(chat: Chat) -> Message:
    return Message(Role.ASSISTANT, metadata=_metadata(chat.record.attributes, None))


def _paired(shown: list[ShownMessage]) -> list[ShownMessage]:
    """A result without an id answers the first open call."""
    waiting: dict[str, None] = {}
    found: list[ShownMessage] = []
    for each in shown:
        message = each.message
        waiting |= {b.id: None for b in message.content if isinstance(b, ToolUseBlock)}
        block = message.content[0] if message.role is Role.TOOL else None
        if isinstance(block, ToolResultBlock):
            name = block.tool_use_id or next(iter(waiting), "")
            waiting.pop(name, None)
            if not block.tool_use_id:
                named = replace(block, tool_use_id=name)
                each = each._replace(message=replace(message, content=(named,)))
        found.append(each)
    return found


def _with_notes(shown: Iterable[ShownMessage]) -> tuple[Message, ...]:
    return tuple(message for each in shown for message in apply_note(each.message, each.note))


def _other_choices(
    main: Chain, shown: list[ShownMessage], report: Report
) -> list[list[ShownMessage]]:
    """Alternatives of the last answer."""
    last, at = main.last, len(main.last.history)
    others = (_entry(each, at, last, last.record.where, report) for each in last.made[1:])
    return [[*shown[:-1], *each] for each in others]


def _time(nanoseconds: int) -> datetime | None:
    if nanoseconds <= 0:
        return None
    try:
        whole = datetime.fromtimestamp(nanoseconds // 10**9, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return whole.replace(microsecond=nanoseconds // 1000 % 10**6)
