"""OpenCode's exports and databases to a transcript."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.losses import Report
from interlingua.model.blocks import TextBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, Usage
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.opencode.parts import read_parts, read_results
from interlingua.transcripts.opencode.tables import PROTOCOLS, STOPS
from interlingua.transcripts.summary import is_summary, summary_message
from interlingua.transcripts.times import from_millis
from interlingua.transcripts.totals import model_changes, models_of, usage_of
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    Origin,
    OriginFile,
    SubAgent,
    Transcript,
)
from interlingua.transcripts.values import listed

NAME = "opencode"
AGAIN = "again"
"""Our note on a message that is said again behind a summary: the id of the first one."""
Session = dict[str, Any]
"""One export: `info`, and `messages` of `info` and `parts`."""


def signs(sample: Sample) -> str | None:
    """An export begins with a session's info; a database is SQLite and named so."""
    if sample.head.startswith(b"SQLite format 3\x00"):
        return "an OpenCode database" if sample.path.name.startswith("opencode") else None
    start = sample.head.lstrip()[:400].replace(b" ", b"").replace(b"\n", b"")
    if start.startswith(b'{"info":{') and b'"ses_' in start:
        return "a JSON object with a session's info"
    return None


def read(path: Path) -> Transcript:
    """An export with the exports of helpers beside it; of a database its newest session."""
    with path.open("rb") as file:
        is_database = file.read(16).startswith(b"SQLite")
    if is_database:
        from interlingua.transcripts.opencode.database import read_newest

        return read_newest(path)
    session = _load(path)
    size = path.stat().st_size
    helpers, files = _beside(path, session)
    origin = (OriginFile(path, path.name, size), *files)
    return transcript(session, origin, helpers)


def _load(path: Path) -> Session:
    try:
        session = msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
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
    said = [
        (_text(each["info"].get("id")), message) for each in shown for message in _messages(each)
    ]
    messages = tuple(message for _, message in said)
    times = info.get("time") if isinstance(info.get("time"), dict) else {}
    assert isinstance(times, dict)
    return Transcript(
        format=NAME,
        messages=messages,
        id=_text(info.get("id")),
        title=_text(info.get("title")),
        folder=_text(info.get("directory")),
        created_at=from_millis(times.get("created")),
        updated_at=from_millis(times.get("updated")),
        models=models_of(messages),
        usage=usage_of(messages),
        branches=(Branch(None, messages, True),),
        compactions=_compactions(shown, said),
        model_changes=model_changes(messages),
        subagents=tuple(_subagents(shown, helpers)),
        report=report,
        details={"version": info["version"]} if "version" in info else {},
        origin=Origin(NAME, files, messages, tuple(() for _ in messages)),
    )


def _visible(session: Session, info: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What is not hidden by going back."""
    back = info.get("revert")
    hidden = back.get("messageID") if isinstance(back, dict) else None
    for each in session["messages"]:
        if not isinstance(each, dict) or not isinstance(each.get("info"), dict):
            continue
        if hidden is not None and each["info"].get("id") == hidden:
            return
        yield each


def _messages(each: dict[str, Any]) -> Iterator[Message]:
    info = each["info"]
    notes = info.get(KEY)
    if _said_before(info) is not None:
        return
    for at, shown in enumerate(read_message(each)):
        note = notes.get(str(at)) if isinstance(notes, dict) else None
        yield from recall(shown, note)


def _said_before(info: dict[str, Any]) -> str | None:
    notes = info.get(KEY)
    return _text(notes.get(AGAIN)) if isinstance(notes, dict) else None


def read_message(each: dict[str, Any]) -> Iterator[Message]:
    """A prompt, or an answer with the results of its calls."""
    info = each["info"]
    parts = [part for part in listed(each.get("parts")) if isinstance(part, dict)]
    if info.get("role") == "user":
        content = tuple(read_parts(parts, None))
        if content or not any(part.get("type") == "compaction" for part in parts):
            yield _placed(Message(Role.USER, content), info)
    elif info.get("role") == "assistant":
        yield _placed(_answer(info, parts), info)
        yield from (_placed(result, info, named=False) for result in read_results(parts))


def _answer(info: dict[str, Any], parts: list[dict[str, Any]]) -> Message:
    provider, model = _text(info.get("providerID")), _text(info.get("modelID"))
    error = info.get("error")
    metadata = MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=PROTOCOLS.get(provider or "", "openai-chat"),
        response_model=model,
        usage=_usage(info),
        stop_reason=STOPS.get(str(info.get("finish"))),
        raw_stop_reason=_text(info.get("finish")),
        status=_status(error),
        error_message=_error(error),
    )
    content = tuple(read_parts(parts, metadata.protocol))
    if info.get("summary") is True:
        text = "".join(block.text for block in content if isinstance(block, TextBlock))
        metadata = metadata.replace(protocol=None)  # the agent wrote it, not the service
        return replace(summary_message(text, Role.ASSISTANT), metadata=metadata)
    return Message(Role.ASSISTANT, content, metadata=metadata)


def _placed(message: Message, info: dict[str, Any], named: bool = True) -> Message:
    time = info.get("time")
    made = time.get("created") if isinstance(time, dict) else None
    name = _text(info.get("id")) if named else None
    return replace(message, id=name, created_at=from_millis(made))


def _status(error: Any) -> MessageStatus:
    if not isinstance(error, dict):
        return MessageStatus.COMPLETE
    aborted = error.get("name") == "MessageAbortedError"
    return MessageStatus.CANCELLED if aborted else MessageStatus.ERROR


def _error(error: Any) -> str | None:
    data = error.get("data") if isinstance(error, dict) else None
    return _text(data.get("message")) if isinstance(data, dict) else None


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
        cost_usd=Decimal(repr(cost)) if type(cost) in (int, float) else None,
    )


def _compactions(
    shown: list[dict[str, Any]], said: list[tuple[Any, Message]]
) -> tuple[Compaction, ...]:
    """A summary keeps what comes after the message that its request names. `said` are messages
    with the ids that they have here."""
    firsts = {_text(each["info"].get("id")): _kept_from(each) for each in shown}
    parents = {_text(each["info"].get("id")): _text(each["info"].get("parentID")) for each in shown}
    places: dict[Any, list[int]] = {}
    for at, (name, message) in enumerate(said):
        if message.role is not Role.SYSTEM:
            places.setdefault(name, []).append(at)
    again = _again(shown)
    marks = []
    for at, (name, message) in enumerate(said):
        if is_summary(message):
            first = places.get(firsts.get(parents.get(name)), [at])[0]
            picked = [place for each in again.get(name, ()) for place in places.get(each, ())]
            marks.append(Compaction(at, tuple(picked) or tuple(range(first, at))))
    return tuple(marks)


def _again(shown: list[dict[str, Any]]) -> dict[str, list[str]]:
    """By the id of a summary: what was picked to be said again behind it."""
    found: dict[str, list[str]] = {}
    last = ""
    for each in shown:
        info = each["info"]
        if (name := _said_before(info)) is not None:
            found.setdefault(last, []).append(name)
        elif info.get("summary") is True:
            last = _text(info.get("id")) or ""
    return found


def _kept_from(each: dict[str, Any]) -> str | None:
    for part in listed(each.get("parts")):
        if isinstance(part, dict) and part.get("type") == "compaction":
            return _text(part.get("tail_start_id"))
    return None


def _subagents(
    shown: list[dict[str, Any]], helpers: Callable[[str], Session | None]
) -> Iterator[SubAgent]:
    for each in shown:
        for part in listed(each.get("parts")):
            match part:
                case {"type": "tool", "state": {"metadata": {"sessionId": str(name)}}}:
                    session = helpers(name)
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

    for _ in _subagents([each for each in session["messages"] if isinstance(each, dict)], find):
        pass
    return find, tuple(files.values())


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
