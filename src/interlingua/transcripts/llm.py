"""The log of `llm`: a SQLite database of threads, each a chain of messages."""

from __future__ import annotations

import os
import sqlite3
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from interlingua.model.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import Database, TranscriptError
from interlingua.transcripts.format import Format, Found, Sample, Skipped, candidates
from interlingua.transcripts.lines import Turn, turns_to
from interlingua.transcripts.transcript import (
    Branch,
    Origin,
    OriginFile,
    Transcript,
    usage_with,
)
from interlingua.transcripts.values import as_count, decoded, from_iso, members

NAME = "llm"
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM}
Row = dict[str, Any]
_WAY = """WITH RECURSIVE way(hash) AS (
  VALUES (?) UNION
  SELECT parent_hash FROM messages JOIN way USING (hash) WHERE parent_hash IS NOT NULL
)"""
"""All messages from a tip back to the beginning."""
_TABLES = ("threads", "turns", "messages", "parts", "attachments", "responses")


def threads_of(path: Path) -> list[tuple[str, float | None]]:
    """The names of all threads, and their last changes, in seconds."""
    query = "SELECT id, datetime_utc FROM threads ORDER BY datetime_utc, id"
    with _reading(path) as database:
        rows = [row for row in database.rows(query) if isinstance(row["id"], str)]
    times = [from_iso(row["datetime_utc"]) for row in rows]
    return [
        (row["id"], None if time is None else time.timestamp())
        for row, time in zip(rows, times, strict=True)
    ]


@contextmanager
def _reading(path: Path) -> Iterator[Database]:
    try:
        with closing(Database(path)) as database:
            database.require_tables(*_TABLES)
            _check_length(database, path)
            yield database
    except sqlite3.Error as error:
        raise TranscriptError(path, f"not a readable log of llm: {error}") from error


def _check_length(database: Database, path: Path) -> None:
    """SQLite takes a page that was cut for one of zeros, without an error."""
    pages, size = (
        next(database.rows(f"PRAGMA {name}"))[name] for name in ("page_count", "page_size")
    )
    if path.stat().st_size < pages * size and not path.with_name(f"{path.name}-wal").exists():
        raise TranscriptError(path, f"it is truncated: {pages} pages of {size} bytes are missing")


def _older(database: Database) -> int:
    return int(next(database.rows("SELECT count(*) AS count FROM responses"))["count"])


def _transcript(
    thread: Row, turns: dict[str, Turn], begun: dict[str, Row], older: int
) -> Transcript:
    report = Report(NAME)
    if older:
        reason = because("old_tables", count=older)
        report.add("dropped", "$.responses", reason)
    messages = turns_to(turns, thread["tip_message_hash"])
    first = begun.get(thread["id"])
    return Transcript.of(
        NAME,
        messages,
        id=thread["id"],
        title=thread["name"],
        created_at=from_iso(first["datetime_utc"]) if first else None,
        updated_at=from_iso(thread["datetime_utc"]),
        branches=(Branch(thread["tip_message_hash"], messages, True),),
        report=report,
        details={"forked_from": thread["forked_from"]} if thread["forked_from"] else {},
    )


class _Log:
    """The log, or only its part that leads to the message `tip`."""

    def __init__(self, database: Database, tip: str | None = None) -> None:
        self._database = database
        self._tip = tip
        self._files = {row["id"]: row for row in database.rows("SELECT * FROM attachments")}

    def _on_way(self, table: str, key: str, order: str) -> Iterator[Row]:
        """Rows whose `key` names a message on the path to the tip; all rows without a tip."""
        if self._tip is None:
            return self._database.rows(f"SELECT * FROM {table} ORDER BY {order}")
        query = f"{_WAY} SELECT * FROM {table} WHERE {key} IN way ORDER BY {order}"
        return self._database.rows(query, self._tip)

    def turns(self) -> tuple[dict[str, Turn], dict[str, Row]]:
        """All messages by their hashes, and the first turn of each thread."""
        answers = {
            row["tip_message_hash"]: row
            for row in self._on_way("turns", "tip_message_hash", "datetime_utc, id")
        }
        parts: dict[str, list[Row]] = {}
        for part in self._on_way("parts", "message_hash", "message_hash, position"):
            parts.setdefault(part["message_hash"], []).append(part)
        turns = {}
        for row in self._on_way("messages", "hash", "hash"):
            name = row["hash"]
            messages = tuple(self._messages(row, parts.get(name, []), answers.get(name)))
            turns[name] = Turn(row["parent_hash"], messages)
        begun = {row["thread_id"]: row for row in reversed(answers.values())}
        return turns, begun

    def _messages(self, row: Row, parts: list[Row], turn: Row | None) -> Iterator[Message]:
        blocks = [self._block(part) for part in parts]
        results = [block for block in blocks if isinstance(block, ToolResultBlock)]
        content = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
        for result in results:
            yield Message.of_result(result)
        if results and not content:
            return
        about = _decoded(row["provider_metadata"])
        metadata = MessageMetadata()
        if turn:
            model = turn["resolved_model"] or turn["model"]
            metadata = metadata.replace(
                response_model=model, response_id=turn["id"], usage=_usage(turn)
            )
        if about:
            metadata = metadata.replace(provider_raw={NAME: about})
        time = from_iso(turn["datetime_utc"]) if turn else None
        role = _ROLES.get(row["role"], Role.SYSTEM)
        yield Message(role, content, id=row["hash"], created_at=time, metadata=metadata)

    def _block(self, part: Row) -> Block:
        payload = _decoded(part["payload"])
        text = part["text"] or ""
        match part["type"], payload:
            case "text", _:
                return TextBlock(text)
            case "reasoning", _:
                return ThinkingBlock(text, raw={NAME: payload} if payload else None)
            case "tool_call", {"name": str(tool), "arguments": dict(arguments)}:
                return ToolUseBlock(_call_id(part, payload), tool, arguments)
            case "tool_result", {"output": output}:
                return _result(part, payload, output)
            case "attachment", {"attachment": {"id": str(name)}} if name in self._files:
                return _file(self._files[name])
        return UnknownBlock({NAME: {"type": part["type"], "text": text, "payload": payload}})


def _call_id(part: Row, payload: Row) -> str:
    name = payload.get("tool_call_id")
    return name if isinstance(name, str) and name else f"part_{part['id']}"


def _result(part: Row, payload: Row, output: Any) -> ToolResultBlock:
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    tool = payload.get("name")
    return ToolResultBlock(
        _call_id(part, payload),
        (TextBlock(text),) if text else (),
        bool(payload.get("exception")),
        tool if isinstance(tool, str) else None,
    )


def _file(row: Row) -> Block:
    if row["content"] is not None:
        content = row["content"]
        data = content if isinstance(content, bytes) else str(content).encode()
        source = Source("base64", b64encode(data).decode())
    elif row["url"]:
        source = Source("url", row["url"])
    else:
        source = Source("file_ref", row["path"])
    media = row["type"]
    if isinstance(media, str) and media.startswith("image/"):
        return ImageBlock(source, media)
    return DocumentBlock(source, media)


def _usage(turn: Row) -> Usage:
    """The count of the prompt includes cached tokens."""
    details = _decoded(turn["token_details"])
    cached = _detail(details, "prompt_tokens_details", "cached_tokens")
    return usage_with(
        turn["input_tokens"],
        turn["output_tokens"],
        cached,
        reasoning_tokens=_detail(details, "completion_tokens_details", "reasoning_tokens"),
        latency_ms=turn["duration_ms"],
    )


def _detail(details: Row, group: str, name: str) -> int | None:
    return as_count(members(details.get(group)).get(name))


def _decoded(text: Any) -> Row:
    return members(decoded(text) if isinstance(text, str) else None)


def _config(home: Path) -> Path:
    """The folder; for this user's own home, `LLM_USER_PATH` sets it."""
    own = os.environ.get("LLM_USER_PATH")
    if own and home == Path.home():
        return Path(own)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "io.datasette.llm"
    return home / ".config" / "io.datasette.llm"


class LLM(Format):
    name = NAME
    title = "llm"
    tested = "0.36, 2026-11-16"

    def detect(self, sample: Sample) -> str | None:
        """A database with llm's tables. The place of its schema in the file depends on its age."""
        if not sample.head.startswith(b"SQLite format 3\x00"):
            return None
        query = "SELECT name FROM sqlite_master WHERE name IN ('_llm_migrations', 'threads')"
        try:
            with closing(Database(sample.path)) as database:
                count = len(list(database.rows(query)))
        except (sqlite3.Error, OSError, TranscriptError):
            return None
        return "a database with llm's tables" if count == 2 else None

    def read(self, path: Path) -> Transcript:
        """The newest thread; other threads are reported."""
        threads = list(self.read_all(path))
        if not threads:
            raise TranscriptError(path, "it contains no thread")
        newest = threads[-1]
        if len(threads) > 1:
            reason = because("more_conversations", count=len(threads) - 1)
            newest.report.add("dropped", "$.threads", reason)
            return newest
        file = OriginFile(path, path.name, path.stat().st_size)
        spans = tuple(() for _ in newest.messages)
        return newest.replace(origin=Origin(NAME, (file,), newest.messages, spans))

    def read_all(self, path: Path) -> Iterator[Transcript]:
        """Every thread, the oldest first."""
        with _reading(path) as database:
            turns, begun = _Log(database).turns()
            older = _older(database)
            for thread in database.rows("SELECT * FROM threads ORDER BY datetime_utc, id"):
                yield _transcript(thread, turns, begun, older)

    def session(self, path: Path, name: str) -> Transcript:
        """One thread, without the others."""
        with _reading(path) as database:
            thread = next(database.rows("SELECT * FROM threads WHERE id = ?", name), None)
            if thread is None:
                raise TranscriptError(path, f"it contains no thread {name}")
            turns, begun = _Log(database, thread["tip_message_hash"]).turns()
            return _transcript(thread, turns, begun, _older(database))

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        yield from candidates(NAME, _config(home) / "logs.db", threads_of)


FORMATS = (LLM(),)
