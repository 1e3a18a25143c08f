"""OpenCode's database: the sessions as their exports would be, read without a lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.opencode.read import Session, read, transcript
from interlingua.transcripts.transcript import OriginFile, Transcript


def read_newest(path: Path) -> Transcript:
    """The session that was changed last and is nobody's helper."""
    with closing(_open(path)) as database:
        return _read(database, path, _sessions(database, path)[0])


def read_all(path: Path) -> Iterator[Transcript]:
    """Every session of a database, or the one of an export."""
    if not is_database(path):
        yield read(path)
        return
    with closing(_open(path)) as database:
        for name in _sessions(database, path):
            yield _read(database, path, name)


def read_session(path: Path, name: str) -> Transcript:
    """One session by its id, of a database or of an export, which has but one."""
    if not is_database(path):
        return read(path)
    with closing(_open(path)) as database:
        if _session(database, path, name) is None:
            raise TranscriptError(path, f"it contains no session {name}")
        return _read(database, path, name).replace(origin=None)  # the file holds others, too


def sessions_of(path: Path) -> list[tuple[str, float]]:
    """The sessions of a database that are nobody's helpers: their ids, and when they were last
    changed, in seconds."""
    query = "SELECT id, time_updated FROM session WHERE parent_id IS NULL"
    with closing(_open(path)) as database:
        return [(name, time / 1000) for name, time in _rows(database, path, query)]


def is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16).startswith(b"SQLite")


def _open(path: Path) -> sqlite3.Connection:
    """Nothing is written, not even where the log of a running program lies beside it."""
    how = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)


def _rows(database: sqlite3.Connection, path: Path, query: str, *values: Any) -> list[Any]:
    try:
        return database.execute(query, values).fetchall()
    except sqlite3.Error as error:
        raise TranscriptError(path, f"not an OpenCode database: {error}") from error


def _sessions(database: sqlite3.Connection, path: Path) -> list[str]:
    query = "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC, id"
    names = [name for (name,) in _rows(database, path, query)]
    if not names:
        raise TranscriptError(path, "it contains no session")
    return names


def _read(database: sqlite3.Connection, path: Path, name: str) -> Transcript:
    file = OriginFile(path, path.name, path.stat().st_size)
    session = _session(database, path, name)
    assert session is not None, "its name came from the database"
    return transcript(session, (file,), lambda helper: _session(database, path, helper))


def _session(database: sqlite3.Connection, path: Path, name: str) -> Session | None:
    query = "SELECT id, parent_id, slug, directory, title, version, time_created, time_updated"
    rows = _rows(database, path, f"{query} FROM session WHERE id = ?", name)
    if not rows:
        return None
    key, parent, slug, folder, title, version, created, updated = rows[0]
    info = {"id": key, "slug": slug, "directory": folder, "title": title, "version": version}
    info["time"] = {"created": created, "updated": updated}
    info |= {"parentID": parent} if parent else {}
    parts: dict[str, list[Any]] = {}
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for part, message, data in _rows(database, path, query, name):
        about = {"id": part, "sessionID": name, "messageID": message}
        parts.setdefault(message, []).append({**msgspec.json.decode(data), **about})
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
    messages = [
        {
            "info": {**msgspec.json.decode(data), "id": key, "sessionID": name},
            "parts": parts.get(key, []),
        }
        for key, data in _rows(database, path, query, name)
    ]
    return {"info": info, "messages": messages}
