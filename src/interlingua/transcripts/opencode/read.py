"""OpenCode's exports and databases to a transcript."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.errors import a_type
from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import Database, TranscriptError, contents, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.transcript import (
    Compaction,
    Origin,
    OriginFile,
    SubAgent,
    Transcript,
    is_summary,
    summary_message,
)
from interlingua.transcripts.values import (
    NOT_JSON,
    as_text,
    dollars,
    from_millis,
    listed,
    members,
    objects,
    source_of,
)

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "tool-calls": StopReason.TOOL_USE,
    "content-filter": StopReason.CONTENT_FILTER,
    "error": StopReason.ERROR,
    "other": StopReason.OTHER,
    "unknown": StopReason.OTHER,
}
STOP_WORDS = {
    StopReason.END_TURN: "stop",
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.MAX_TOKENS: "length",
    StopReason.TOOL_USE: "tool-calls",
    StopReason.CONTENT_FILTER: "content-filter",
    StopReason.ERROR: "error",
}

PROTOCOLS = {
    "anthropic": "anthropic",
    "openai": "openai-responses",
    "google": "gemini",
    "google-vertex": "gemini",
    "amazon-bedrock": "bedrock",
    "openrouter": "openrouter",
}
"""The dialects of providers; all others have openai-chat."""

PROVIDERS = {"gemini": "google", "vertex": "google-vertex", "bedrock": "amazon-bedrock"}
"""Providers that have another name in OpenCode."""

BOOKKEEPING = frozenset(
    {"step-start", "step-finish", "patch", "snapshot", "agent", "retry", "subtask", "compaction"}
)
"""Parts that the model does not see."""


def read_parts(parts: list[dict[str, Any]], protocol: str | None) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for part in parts:
        kind, text = part.get("type"), part.get("text")
        if kind == "text" and (type(text) is str or part.get("ignored") is True):
            if text and part.get("ignored") is not True:
                blocks.append(TextBlock(text, _google(part)))
        elif kind == "reasoning" and type(text) is str:
            blocks.append(_thinking(text, part.get("metadata")))
        elif kind == "tool" and (call := _call(part)) is not None:
            blocks.append(call)
        elif kind == "file":
            blocks.append(read_attachment(part))
        elif type(kind) is not str or kind not in BOOKKEEPING:
            blocks.append(UnknownBlock({"opencode": part}))
    return tuple(blocks)


def _call(part: dict[str, Any]) -> ToolUseBlock | None:
    name, tool, state = part.get("callID"), part.get("tool"), part.get("state")
    if type(name) is not str or type(tool) is not str or type(state) is not dict:
        return None
    return ToolUseBlock(name, tool, members(state.get("input")), signature=_google(part))


def _thinking(text: str, metadata: Any) -> ThinkingBlock:
    """Signatures are under the provider's name, each with its own key."""
    for about in members(metadata).values():
        if type(about) is not dict:
            continue
        sealed = about.get("signature") or about.get("reasoningEncryptedContent")
        sealed = sealed or about.get("thoughtSignature")
        name = about.get("itemId")
        if isinstance(sealed, str) or isinstance(name, str):
            return ThinkingBlock(
                text,
                sealed if isinstance(sealed, str) else None,
                name if isinstance(name, str) else None,
            )
    return ThinkingBlock(text)


def _google(part: dict[str, Any]) -> str | None:
    if "metadata" not in part:
        return None
    sealed = members(members(part["metadata"]).get("google")).get("thoughtSignature")
    return sealed if isinstance(sealed, str) else None


def read_attachment(part: dict[str, Any]) -> Block:
    """A picture or document, in a data URL or under an address."""
    media, url = part.get("mime"), part.get("url")
    if not isinstance(url, str):
        return UnknownBlock({"opencode": part})
    source = source_of(url)
    name = part.get("filename") if isinstance(part.get("filename"), str) else None
    if isinstance(media, str) and media.startswith("image/"):
        return ImageBlock(source, media, name)
    if source.kind == "base64" and media == "text/plain":
        return TextBlock(b64decode(source.data or "").decode(errors="replace"))
    return DocumentBlock(source, media if isinstance(media, str) else None, name)


def read_results(parts: list[dict[str, Any]]) -> list[ToolResultBlock]:
    """Results that are part of the calls themselves."""
    return [
        result
        for part in parts
        if part.get("type") == "tool" and (result := _result(part)) is not None
    ]


def _result(part: dict[str, Any]) -> ToolResultBlock | None:
    name, state, tool = part.get("callID"), part.get("state"), part.get("tool")
    if type(name) is not str or type(state) is not dict:
        return None
    failed = state.get("status") == "error"
    if not failed and state.get("status") != "completed":
        return None
    output = str(state.get("error") or "") if failed else state.get("output")
    content: list[Any] = [TextBlock(output)] if type(output) is str and output else []
    if not failed and "attachments" in state:
        content += [read_attachment(each) for each in objects(state["attachments"])]
    return ToolResultBlock(name, tuple(content), failed, tool if type(tool) is str else None)


def write_part(block: Block, provider: str, time: dict[str, int]) -> dict[str, Any] | None:
    """A block as a part, without its ids; None if it has no equivalent."""
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text, "time": time}
        case ThinkingBlock(text):
            return {"type": "reasoning", "text": text, "time": time, **_sealed(block, provider)}
        case ImageBlock(source, media, name) | DocumentBlock(source, media, name):
            if source.data is None or source.kind not in ("base64", "url"):
                return None
            media = media or "application/octet-stream"
            inline = source.kind == "base64"
            url = f"data:{media};base64,{source.data}" if inline else source.data
            named = {"filename": name} if name else {}
            return {"type": "file", "mime": media, **named, "url": url}
        case UnknownBlock({"opencode": dict(part)}):
            return part
    return None


def _sealed(block: ThinkingBlock, provider: str) -> dict[str, Any]:
    if block.signature is None and block.id is None:
        return {}
    if provider == "openai":
        about = {"itemId": block.id, "reasoningEncryptedContent": block.signature}
    elif provider == "google":
        about = {"thoughtSignature": block.signature}
    else:
        about = {"signature": block.signature}
    return {"metadata": {provider: {key: value for key, value in about.items() if value}}}


def write_call(
    call: ToolUseBlock, result: ToolResultBlock | None, time: dict[str, int]
) -> dict[str, Any]:
    """A call with its result as one part."""
    state: dict[str, Any] = {"input": call.input, "time": time}
    if result is None:
        state |= {"status": "error", "error": "Tool execution aborted"}
    elif result.is_error:
        state |= {"status": "error", "error": _text(result)}
    else:
        state |= {"status": "completed", "output": _text(result), "title": "", "metadata": {}}
        others = (block for block in result.content if not isinstance(block, TextBlock))
        attached = [part for block in others if (part := write_part(block, "", time)) is not None]
        if attached:
            state["attachments"] = attached
    return {"type": "tool", "tool": call.name, "callID": call.id, "state": state}


def _text(result: ToolResultBlock) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextBlock))


NAME = "opencode"
MOST_HELPERS = 1000
AGAIN = "again"
"""Our note on a message that is repeated behind a summary: the id of the first one."""
Session = dict[str, Any]
"""One export: `info`, and `messages` of `info` and `parts`."""


def detect_file(sample: Sample) -> str | None:
    """An export begins with a session's info; a database is SQLite and named so."""
    if sample.head.startswith(b"SQLite format 3\x00"):
        return "an OpenCode database" if sample.path.name.startswith("opencode") else None
    start = sample.head.lstrip()[:400].replace(b" ", b"").replace(b"\n", b"")
    if start.startswith(b'{"info":{') and b'"ses_' in start:
        return "a JSON object with a session's info"
    return None


def read_file(path: Path) -> Transcript:
    """An export with the exports of helpers beside it; of a database its newest session."""
    if is_database(path):
        return read_newest(path)
    session = _load(path)
    size = path.stat().st_size
    helpers, files = _beside(path, session)
    origin = (OriginFile(path, path.name, size), *files)
    return transcript(session, origin, bounded(helpers))


def _load(path: Path) -> Session:
    try:
        session = msgspec.json.decode(contents(path))
    except NOT_JSON as error:
        raise TranscriptError(path, f"invalid JSON: {error}") from None
    if not isinstance(session, dict) or not isinstance(session.get("messages"), list):
        raise TranscriptError(path, "expected an export with info and messages")
    return session


def transcript(
    session: Session, files: tuple[OriginFile, ...], helpers: Callable[[str], Session | None]
) -> Transcript:
    """One session; `helpers` finds the sessions of helpers by their ids."""
    report = Report(NAME)
    info = session.get("info") if isinstance(session.get("info"), dict) else {}
    assert isinstance(info, dict)
    shown = list(_visible(session, info))
    named = [
        (as_text(each["info"].get("id")), message) for each in shown for message in _messages(each)
    ]
    messages = tuple(message for _, message in named)
    times = info.get("time") if isinstance(info.get("time"), dict) else {}
    assert isinstance(times, dict)
    return Transcript.of(
        NAME,
        messages,
        id=as_text(info.get("id")),
        title=as_text(info.get("title")),
        folder=as_text(info.get("directory")),
        created_at=from_millis(times.get("created")),
        updated_at=from_millis(times.get("updated")),
        compactions=_compactions(shown, named),
        subagents=tuple(
            _subagents(shown, lambda name: None if name == info.get("id") else helpers(name))
        ),
        report=report,
        details={"version": info["version"]} if "version" in info else {},
        origin=Origin(NAME, files, messages, tuple(() for _ in messages)),
    )


def _visible(session: Session, info: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The messages that are not hidden by going back."""
    back = info.get("revert")
    hidden = back.get("messageID") if isinstance(back, dict) else None
    for each in session["messages"]:
        if not isinstance(each, dict) or not isinstance(each.get("info"), dict):
            continue
        if hidden is not None and each["info"].get("id") == hidden:
            return
        yield each


def _messages(each: dict[str, Any]) -> list[Message]:
    notes = each["info"].get(KEY)
    if type(notes) is not dict:
        return read_message(each)
    if _repeats(each["info"]) is not None:
        return []
    shown = enumerate(read_message(each))
    return [found for at, message in shown for found in apply_note(message, notes.get(str(at)))]


def _repeats(info: dict[str, Any]) -> str | None:
    notes = info.get(KEY)
    return as_text(notes.get(AGAIN)) if isinstance(notes, dict) else None


def read_message(each: dict[str, Any]) -> list[Message]:
    """A prompt, or an answer with the results of its calls."""
    info, time = each["info"], each["info"].get("time")
    created = from_millis(time.get("created")) if type(time) is dict else None
    name, role = as_text(info.get("id")), info.get("role")
    parts = objects(each.get("parts"))
    if role == "user":
        content = read_parts(parts, None)
        if not content and any(part.get("type") == "compaction" for part in parts):
            return []
        return [Message(Role.USER, content, id=name, created_at=created)]
    if role != "assistant":
        return []
    messages = [replace(_answer(info, parts), id=name, created_at=created)]
    for block in read_results(parts):
        metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
        messages.append(Message(Role.TOOL, (block,), metadata=metadata, created_at=created))
    return messages


def _answer(info: dict[str, Any], parts: list[dict[str, Any]]) -> Message:
    provider, model = as_text(info.get("providerID")), as_text(info.get("modelID"))
    error = info.get("error")
    metadata = MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=PROTOCOLS.get(provider or "", "openai-chat"),
        response_model=model,
        usage=_usage(info),
        stop_reason=STOPS.get(str(info.get("finish"))),
        raw_stop_reason=as_text(info.get("finish")),
        status=_status(error),
        error_message=as_text(members(members(error).get("data")).get("message")),
    )
    content = read_parts(parts, metadata.protocol)
    if info.get("summary") is True:
        text = "".join(block.text for block in content if isinstance(block, TextBlock))
        metadata = metadata.replace(protocol=None)  # the agent wrote it, not the service
        return replace(summary_message(text, Role.ASSISTANT), metadata=metadata)
    return Message(Role.ASSISTANT, content, metadata=metadata)


def _status(error: Any) -> MessageStatus:
    if not isinstance(error, dict):
        return MessageStatus.COMPLETE
    aborted = error.get("name") == "MessageAbortedError"
    return MessageStatus.CANCELLED if aborted else MessageStatus.ERROR


def _usage(info: dict[str, Any]) -> Usage | None:
    """`output` leaves out reasoning."""
    tokens = info.get("tokens")
    if not isinstance(tokens, dict):
        return None
    cache = tokens.get("cache") if isinstance(tokens.get("cache"), dict) else {}
    assert isinstance(cache, dict)
    reasoning, cost = _count(tokens.get("reasoning")), info.get("cost")
    return Usage(
        input_tokens=_count(tokens.get("input")),
        output_tokens=_count(tokens.get("output")) + reasoning,
        cached_input_tokens=_count(cache.get("read")),
        cache_creation_input_tokens=_count(cache.get("write")),
        reasoning_tokens=reasoning,
        cost_usd=dollars(cost),
    )


def _compactions(
    shown: list[dict[str, Any]], named: list[tuple[Any, Message]]
) -> tuple[Compaction, ...]:
    """Summaries preserve the messages after the one that their request names."""
    if not any(is_summary(message) for _, message in named):
        return ()
    firsts = {as_text(each["info"].get("id")): _tail_start(each) for each in shown}
    parents = {
        as_text(each["info"].get("id")): as_text(each["info"].get("parentID")) for each in shown
    }
    places: dict[Any, list[int]] = {}
    for at, (name, message) in enumerate(named):
        if message.role is not Role.SYSTEM:
            places.setdefault(name, []).append(at)
    again = _again(shown)
    marks = []
    for at, (name, message) in enumerate(named):
        if is_summary(message):
            first = places.get(firsts.get(parents.get(name)), [at])[0]
            picked = [place for each in again.get(name, ()) for place in places.get(each, ())]
            marks.append(Compaction(at, tuple(picked) or tuple(range(first, at))))
    return tuple(marks)


def _again(shown: list[dict[str, Any]]) -> dict[str, list[str]]:
    """By the id of a summary: the messages that are repeated behind it."""
    found: dict[str, list[str]] = {}
    last = ""
    for each in shown:
        info = each["info"]
        if (name := _repeats(info)) is not None:
            found.setdefault(last, []).append(name)
        elif info.get("summary") is True:
            last = as_text(info.get("id")) or ""
    return found


def _tail_start(each: dict[str, Any]) -> str | None:
    for part in listed(each.get("parts")):
        if isinstance(part, dict) and part.get("type") == "compaction":
            return as_text(part.get("tail_start_id"))
    return None


def bounded(helpers: Callable[[str], Session | None]) -> Callable[[str], Session | None]:
    """The same, for so many calls: each helper may name all others."""
    left = iter(range(MOST_HELPERS))
    return lambda name: helpers(name) if next(left, None) is not None else None


def _subagents(
    shown: list[dict[str, Any]], helpers: Callable[[str], Session | None]
) -> Iterator[SubAgent]:
    for each in shown:
        for part in listed(each.get("parts")):
            if type(part) is not dict or part.get("type") != "tool":
                continue
            name = members(members(part.get("state")).get("metadata")).get("sessionId")
            session = helpers(name) if type(name) is str else None
            if session is not None:
                yield SubAgent(transcript(session, (), helpers), part.get("callID"))


def _beside(
    path: Path, session: Session
) -> tuple[Callable[[str], Session | None], tuple[OriginFile, ...]]:
    """Exports of helpers lie beside the export, named by their ids."""
    files: dict[str, OriginFile] = {}

    def find(name: str) -> Session | None:
        other = path.with_name(f"{name}.json")
        if not name.startswith("ses_") or "/" in name or other == path or not other.is_file():
            return None
        files[name] = OriginFile(other, other.name, other.stat().st_size)
        return _load(other)

    for _ in _subagents(objects(session["messages"]), bounded(find)):
        pass
    return find, tuple(files.values())


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def read_newest(path: Path) -> Transcript:
    """The session that was changed last and is no helper's."""
    with closing(_open(path)) as database:
        return _read(database, path, _sessions(database, path)[0])


def read_all_in(path: Path) -> Iterator[Transcript]:
    """Every session of a database or an export; the first error is raised at the end."""
    if not is_database(path):
        yield read_file(path)
        return
    problem: TranscriptError | None = None
    with closing(_open(path)) as database:
        for name in _sessions(database, path):
            try:
                found = _read(database, path, name)
            except TranscriptError as error:
                problem = problem or error
            else:
                yield found
    if problem is not None:
        raise problem


def read_session(path: Path, name: str) -> Transcript:
    """One session by its id, of a database or of an export, which has but one."""
    if not is_database(path):
        return read_file(path)
    with closing(_open(path)) as database:
        return _read(database, path, name).replace(origin=None)  # the file holds others, too


def sessions_of(path: Path) -> list[tuple[str, float | None]]:
    """Ids and times of a database's sessions, without those of helpers."""
    query = "SELECT id, time_updated FROM session WHERE parent_id IS NULL"
    with closing(_open(path)) as database:
        rows = [row for row in database.rows(query) if isinstance(row["id"], str)]
    times = [from_millis(row["time_updated"]) for row in rows]
    return [
        (row["id"], None if time is None else time.timestamp())
        for row, time in zip(rows, times, strict=True)
    ]


def is_database(path: Path) -> bool:
    with opened(path) as file:
        return file.read(16).startswith(b"SQLite")


def _open(path: Path) -> Database:
    database = Database(path)
    try:
        database.require_tables("session", "message", "part")
    except BaseException:
        database.close()
        raise
    return database


def _sessions(database: Database, path: Path) -> list[str]:
    query = "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC, id"
    names = [row["id"] for row in database.rows(query) if isinstance(row["id"], str)]
    if not names:
        raise TranscriptError(path, "it contains no session")
    return names


def _read(database: Database, path: Path, name: str) -> Transcript:
    file = OriginFile(path, path.name, path.stat().st_size)
    report = Report(NAME)
    session = _session(database, name, report)
    if session is None:
        raise TranscriptError(path, f"it contains no session {name}")
    helpers = bounded(lambda helper: _session(database, helper, report))
    made = transcript(session, (file,), helpers)
    made.report.extend(report)
    return made


def _session(database: Database, name: str, report: Report) -> Session | None:
    query = "SELECT id, parent_id, slug, directory, title, version, time_created, time_updated"
    row = next(database.rows(f"{query} FROM session WHERE id = ?", name), None)
    if row is None:
        return None
    info = {key: row[key] for key in ("id", "slug", "directory", "title", "version")}
    info["time"] = {"created": row["time_created"], "updated": row["time_updated"]}
    info |= {"parentID": row["parent_id"]} if row["parent_id"] else {}
    parts: dict[Any, list[Any]] = {}
    query = "SELECT id, message_id, CAST(data AS BLOB) AS data FROM part"
    for row in database.rows(f"{query} WHERE session_id = ? ORDER BY id", name):
        part = _object(row, "part", report)
        if part is not None:
            about = {"id": row["id"], "sessionID": name, "messageID": row["message_id"]}
            parts.setdefault(row["message_id"], []).append({**part, **about})
    query = "SELECT id, CAST(data AS BLOB) AS data FROM message WHERE session_id = ? ORDER BY id"
    messages = []
    for row in database.rows(query, name):
        message = _object(row, "message", report)
        if message is not None:
            named = {**message, "id": row["id"], "sessionID": name}
            messages.append({"info": named, "parts": parts.get(row["id"], [])})
    return {"info": info, "messages": messages}


def _object(row: dict[str, Any], table: str, report: Report) -> dict[str, Any] | None:
    """The JSON object of a row; other values are reported."""
    try:
        value = msgspec.json.decode(row["data"] or b"")
    except NOT_JSON as error:
        problem = because("invalid_json", error=error)
    else:
        if isinstance(value, dict):
            return value
        problem = because("not_an_object", found=a_type(value))
    report.add("dropped", f"{table} {row['id']}", problem)
    return None
