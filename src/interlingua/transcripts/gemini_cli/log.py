"""The log of a session, applied in order: records by id, lists that replace all, rewinds."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.transcripts.lines import Line
from interlingua.transcripts.memo import KEY
from interlingua.transcripts.values import listed

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
        if before.value.get("content") == content or text_of(before.value) == text_of(value):
            return before
        kept = {key: before.value[key] for key in _REMEMBERED if key in before.value}
        return Record({**kept, **value}, line)

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


def text_of(value: dict[str, Any]) -> str:
    """What a record says, thoughts apart."""
    content = value.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    shown = (part for part in parts if isinstance(part, dict) and not part.get("thought"))
    return "".join(part["text"] for part in shown if isinstance(part.get("text"), str))
