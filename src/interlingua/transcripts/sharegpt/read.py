"""ShareGPT's rows to transcripts. Turns are put in the words of a chat request, and read as such:
calls have no ids, so they are numbered, and results answer them in order."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from interlingua.errors import ReadError, found
from interlingua.losses import Report
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, first_row, readers
from interlingua.transcripts.sharegpt.tables import (
    CALLS,
    DIALECT,
    NAME,
    PICTURE,
    RESULTS,
    ROLES,
    URLS,
)

_MEDIA = ("images", "videos", "audios")


def signs(sample: Sample) -> str | None:
    row = first_row(sample)
    turns = row.get("conversations") if row else None
    first = turns[0] if isinstance(turns, list) and turns else None
    return "conversations of turns" if isinstance(first, dict) and "from" in first else None


def _conversation(row: Row, report: Report) -> Conversation:
    turns = row.get("conversations")
    if not isinstance(turns, list):
        raise ReadError(NAME, "$.conversations", "a list", found(turns))
    pictures = _pictures(row.get("images"))
    own = {"conversations", "images"} if pictures else {"conversations"}
    told = _Turns(report, pictures)
    if isinstance(row.get("system"), str) and row["system"]:
        told.messages.append({"role": "system", "content": row["system"]})
    for number, turn in enumerate(turns):
        told.add(turn, f"$.conversations[{number}]")
    body: Row = {"messages": told.messages}
    tools = _tools(row.get("tools"), report)
    if tools:
        body["tools"] = tools
    request = read_body(body, DIALECT, report)
    for key in _MEDIA:
        if row.get(key) and key not in own:
            reason = "files are listed beside the turns; placeholders in the text refer to them"
            report.add("moved", f"$.details.row.{key}", reason, "info")
    rest = {key: value for key, value in row.items() if key not in own}
    name = row.get("id") if isinstance(row.get("id"), str) else None
    return Conversation(request.messages, name, request.tools, rest)


class _Turns:
    """Turn after turn, as messages of a chat request."""

    def __init__(self, report: Report, pictures: deque[str]) -> None:
        self.report = report
        self._pictures = pictures
        self.messages: list[Row] = []
        self._count = 0
        self._open: deque[str] = deque()

    def add(self, turn: Any, path: str) -> None:
        match turn:
            case {"from": str(who), "value": str(text)} if who in ROLES:
                self.messages.append({"role": ROLES[who], "content": self._content(text)})
            case {"from": str(who), "value": str(text)} if who == CALLS:
                self._calls(text, path)
            case {"from": str(who), "value": str(text)} if who in RESULTS:
                name = self._open.popleft() if self._open else self._next()
                self.messages.append({"role": "tool", "tool_call_id": name, "content": text})
            case _:
                reason = f"expected a turn, found {found(turn)}"
                self.report.add("dropped", path, reason, "error")

    def _content(self, text: str) -> str | list[Row]:
        """A text, or its pieces and the pictures that its marks stand for."""
        if PICTURE not in text or not self._pictures:
            return text
        parts: list[Row] = []
        for number, piece in enumerate(text.split(PICTURE)):
            if number and self._pictures:
                url = self._pictures.popleft()
                parts.append({"type": "image_url", "image_url": {"url": url}})
            if piece:
                parts.append({"type": "text", "text": piece})
        return parts

    def _calls(self, text: str, path: str) -> None:
        try:
            value = msgspec.json.decode(text)
        except msgspec.DecodeError as error:
            value = None
            reason = f"the calls are not valid JSON and are kept as text: {error}"
            self.report.add("downgraded", path, reason, "warning")
        each = value if isinstance(value, list) else [value]
        calls = [self._call(call) for call in each if isinstance(call, dict) and "name" in call]
        if calls:
            self.messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            self.messages.append({"role": "assistant", "content": text})

    def _call(self, call: Row) -> Row:
        given = call.get("arguments", {})
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
        name = self._next()
        self._open.append(name)
        function = {"name": call["name"], "arguments": text}
        return {"id": name, "type": "function", "function": function}

    def _next(self) -> str:
        self._count += 1
        return f"call_{self._count}"


def _pictures(images: Any) -> deque[str]:
    """The pictures that are there for everybody; paths in some folder are not."""
    each = images if isinstance(images, list) else []
    urls = [url for url in each if isinstance(url, str) and url.startswith(URLS)]
    return deque(urls if len(urls) == len(each) else ())


def _tools(text: Any, report: Report) -> list[Row]:
    """The tools of a row: JSON text, in the API's form or without what is around a function."""
    try:
        tools = msgspec.json.decode(text) if isinstance(text, str) and text.strip() else text
    except msgspec.DecodeError as error:
        report.add("dropped", "$.tools", f"invalid JSON: {error}", "warning")
        return []
    each = tools if isinstance(tools, list) else []
    return [
        tool if "function" in tool else {"type": "function", "function": tool}
        for tool in each
        if isinstance(tool, dict)
    ]


read, read_all = readers(NAME, _conversation)
