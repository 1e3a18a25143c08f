"""Training data: OpenAI's files for fine-tuning (lines of chat messages), Hugging Face's
conversational datasets (the same with arguments as objects) and ShareGPT (a row is a list of turns,
each with `from` and a text as its `value`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.errors import ReadError, found
from interlingua.model.losses import Report
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import spelled
from interlingua.transcripts.format import Draft, Sample
from interlingua.transcripts.rows import (
    Conversation,
    Row,
    RowFormat,
    draft,
    first_row,
    read_body,
    write_body,
)
from interlingua.transcripts.transcript import Transcript
from interlingua.transcripts.values import NOT_JSON, members, objects

FINETUNE = "openai-finetune"
DIALECT = "openai-chat"
KEYS = frozenset({"messages", "tools", "functions", "parallel_tool_calls"})


def arguments_in(messages: list[Row]) -> list[object]:
    """The arguments of all calls, as the file has them."""
    lists = (each.get("tool_calls") for each in messages)
    calls = (call for each in lists if isinstance(each, list) for call in each)
    functions = (call.get("function") for call in calls if isinstance(call, dict))
    return [each.get("arguments") for each in functions if isinstance(each, dict)]


class OpenAIFineTune(RowFormat):
    name = FINETUNE
    title = "OpenAI fine-tuning"
    tested = "the cookbook's files, 2026-11-16"
    rows = True
    unsupported_fields = ("id", "title", "folder")

    def detect(self, sample: Sample) -> str | None:
        """Messages without columns that fine-tuning does not accept. Tools with no key that only
        OpenAI has belong to the more general format."""
        row = first_row(sample)
        if row is None or not KEYS.issuperset(row) or sample.head.lstrip().startswith(b"["):
            return None
        messages = objects(row.get("messages"))
        if not messages or any("role" not in each or "parts" in each for each in messages):
            return None
        arguments = arguments_in(messages)
        if any(isinstance(each, dict) for each in arguments):
            return None
        own = "parallel_tool_calls" in row or "functions" in row or bool(arguments)
        return "lines of chat messages" if own or "tools" not in row else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        request = read_body(row, DIALECT, report)
        rest = {key: value for key, value in row.items() if key != "messages"}
        return Conversation(request.messages, None, request.tools, rest)

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line."""
        report = Report(FINETUNE)
        body = write_body(transcript, DIALECT, report, FINETUNE)
        row = {key: value for key, value in body.items() if key in KEYS}
        if transcript.format == FINETUNE:
            row |= self.own_row(transcript)
        elif "tools" in row:
            row["parallel_tool_calls"] = True  # the default, made explicit: only this format has it
        return draft(name, row, transcript, report)


FINE_TUNING = OpenAIFineTune()


HF = "hf-messages"
MEDIA = ("images", "videos", "audios")
"""Columns with the files for the marks `<image>` in the text."""
_OTHERS = frozenset({"model", "info", "sessionId", "session_id", "threadId", "conversations"})
"""Columns that mark a request, or the session of some agent."""


def _with_text(message: Any) -> Any:
    """A message with the arguments of its calls as text, as the API has them."""
    if not isinstance(message, dict):
        return message
    if not isinstance(message.get("tool_calls"), list):
        return {key: value for key, value in message.items() if key != "tool_calls" or value}
    return {**message, "tool_calls": [_call_with_text(call) for call in message["tool_calls"]]}


def _call_with_text(call: Any) -> Any:
    function = members(members(call).get("function"))
    if not isinstance(function.get("arguments"), dict):
        return call
    text = msgspec.json.encode(function["arguments"]).decode()
    return {**call, "function": {**function, "arguments": text}}


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the arguments of its calls as objects, as chat templates want them."""
    if "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [_call_with_object(call) for call in message["tool_calls"]]}


def _call_with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = members(call.get("function"))
    if not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = msgspec.json.decode(function["arguments"])
    except NOT_JSON:
        return call  # the model's arguments are not JSON: they stay text
    return {**call, "function": {**function, "arguments": arguments}}


class HuggingFaceMessages(RowFormat):
    name = HF
    title = "Hugging Face messages"
    tested = "files of LLaMA-Factory, 2026-11-16"
    rows = True
    unsupported_fields = ("id", "title", "folder")

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        if row is None or _OTHERS.intersection(row) or FINE_TUNING.detect(sample) is not None:
            return None
        messages = objects(row.get("messages"))
        if not messages or any("role" not in each for each in messages[:-1]):
            return None
        if any("parts" in each for each in messages):
            return None  # messages of an interface, not of a chat template
        return "rows of chat messages" if "role" in messages[0] else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        tools = row.get("tools")
        body: Row = {"messages": row.get("messages")}
        if isinstance(body["messages"], list):
            body["messages"] = [_with_text(message) for message in body["messages"]]
        if isinstance(tools, list) and tools:
            body["tools"] = tools
        request = read_body(body, DIALECT, report)
        for key in MEDIA:
            if row.get(key):
                reason = because("files_beside")
                report.add("moved", f"$.details.row.{key}", reason)
        rest = {key: value for key, value in row.items() if key != "messages"}
        return Conversation(request.messages, None, request.tools, rest)

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one row: a list where the name ends in .json, else a line."""
        report = Report(HF)
        body = write_body(transcript, DIALECT, report, HF)
        row = {"messages": [_with_objects(message) for message in body["messages"]]}
        if transcript.format == HF:
            row |= self.own_row(transcript)
        else:
            # an empty column distinguishes it from fine-tuning
            row["tools"] = body.get("tools", [])
        return draft(name, row, transcript, report, listed=name.endswith(".json"))


SHAREGPT = "sharegpt"
"""The dialect through which turns are read and written: they are its messages with other keys."""
ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "bard": "assistant",
    "bing": "assistant",
    "model": "assistant",
    "system": "system",
}
WRITTEN = {"user": "human", "assistant": "gpt", "system": "system", "developer": "system"}
CALLS = "function_call"
RESULTS = ("observation", "tool", "function_response")
"""The first is written."""
PICTURE = "<image>"
"""A mark in the text for the next of the row's `images`."""
URLS = ("data:", "https:", "http:")
"""Prefixes of images that are not paths in some folder."""


_MEDIA = ("images", "videos", "audios")


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
                reason = because("unreadable", error=f"expected a turn, found {found(turn)}")
                self.report.add("dropped", path, reason)

    def _content(self, text: str) -> str | list[Row]:
        """A text, or its pieces and the pictures for its marks."""
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
        except NOT_JSON as error:
            value = None
            reason = because("calls_as_text", error=error)
            self.report.add("downgraded", path, reason)
        each = value if isinstance(value, list) else [value]
        calls = [self._call(call) for call in each if isinstance(call, dict) and "name" in call]
        if calls:
            self.messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            self.messages.append({"role": "assistant", "content": text})

    def _call(self, call: Row) -> Row:
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
        name = self._next()
        self._open.append(name)
        function = {"name": call["name"], "arguments": text}
        return {"id": name, "type": "function", "function": function}

    def _next(self) -> str:
        self._count += 1
        return f"call_{self._count}"


def _pictures(images: Any) -> deque[str]:
    """The portable pictures; paths in some folder are not."""
    each = images if isinstance(images, list) else []
    urls = [url for url in each if isinstance(url, str) and url.startswith(URLS)]
    return deque(urls if len(urls) == len(each) else ())


def _tools(text: Any, report: Report) -> list[Row]:
    """The tools of a row: JSON text, in the API's form or without the object around a function."""
    try:
        tools = msgspec.json.decode(text) if isinstance(text, str) and text.strip() else text
    except NOT_JSON as error:
        report.add("dropped", "$.tools", because("invalid_json", error=error))
        return []
    each = tools if isinstance(tools, list) else []
    return [
        tool if "function" in tool else {"type": "function", "function": tool}
        for tool in each
        if isinstance(tool, dict)
    ]


def _in_order(messages: list[Row], report: Report) -> list[Row]:
    """Results in the order of their calls, which alone relates them."""
    ordered: list[Row] = []
    at = 0
    while at < len(messages):
        end = at
        while end < len(messages) and messages[end].get("role") == "tool":
            end += 1
        if end > at:
            calls = ordered[-1].get("tool_calls") if ordered else None
            names = [call.get("id") for call in calls or ()]
            ordered.extend(sorted(messages[at:end], key=lambda each: _place(each, names)))
            at = end
        else:
            ordered.append(messages[at])
            at += 1
    return ordered


def _place(result: Row, names: list[Any]) -> int:
    name = result.get("tool_call_id")
    return names.index(name) if name in names else len(names)


def _turns(message: Row, pictures: list[str], report: Report) -> Iterator[Row]:
    if message["role"] == "tool":
        yield {"from": RESULTS[0], "value": _text(message.get("content"), pictures, report)}
        return
    text = _text(message.get("content"), pictures, report)
    if refusal := message.get("refusal"):
        text += refusal
        report.add("downgraded", "$.messages", because("refusal_as_text"), "warning", "refusal")
    if message.get("audio"):
        report.add("dropped", "$.messages", because("turn_without_audio"), "warning", "audio")
    functions = [members(members(call).get("function")) for call in message.get("tool_calls") or ()]
    calls = [function for function in functions if {"name", "arguments"} <= function.keys()]
    if len(calls) < len(functions):
        reason = because("turn_functions_only")
        report.add("dropped", "$.messages", reason, "warning", "tool_use")
    if text or not calls:
        yield {"from": WRITTEN[message["role"]], "value": text}
    if calls:
        each = [
            {"name": call["name"], "arguments": _decoded_arguments(call["arguments"])}
            for call in calls
        ]
        value = msgspec.json.encode(each[0] if len(each) == 1 else each).decode()
        yield {"from": CALLS, "value": value}


def _decoded_arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except NOT_JSON:
        return text  # the model's arguments are not JSON: they stay text


def _text(content: Any, pictures: list[str], report: Report) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                pictures.append(url)
                texts.append(PICTURE)
            case _:
                reason = because("turn_part", type=members(part).get("type"))
                report.add("dropped", "$.messages", reason, "warning")
    return "".join(texts)


class ShareGPT(RowFormat):
    name = SHAREGPT
    title = "ShareGPT"
    tested = "files of LLaMA-Factory, 2026-11-16"
    rows = True
    unsupported_fields = ("id", "title", "folder")

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        turns = row.get("conversations") if row else None
        first = turns[0] if isinstance(turns, list) and turns else None
        return "conversations of turns" if isinstance(first, dict) and "from" in first else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        turns = row.get("conversations")
        if not isinstance(turns, list):
            raise ReadError(SHAREGPT, "$.conversations", "a list", found(turns))
        pictures = _pictures(row.get("images"))
        own = {"conversations", "images"} if pictures else {"conversations"}
        chat = _Turns(report, pictures)
        if isinstance(row.get("system"), str) and row["system"]:
            chat.messages.append({"role": "system", "content": row["system"]})
        for number, turn in enumerate(turns):
            chat.add(turn, f"$.conversations[{number}]")
        body: Row = {"messages": chat.messages}
        tools = _tools(row.get("tools"), report)
        if tools:
            body["tools"] = tools
        request = read_body(body, DIALECT, report)
        for key in _MEDIA:
            if row.get(key) and key not in own:
                reason = because("files_beside")
                report.add("moved", f"$.details.row.{key}", reason)
        rest = {key: value for key, value in row.items() if key not in own}
        name = row.get("id") if isinstance(row.get("id"), str) else None
        return Conversation(request.messages, name, request.tools, rest)

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one row: a list where the name ends in .json, else a line."""
        report = Report(SHAREGPT)
        body = write_body(transcript, DIALECT, report, SHAREGPT)
        own_row = self.own_row(transcript)
        messages = body["messages"]
        if (
            own_row.get("system")
            and messages
            and messages[0] == {"role": "system", "content": own_row["system"]}
        ):
            messages = messages[1:]
        pictures: list[str] = []
        ordered = _in_order(messages, report)
        turns = [turn for each in ordered for turn in _turns(each, pictures, report)]
        row: Row = {"conversations": turns}
        if "tools" in body:
            tools = [tool.get("function", tool) for tool in body["tools"]]
            row["tools"] = msgspec.json.encode(tools, enc_hook=spelled).decode()
        if pictures:
            row["images"] = pictures
        return draft(name, {**row, **own_row}, transcript, report, listed=name.endswith(".json"))


FORMATS = (FINE_TUNING, HuggingFaceMessages(), ShareGPT())
