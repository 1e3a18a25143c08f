"""Requests of Cohere's first chat API (`/v1/chat`), which are read, and written only if they were
read from it: a preamble, a history with roles of its own, the current message, and tool results
beside it.

Those results may be the only trace of their calls: the calls become messages of their own, and are
left out again when written. Calls have no ids; a result repeats its call and returns objects. The
parameters of a tool have names of Python types."""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.cohere.options import V1_OPTIONS
from interlingua.dialects.cohere.tables import JOINER, NAME, V1_ROLES, V1_TYPES
from interlingua.dialects.cohere.text import (
    UNREAD,
    is_document,
    read_document,
    read_output,
    write_compaction,
    write_document,
    write_output,
    write_refusal,
    write_text,
    write_unknown,
)
from interlingua.dialects.kernel import calls, words
from interlingua.dialects.kernel.calls import UNSIGNED, arguments_field, is_function, name_of
from interlingua.dialects.kernel.errors import at_path, read_each, require, unknown_word
from interlingua.dialects.kernel.fields import Table, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder, Quiet
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import ERROR_MARK, report_changes, take_mark
from interlingua.model.base import Raw, unchecked
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    DocumentBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.model.tools import ToolDefinition

# -- calls, results and tools ---------------------------------------------------------------------


_OUTPUT = "output"
"""An object with this key alone is a text. Cohere's integrations wrap texts so
(`langchain-cohere`'s recorded requests, read 2026-11-18)."""
QUIET = Quiet(NAME, None, Report(NAME))
"""For values that are written again: their losses are already reported."""
CALL = Table(
    ToolUseBlock,
    plain("name", "name", str),
    arguments_field("parameters", lambda value: {"input": require(value, dict)}),
    *UNSIGNED,
    silent=("id", "executor"),
)


# -- calls ----------------------------------------------------------------------------------------


def read_call(wire: Any, origin: Any, ordinal: int) -> ToolUseBlock | UnknownBlock:
    """`place` and `ordinal` make the id."""
    if type(require(wire, dict).get("name")) is not str:
        return UnknownBlock({NAME: {UNREAD: wire}})
    preserved = Preserved()
    attrs = CALL.read(wire, preserved)
    return ToolUseBlock(
        synthetic_tool_id(origin, ordinal, attrs["name"]), **attrs, raw=preserved.raw(NAME)
    )


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, because("no_hosted_tools"))
        return None
    return CALL.write_value(call, recorder)


def names_call(wire: Any, call: ToolUseBlock) -> bool:
    """Whether a result names this call. One without parameters names any of its name."""
    if type(wire) is not dict or wire.get("name") != call.name:
        return False
    return "parameters" not in wire or wire["parameters"] == call.input


# -- results --------------------------------------------------------------------------------------


def read_result(wire: Wire, id: str, preserved: Preserved) -> ToolResultBlock:
    """A result of the call with this id."""
    content: list[Any] = read_each(
        preserved.take(wire, "outputs", list) or [], ".outputs", _read_output
    )
    preserved.add_others(wire, frozenset({"call", "outputs"}))
    failed = bool(content) and content[0].raw is None and take_mark(content)
    if failed:
        preserved.spelling["marked"] = True
    return ToolResultBlock(id, tuple(content), failed, raw=preserved.raw(NAME))


def _read_output(output: Any) -> Block:
    if type(output) is dict:
        if output.keys() == {_OUTPUT} and type(output[_OUTPUT]) is str:
            return TextBlock(output[_OUTPUT])
        if is_document(output):
            return read_document({"data": output})
    if type(output) in (dict, str):
        return read_output({"type": "document", "document": {"data": output}})
    return UnknownBlock({NAME: {_OUTPUT: output}})


def write_result(block: ToolResultBlock, call: ToolUseBlock | None, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, block.raw)
    out: Wire = {"call": _called(block, call, spelling_in(own_raw).get("call"))}
    if out["call"] is None:
        del out["call"]
    listed = [output for part in block.content for output in _write_output(part, recorder)]
    if block.is_error:
        _mark(listed)
        if "marked" not in spelling_in(own_raw):
            recorder.lost(block, "is_error", because("error_marked"), kind="downgraded")
    if block.tool_name is not None and block.tool_name != recorder.called(block):
        recorder.lost(block, "tool_name")
    if block.cache is not None:
        recorder.lost(block, "cache")
    if listed:
        out["outputs"] = listed
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


def _called(block: ToolResultBlock, call: ToolUseBlock | None, spelled: Any) -> Any:
    """The call that a result repeats: as it did while that is the call's name and input."""
    if call is None:
        return (
            spelled if spelled is not None or block.tool_name is None else {"name": block.tool_name}
        )
    if names_call(spelled, call):
        return spelled
    return CALL.write_value(call, QUIET)


def _write_output(part: Any, recorder: LossRecorder) -> list[Any]:
    """One output; empty if it has no equivalent."""
    if type(part) is TextBlock:
        document = write_output(part, recorder)
        if document is None:
            return [{_OUTPUT: write_text(part, recorder)["text"]}]
        data = document["document"]["data"]
        was_text = spelling_in(raw_of(NAME, part.raw)).get("document") == "text"
        return [data if was_text or type(data) is dict else {_OUTPUT: data}]
    if type(part) is DocumentBlock:
        written = write_document(part, recorder)
        return [] if written is None else [written if type(written) is str else written["data"]]
    if type(part) is UnknownBlock:
        unknown = words.write_unknown(part, recorder)
        return [] if unknown is None else [unknown.get(_OUTPUT, unknown)]
    recorder.dropped(part)
    return []


def _mark(outputs: list[Any]) -> None:
    """Marks a result as a failure."""
    first = outputs[0] if outputs else None
    if type(first) is dict and first.keys() == {_OUTPUT}:
        outputs[0] = {_OUTPUT: ERROR_MARK + first[_OUTPUT]}
    else:
        outputs.insert(0, {_OUTPUT: ERROR_MARK})


_LIST = re.compile(r"(?:list|List)\[(\w+)\]")
_DEFINED = frozenset({"type", "description", "required"})

TOOL = Table(
    ToolDefinition,
    plain("name", "name", str),
    plain("description", "description", str),
    beside=("parameter_definitions",),
    silent=("input_schema", "executor", "kind"),
)


def read_tool(wire: Any) -> ToolDefinition:
    if type(require(wire, dict).get("name")) is not str:
        return ToolDefinition(name_of(wire), executor="provider", kind="unknown", raw={NAME: wire})
    preserved = Preserved()
    attrs = TOOL.read(wire, preserved)
    defined = wire.get("parameter_definitions")
    if defined is not None:
        attrs["input_schema"] = schema = _schema(require(defined, dict, ".parameter_definitions"))
        if encode(_definitions(schema)) != encode(defined):  # 0 is not False there
            preserved.spelling["defined"] = defined
    elif "parameter_definitions" in wire:
        preserved.keep_spelling("parameter_definitions", None)
    return unchecked(ToolDefinition, **attrs, raw=preserved.raw(NAME))


def _schema(defined: Wire) -> Wire:
    schema: Wire = {"type": "object", "properties": {k: _property(v) for k, v in defined.items()}}
    required = [k for k, v in defined.items() if type(v) is dict and v.get("required") is True]
    return {**schema, "required": required} if required else schema


def _property(schema: Any) -> Wire:
    """The schema of one parameter; a type that is unknown is anything."""
    if type(schema) is not dict:
        return {}
    word = schema.get("type")
    out: Wire = {}
    if type(word) is str and (inner := _LIST.fullmatch(word)):
        out = {"type": "array"}
        if kind := V1_TYPES.get(inner[1]):
            out["items"] = {"type": kind}
    elif type(word) is str and word in V1_TYPES:
        out = {"type": V1_TYPES[word]}
    if type(schema.get("description")) is str:
        out["description"] = schema["description"]
    return out


_WORDS = {kind: word for word, kind in reversed(V1_TYPES.items())}


def _definitions(schema: Wire) -> Wire:
    """The parameters of a schema, as far as they can be expressed."""
    required = schema.get("required")
    names = required if type(required) is list else []
    out = {}
    for name, property in (schema.get("properties") or {}).items():
        word = _word(property) if type(property) is dict else "object"
        out[name] = {"type": word, "required": name in names}
        if type(property) is dict and type(property.get("description")) is str:
            out[name] = {"description": property["description"], **out[name]}
    return out


def _word(schema: Wire) -> str:
    kind, items = schema.get("type"), schema.get("items")
    inner = items.get("type") if type(items) is dict else None
    if kind == "array" and type(inner) is str and inner in _WORDS:
        return f"List[{_WORDS[inner]}]"
    return _WORDS.get(kind, "object") if type(kind) is str else "object"


def write_tool(tool: ToolDefinition, recorder: LossRecorder) -> Wire | None:
    own_raw = raw_of(NAME, tool.raw)
    if not is_function(tool):
        return calls.write_unknown(tool, recorder, because("no_hosted_tools"))
    if tool.kind == "custom":
        recorder.lost(tool, "kind", because("custom_tool_as_function"), kind="downgraded")
    out: Wire = {}
    TOOL.write(tool, out, own_raw, recorder)
    if tool.input_schema is not None:
        out["parameter_definitions"] = _write_schema(
            tool, spelling_in(own_raw).get("defined"), recorder
        )
    return out if tool.raw is None else restore_raw(out, tool, tool.raw, recorder)


def _write_schema(tool: ToolDefinition, spelled: Any, recorder: LossRecorder) -> Wire:
    schema = tool.input_schema or {}
    if type(spelled) is dict and _schema(spelled) == schema:
        return spelled
    defined = _definitions(schema)
    if _schema(defined) != schema:
        reason = because("schema_flat")
        recorder.lost(tool, "input_schema", reason, kind="approximated")
    return defined


_ROLE_WORDS = ("USER", "CHATBOT", "SYSTEM", "TOOL")


def _form(**spelling: Any) -> Raw:
    return {NAME: {"$form": spelling}}


# -- reading --------------------------------------------------------------------------------------


def read_conversation(wire: Wire, preserved: Preserved) -> tuple[Message, ...]:
    reading = _Reading()
    preamble = preserved.take(wire, "preamble", str) if "preamble" in wire else None
    if preamble is not None:
        reading.add(Role.SYSTEM, (TextBlock(preamble),), _form(place="preamble"))
    if "chat_history" in wire:
        for number, turn in enumerate(preserved.take(wire, "chat_history", list) or ()):
            at_path(f".chat_history[{number}]", reading.add_turn, turn)
    question = preserved.take(wire, "message", str)
    if question is not None:
        reading.add(Role.USER, (TextBlock(question),), _form(place="message"))
    else:
        reading.leave_past()
    if "tool_results" in wire:
        reading.add_results(preserved.take(wire, "tool_results", list) or [], None)
    return tuple(reading.messages)


class _Reading:
    """The messages so far, and the calls that no result has answered yet."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._open: list[ToolUseBlock] = []

    def add(self, role: Role, content: tuple[Block, ...], raw: Raw | None) -> None:
        protocol = NAME if role is Role.ASSISTANT else None
        metadata = MessageMetadata(protocol=protocol, provider_raw=raw)
        self.messages.append(Message(role, content, metadata=metadata))
        self._open += [block for block in content if type(block) is ToolUseBlock]

    def add_turn(self, wire: Any) -> None:
        preserved, word = Preserved(), require(require(wire, dict).get("role"), str, ".role")
        role = V1_ROLES.read(word.upper())
        if role is None:
            raise unknown_word(".role", _ROLE_WORDS, word)
        if word != V1_ROLES.write(role):
            preserved.spelling["role"] = word
        if role is Role.TOOL:
            self._add_tool_turn(wire, preserved)
            return
        text = preserved.take(wire, "message", str)
        content: list[Block] = [] if text is None else [TextBlock(text)]
        taken = {"role", "message"}
        if role is Role.ASSISTANT:
            taken.add("tool_calls")
            content += self._calls(wire, preserved)
        preserved.add_others(wire, taken)
        self.add(role, tuple(content), preserved.raw(NAME))

    def _calls(self, wire: Wire, preserved: Preserved) -> list[Block]:
        listed = preserved.take(wire, "tool_calls", list) if "tool_calls" in wire else None
        return read_calls(listed or [], len(self.messages))

    def _add_tool_turn(self, wire: Wire, preserved: Preserved) -> None:
        listed = preserved.take(wire, "tool_results", list)
        if listed is None:
            self.add(Role.TOOL, (UnknownBlock({NAME: wire}),), None)
            return
        preserved.add_others(wire, frozenset({"role", "tool_results"}))
        preserved.spelling["turn"] = True
        self.add_results(listed, preserved.raw(NAME))

    def add_results(self, listed: list[Any], raw: Raw | None) -> None:
        """Results of a turn of the history, which is `raw`, or of those beside the message."""
        implied: list[ToolUseBlock] = []
        results = read_each(
            listed, ".tool_results", lambda wire: self._result(require(wire, dict), implied)
        )
        if implied:
            self.add(Role.ASSISTANT, tuple(implied), _form(implied=True))
            del self._open[-len(implied) :]
        for number, block in enumerate(results):
            message = Message.of_result(block)
            if raw is not None:
                spelling = _form(turn=False) if number else raw
                message = message.replace(metadata=message.metadata.replace(provider_raw=spelling))
            self.messages.append(message)

    def _result(self, wire: Wire, implied: list[ToolUseBlock]) -> ToolResultBlock:
        preserved, named = Preserved(), wire.get("call")
        call = next((each for each in self._open if names_call(named, each)), None)
        if call is not None:
            self._open.remove(call)
            if encode(named) != encode(write_call(call, QUIET)):
                preserved.spelling["call"] = named
            return read_result(wire, call.id, preserved)
        named_call = None if named is None else read_call(named, len(self.messages), len(implied))
        if type(named_call) is ToolUseBlock:
            implied.append(named_call)
            return read_result(wire, named_call.id, preserved)
        if named is not None:
            preserved.spelling["call"] = named
        elif "call" in wire:
            preserved.keep_spelling("call", None)
        return read_result(wire, synthetic_tool_id(len(self.messages), len(implied), ""), preserved)

    def leave_past(self) -> None:
        """The last turn is part of the history: there is no current message."""
        if self.messages and self.messages[-1].role is Role.USER:
            last = self.messages[-1]
            own_raw = raw_of(NAME, last.metadata.provider_raw)
            spelling = {**own_raw.get("$form", {}), "past": True}
            raw = {NAME: {**own_raw, "$form": spelling}}
            metadata = last.metadata.replace(provider_raw=raw)
            self.messages[-1] = last.replace(metadata=metadata)


def read_calls(listed: list[Any], origin: Any) -> list[Block]:
    return [
        at_path(f".tool_calls[{ordinal}]", read_call, wire, origin, ordinal)
        for ordinal, wire in enumerate(listed)
    ]


# -- writing --------------------------------------------------------------------------------------


def write_conversation(
    messages: tuple[Message, ...], own_raw: Wire, recorder: LossRecorder
) -> Wire:
    for message in messages:
        if message.name is not None:
            recorder.lost(message, "name")
        if message.changes is not None:
            report_changes(message, recorder)
    writing = Writing(messages, recorder)
    rest = [message for message in messages if message.content or message.changes is None]
    out: Wire = {}
    if rest and _place(rest[0]) == "preamble" and rest[0].role is Role.SYSTEM:
        out["preamble"] = writing.text(rest.pop(0))
    results = _take_results(rest)
    implied = rest.pop() if results and rest and writing.is_implied(rest[-1], results) else None
    question: str | None = None
    if rest and _is_question(rest[-1], bool(results), implied is not None):
        question = writing.text(rest.pop())
    if history := writing.history(rest):
        out["chat_history"] = history
    if question is not None or not was_absent(own_raw, "message"):
        out["message"] = question or ""
    if results:
        out["tool_results"] = [each for message in results for each in writing.results(message)]
    return out


def _place(message: Message) -> Any:
    return spelling_of(NAME, message.metadata.provider_raw).get("place")


def _take_results(rest: list[Message]) -> list[Message]:
    """Takes the results at the end that belong to no turn of the history."""
    results: list[Message] = []
    while rest and rest[-1].role is Role.TOOL and _is_loose(rest[-1]):
        results.insert(0, rest.pop())
    return results


def _is_loose(message: Message) -> bool:
    is_turn = "turn" in spelling_of(NAME, message.metadata.provider_raw)
    return not is_turn and all(type(block) is ToolResultBlock for block in message.content)


def _is_question(message: Message, has_results: bool, is_implied: bool) -> bool:
    if message.role is not Role.USER:
        return False
    spelling = spelling_of(NAME, message.metadata.provider_raw)
    return "past" not in spelling and (
        not has_results or is_implied or spelling.get("place") == "message"
    )


class Writing:
    """The context of writing the turns of one request."""

    def __init__(self, messages: tuple[Message, ...], recorder: LossRecorder) -> None:
        self._recorder = recorder
        self._calls = {
            block.id: block
            for message in messages
            for block in message.content
            if type(block) is ToolUseBlock
        }

    def is_implied(self, message: Message, results: list[Message]) -> bool:
        """Whether the results imply everything that the message contains."""
        if "implied" not in spelling_of(NAME, message.metadata.provider_raw):
            return False
        answered = {
            block.tool_use_id
            for result in results
            for block in result.content
            if type(block) is ToolResultBlock
        }
        return all(
            type(block) is ToolUseBlock and block.id in answered for block in message.content
        )

    def history(self, messages: list[Message]) -> list[Wire]:
        out: list[Wire] = []
        for number, message in enumerate(messages):
            if message.role is not Role.TOOL:
                following = _batch(messages, number + 1)
                if not self.is_implied(message, following):
                    out.append(self._turn(message))
                continue
            unknown = [block for block in message.content if type(block) is UnknownBlock]
            if unknown:
                turns = [write_unknown(block, self._recorder) for block in unknown]
                out += [turn for turn in turns if turn is not None]
                continue
            self._add_results(out, message)
        return out

    def _add_results(self, out: list[Wire], message: Message) -> None:
        raw = message.metadata.provider_raw
        spelling = spelling_of(NAME, raw)
        results = self.results(message)
        if spelling.get("turn") is False and out and "tool_results" in out[-1]:
            out[-1]["tool_results"] += results
            return
        turn = {"role": spelling.get("role", V1_ROLES.write(Role.TOOL)), "tool_results": results}
        out.append(restore_raw(turn, message, raw, self._recorder, "metadata.provider_raw"))

    def results(self, message: Message) -> list[Wire]:
        return [
            write_result(block, self._calls.get(block.tool_use_id), self._recorder)
            for block in message.content
            if type(block) is ToolResultBlock
        ]

    def _turn(self, message: Message) -> Wire:
        raw = message.metadata.provider_raw
        own_raw = raw_of(NAME, raw)
        out: Wire = {"role": self._role(message)}
        text = self.text_in(message)
        if text or not was_absent(own_raw, "message"):
            out["message"] = text
        if calls := self.calls(message):
            out["tool_calls"] = calls
        return restore_raw(out, message, raw, self._recorder, "metadata.provider_raw")

    def _role(self, message: Message) -> str:
        word = spelling_of(NAME, message.metadata.provider_raw).get("role")
        if type(word) is str and V1_ROLES.read(word.upper()) is message.role:
            return word
        if message.role is Role.DEVELOPER:
            reason = because("instructions_one_level")
            self._recorder.lost(message, "role", reason, kind="downgraded")
        return V1_ROLES.write(message.role) or "SYSTEM"

    def calls(self, message: Message) -> list[Wire]:
        written: list[Any] = []
        for block in message.content:
            if type(block) is ToolUseBlock:
                written.append(write_call(block, self._recorder))
            elif type(block) is UnknownBlock:
                written.append(write_unknown(block, self._recorder))
        return [call for call in written if call is not None]

    def text(self, message: Message) -> str:
        """A message with nothing but a text."""
        raw = message.metadata.provider_raw
        if raw is not None:
            self._recorder.unwritten_raw(message, raw, "metadata.provider_raw")
        return self.text_in(message)

    def text_in(self, message: Message) -> str:
        texts: list[str] = []
        for block in message.content:
            if type(block) in (ToolUseBlock, UnknownBlock):
                continue
            if type(block) is DocumentBlock and message.role is Role.USER:
                continue  # beside the messages
            part = _TEXTS.get(type(block), _drop)(block, self._recorder)
            if part is None:
                continue
            if texts:
                reason = because("joined")
                self._recorder.lost(block, None, reason, kind="approximated")
            if type(block) is TextBlock and block.citations and message.role is not Role.ASSISTANT:
                self._recorder.lost(block, "citations", because("citations_role"))
            texts.append(part["text"])
        return JOINER.join(texts)


_TEXTS: dict[type[Any], Any] = {
    TextBlock: write_text,
    RefusalBlock: write_refusal,
    CompactionBlock: write_compaction,
}


def _drop(block: Block, recorder: LossRecorder) -> None:
    recorder.dropped(block, because("v1_text_only"))


def _batch(messages: list[Message], start: int) -> list[Message]:
    """The results that follow each other from here on."""
    end = start
    while end < len(messages) and messages[end].role is Role.TOOL:
        end += 1
    return messages[start:end]


def read(wire: Wire, model: str | None) -> tuple[Request, Preserved]:
    """A request, but for its documents and its `raw`."""
    preserved = Preserved()
    preserved.spelling["version"] = 1
    named = preserved.take(wire, "model", str)
    messages = read_conversation(wire, preserved)
    listed = preserved.take(wire, "tools", list) if "tools" in wire else None
    tools = read_each(listed, ".tools", read_tool) if listed else []
    options = unchecked(Options, **V1_OPTIONS.read(wire, preserved))
    id = preserved.take(wire, "conversation_id", str) if "conversation_id" in wire else None
    continues = None if id is None else Continues(conversation_id=id)
    return unchecked(Request, messages, named or model, tuple(tools), options, continues), preserved


def read_flat(wire: Any) -> Any:
    """A document: an object of texts, in which an id may be."""
    if type(wire) is not dict:
        return read_document(wire)
    data = {key: item for key, item in wire.items() if key != "id"}
    return read_document({"id": wire["id"], "data": data} if "id" in wire else {"data": data})


def write_flat(document: Any) -> Any:
    if type(document) is str:
        return {"text": document}
    data = document["data"]
    out = data if type(data) is dict else {"text": data}
    return {**out, "id": document["id"]} if "id" in document else out


def write(request: Request, documents: list[Any], recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None and not was_absent(own_raw, "model"):
        out["model"] = request.model
    out |= write_conversation(request.messages, own_raw, recorder)
    if documents:
        out["documents"] = [write_flat(each) for each in documents]
    tools = [write_tool(tool, recorder) for tool in request.tools]
    if written := [tool for tool in tools if tool is not None]:
        out["tools"] = written
    V1_OPTIONS.write(request.options, out, own_raw, recorder)
    restore_raw(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        if request.continues.conversation_id is not None:
            out["conversation_id"] = request.continues.conversation_id
        if request.continues != Continues(conversation_id=request.continues.conversation_id):
            recorder.lost(request, "continues", severity="error")
    return restore_raw(out, request, request.raw, recorder)
