"""The log of a session, applied in order: records by id, lists that replace all, rewinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from interlingua.transcripts.files import TranscriptError, contents
from interlingua.transcripts.lines import Line
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.values import NOT_JSON, listed

HEADER = 1 << 16
"""Bytes of a file's first line, and of the mark of a project."""
COMPACTED, AGAIN = "compacted", "again"
"""Our notes: a rewind that is a compaction, and a record that is said again behind one."""
USER, ANSWER = "user", "gemini"
"""The types of records that say something."""
_REMEMBERED = ("tokens", "model", "toolCalls", "thoughts")
"""What a list that replaces all leaves out, although the message had it."""


class Record(msgspec.Struct, frozen=True, eq=False, gc=False):
    value: dict[str, Any]
    line: Line


class Log:
    """`records` is the list as it stands, `before` what a summary took the place of; `left` are
    lists that were given up by a rewind; `answers` every answer that ever was, by its id."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        self.records: dict[str, Record] = {}
        self.before: list[Record] = []
        self.left: list[list[Record]] = []
        self.answers: dict[str, Record] = {}
        self._known: dict[str, Record] = {}

    def take(self, line: Line) -> None:
        value = line.value
        if type(value.get("id")) is str and "$rewindTo" not in value and "$set" not in value:
            self._put(Record(value, line))
        elif "$rewindTo" in value and noted(value, COMPACTED):
            self.before += self.records.values()
            self.records = {}
        elif "$rewindTo" in value:
            self._rewind(str(value["$rewindTo"]))
        elif "$set" in value:
            self._set(value["$set"], line)
        elif "sessionId" in value:
            self.about = {**value, **{k: v for k, v in self.about.items() if k == "startTime"}}
            for old in listed(value.get("messages")):  # one file of JSON, as older versions wrote
                if isinstance(old, dict) and isinstance(old.get("id"), str):
                    self._put(Record(old, line))

    def _put(self, record: Record) -> None:
        name = record.value["id"]
        self.records[name] = self._known[name] = record
        if record.value.get("type") == ANSWER:
            before = self.answers.get(name)
            if before is None or record.value.get("tokens"):
                self.answers[name] = record

    def _set(self, changes: Any, line: Line) -> None:
        if not isinstance(changes, dict):
            return
        self.about |= {key: value for key, value in changes.items() if key != "messages"}
        messages = changes.get("messages")
        if isinstance(messages, list):
            self.records = {
                each["id"]: self._again(each, line)
                for each in messages
                if isinstance(each, dict) and isinstance(each.get("id"), str)
            }

    def _again(self, value: dict[str, Any], line: Line) -> Record:
        """A message in a list that replaces all: with what was known of it, if it says the same."""
        before = self._known.get(value["id"])
        if before is None:
            return Record(value, line)
        content = value.get("content")
        if before.value.get("content") == content or _says_the_same(before.value, value):
            return before
        earlier = {key: before.value[key] for key in _REMEMBERED if key in before.value}
        return Record({**earlier, **value}, line)

    def _rewind(self, name: str) -> None:
        names = list(self.records)
        cut = names.index(name) if name in self.records else 0
        if names[cut:]:
            self.left.append(list(self.records.values()))
        self.records = {each: self.records[each] for each in names[:cut]}


def noted(value: dict[str, Any], mark: str) -> bool:
    """Whether we left this mark on a line."""
    note = value.get(KEY)
    return isinstance(note, dict) and note.get(mark) is True


def _says_the_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """An answer's calls stand apart in one form and among its parts in the other."""
    same = text_of(before) == text_of(now)
    return same and (now.get("type") == ANSWER or _beside_text(before) == _beside_text(now))


def _beside_text(value: dict[str, Any]) -> list[Any]:
    parts = listed(value.get("content"))
    return [part for part in parts if not (isinstance(part, dict) and "text" in part)]


def text_of(value: dict[str, Any]) -> str:
    """What a record says, thoughts apart."""
    content = value.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    shown = (part for part in parts if isinstance(part, dict) and not part.get("thought"))
    return "".join(part["text"] for part in shown if isinstance(part.get("text"), str))


def projects_in(path: Path) -> dict[str, str]:
    try:
        known = msgspec.json.decode(contents(path))["projects"]
    except (OSError, TranscriptError, KeyError, TypeError, *NOT_JSON):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {folder: name for folder, name in pairs if isinstance(name, str)}


def owner_of(place: Path) -> str | None:
    try:
        data = contents(place / ".project_root", HEADER)
        return data.decode(errors="replace").strip() or None
    except (OSError, TranscriptError):
        return None


def folder_of(path: Path) -> str | None:
    """The working folder of a session, which its project's folder knows."""
    owner = owner_of(path.parent.parent)
    if owner is not None or len(path.parents) < 4:
        return owner
    projects = projects_in(path.parents[3] / "projects.json")
    names = {name: folder for folder, name in projects.items()}
    return names.get(path.parent.parent.name)
