"""Calls of functions and custom tools, and their results; and calls of the tools that the vendor
defines, with their results.

A call's id is the one that its result names (`call_id`); the item's own id is spelling. Calls of
the vendor's tools keep the type of their item as `call_type`. The key of an id, and whether
arguments were a text, are spelling (`$form.key`, `$form.arguments`).

Results of the vendor's tools, as tables: as items of their own (text, a screenshot, output of a
shell, tools that were found), and inside the item of their call, which is read as two blocks and
written as one item; and generated images, which are read as images."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.calls import read_arguments, write_arguments
from interlingua.dialects.kernel.errors import ShapeError, require_key
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import NOTHING, Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, placeholder, unmarked
from interlingua.dialects.openai import text_of
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.tables import (
    CALLS,
    FUNCTION,
    IMAGE_FORMATS,
    ITEM_KEYS,
    NAME,
    OUTPUTS,
    CallKind,
)
from interlingua.dialects.openai_responses.text import (
    BREAKPOINT,
    PICTURE,
    is_string,
    item_raw,
    own,
    own_spelling,
    put_item_back,
    read_image,
    read_parts,
    restore_own,
    write_cache,
    write_image,
    write_part,
    written,
)
from interlingua.model.arguments import to_text
from interlingua.model.blocks import (
    Executor,
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.reasons import because

# -- hosted tools ---------------------------------------------------------------------------------


_STDOUT = Table(TextBlock, plain("stdout", "text", str), blank=True)
_PASSAGE = Table(TextBlock, plain("text", "text", str), blank=True)
_SAID = Table(
    TextBlock, plain("text", "text", str), fields.constant("type", "output_text"), blank=True
)
_LOGS = Table(TextBlock, plain("logs", "text", str), fields.constant("type", "logs"), blank=True)
_PICTURE = Table(ImageBlock, fields.constant("type", "image"), silent=PICTURE, blank=True)
_NO_SHOT = {"type": "computer_screenshot"}
_SHOT = Table(ImageBlock, fields.constant("type", _NO_SHOT["type"]), silent=PICTURE, blank=True)

# -- marks of failure -----------------------------------------------------------------------------


def report_error_mark(block: ToolResultBlock, recorder: LossRecorder) -> None:
    """It is no loss where the wire itself had the mark."""
    if "mark" not in own_spelling(block.raw):
        reason = because("error_in_text")
        recorder.lost(block, "is_error", reason, kind="downgraded")


# -- what results consist of ----------------------------------------------------------------------


def _texts_of(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if text else ()


def _text(key: str, demanded: bool = True) -> Field:
    """One text; an empty optional one is spelling."""

    def read(value: Any) -> Reading:
        if type(value) is not str:
            return NOT_OURS
        return {"content": _texts_of(value)} if value or demanded else {}

    return Field(key, ("content",), read, text_of, fill=(lambda _: "") if demanded else None)


def _texts(key: str, inner: str, table: Table, more: Callable[[Any], Wire] = lambda _: {}) -> Field:
    """A list of objects with a text each; `more` are additional keys for texts of another
    origin."""

    def read(value: Any) -> Reading:
        if type(value) is not list or not all(
            type(wire) is dict and type(wire.get(inner)) is str for wire in value
        ):
            return NOT_OURS
        return {"content": tuple([table.read_value(TextBlock, wire, NAME) for wire in value])}

    def write(block: Any, recorder: LossRecorder) -> list[Wire]:
        found: list[Wire] = []
        for part in block.content:
            if type(part) is TextBlock:
                item = written(table, part, recorder)
                found.append(item if own(part.raw) else {**item, **more(block)})
            else:
                recorder.dropped(part)
        return found

    return Field(key, ("content",), read, write, fill=lambda _: [])


def _read_marked(value: Any) -> Reading:
    if type(value) is not str:
        return NOT_OURS
    text, failed = unmarked(value)
    return {"content": _texts_of(text), "is_error": failed}


def _write_marked(block: Any, recorder: LossRecorder) -> str:
    if block.is_error:
        report_error_mark(block, recorder)
    return (ERROR_MARK if block.is_error else "") + text_of(block, recorder)


def _read_shot(value: Any) -> Reading:
    shot = read_image(value, _SHOT, "image_url", "file_id") if type(value) is dict else None
    return NOT_OURS if shot is None else {"content": (shot,)}


def _write_shot(block: Any, recorder: LossRecorder) -> Wire | None:
    shot = None
    for part in block.content:
        if type(part) is ImageBlock and shot is None:
            shot = write_image(part, _SHOT, "image_url", recorder)
        else:
            recorder.dropped(part)
    return shot


def _exited(block: Any) -> Wire:
    """The members of a shell's chunk."""
    return {"stderr": "", "outcome": {"type": "exit", "exit_code": 1 if block.is_error else 0}}


def _drop_content(block: Any, recorder: LossRecorder) -> None:
    for part in block.content:
        recorder.dropped(part)


def _failed(key: str, no: object, yes: object) -> Field:
    """Whether the call failed, which has two values."""

    def read(value: Any) -> Reading:
        return {"is_error": value == yes} if value in (no, yes) else {}

    return Field(
        key, ("is_error",), read, lambda block, _: yes if block.is_error else no, fill=lambda _: no
    )


# -- items of their own ---------------------------------------------------------------------------

MIXED = ("function_call_output", "custom_tool_call_output")
"""Outputs that are a text or parts, as in messages; `calls.py` has them."""


def _result(word: str, *keys: Field) -> Table:
    own_keys = {field.key for field in keys}
    beside = {"type", OUTPUTS[word].id_key, *ITEM_KEYS} - own_keys
    silent = ["tool_use_id", "tool_name"]
    if word in MIXED:
        beside |= {"name", "output"} if word == MIXED[0] else {"output"}
        silent += ["content", "is_error", "cache"]
    return Table(ToolResultBlock, *keys, beside=beside, silent=silent, blank=True)


RESULTS = {
    word: _result(word, *keys)
    for word, keys in {
        **dict.fromkeys(MIXED, ()),
        "computer_call_output": [
            Field("output", ("content",), _read_shot, _write_shot, fill=lambda _: dict(_NO_SHOT))
        ],
        "local_shell_call_output": [
            Field("output", ("content", "is_error"), _read_marked, _write_marked, lambda _: "")
        ],
        "shell_call_output": [_texts("output", "stdout", _STDOUT, _exited)],
        "apply_patch_call_output": [
            *(_text("output", demanded=False), _failed("status", "completed", "failed"))
        ],
        "mcp_approval_response": [
            *(_text("reason", demanded=False), _failed("approve", True, False))
        ],
        "tool_search_output": [
            fields.content("tools", lambda _: []),
            Field("", ("content",), lambda _: {}, _drop_content),
        ],
        "program_output": [_text("result")],
        "multi_agent_call_output": [_texts("output", "text", _SAID)],
    }.items()
}
"""By the type of the item."""

# -- inside the item of their call ----------------------------------------------------------------


def _read_outputs(value: Any) -> Reading:
    """The output and images of code."""
    if type(value) is not list or not all(type(each) is dict for each in value):
        return NOT_OURS
    return {"content": tuple([_read_output(each) for each in value])}


def _read_output(output: Wire) -> ResultBlock:
    kind = output.get("type")
    if kind == "logs" and type(output.get("logs")) is str:
        return _LOGS.read_value(TextBlock, output, NAME)
    image = read_image(output, _PICTURE, "url") if kind == "image" else None
    return UnknownBlock({NAME: output}) if image is None else image


def _write_outputs(block: Any, recorder: LossRecorder) -> list[Any]:
    outputs = [_write_output(part, recorder) for part in block.content]
    return [each for each in outputs if each is not None]


def _write_output(part: ResultBlock, recorder: LossRecorder) -> Any:
    if type(part) is UnknownBlock and NAME in part.raw:
        return part.raw[NAME]
    if type(part) is ImageBlock:
        return write_image(part, _PICTURE, "url", recorder)
    if type(part) is TextBlock:
        return written(_LOGS, part, recorder)
    recorder.dropped(part)
    return None


def _write_mcp_error(block: Any, recorder: LossRecorder) -> Wire:
    text = {"type": "text", "text": text_of(block, fields.QUIET)}
    return {"type": "mcp_tool_execution_error", "content": [text]}


def _read_list_error(value: Any) -> Reading:
    return {"content": _texts_of(value), "is_error": True} if type(value) is str else NOT_OURS


def _write_list_error(block: Any, recorder: LossRecorder) -> str | None:
    text = text_of(block, recorder)
    if not block.is_error:
        recorder.lost(block, "content")
    return text if block.is_error else None


_INSIDE = {
    word: Table(ToolResultBlock, *keys, silent=("tool_use_id",), blank=True)
    for word, keys in {
        "file_search_call": [_texts("results", "text", _PASSAGE)],
        "code_interpreter_call": [
            Field("outputs", ("content",), _read_outputs, _write_outputs, lambda _: [])
        ],
        "mcp_call": [
            _text("output"),
            Field(
                *("error", ("is_error",), lambda _: {"is_error": True}, _write_mcp_error),
                more=lambda _: True,
            ),
        ],
        "mcp_list_tools": [
            fields.content("tools", lambda _: []),
            Field("error", ("content", "is_error"), _read_list_error, _write_list_error),
        ],
    }.items()
}
HOLDS_RESULT = frozenset(_INSIDE)


def read_inside(item: Wire) -> tuple[ToolResultBlock, tuple[str, ...]] | None:
    """The result in a call's item, if there is one, still without the id of its call; and the keys
    of its item."""
    table = _INSIDE[item["type"]]
    held = {key: item[key] for key in table.keys if item.get(key) is not None}
    preserved = Preserved()
    attrs = table.read(held, preserved)
    if not attrs and type(held.get("tools")) is not list:
        return None
    return ToolResultBlock("", **attrs, raw=preserved.raw(NAME)), tuple(held)


def write_inside(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    """Put a result into the item of its call."""
    _INSIDE[item["type"]].write(block, item, own(block.raw), recorder)
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
        restore_own(item, block.raw)


# -- generated images -----------------------------------------------------------------------------


def read_generated(item: Wire) -> ImageBlock:
    """A generated image; the item's result is text."""
    word = item.get("output_format")
    media_type = IMAGE_FORMATS.read(word) if type(word) is str else None
    known = ("type", "result", "type" if media_type is None else "output_format")
    gone = [key for key in ("id", "status") if key not in item]
    raw = item_raw(item, known, {"gone": gone} if gone else {})
    return ImageBlock(Source("base64", item["result"]), media_type, raw=raw)


def write_generated(block: ImageBlock, recorder: LossRecorder) -> Wire | None:
    """An image that a model made."""
    if block.source.kind != "base64":
        recorder.dropped(block, because("image_inline_only"))
        return None
    item: Wire = {"type": "image_generation_call", "result": block.source.data or ""}
    word = IMAGE_FORMATS.write(block.media_type) if block.media_type is not None else None
    if word is not None:
        item["output_format"] = word
    recorder.unwritten(block, frozenset({"source"} if word is None else {"source", "media_type"}))
    return put_item_back(item, block.raw)


_WRITTEN = frozenset({"id", "name", "input", "raw_arguments", "executor", "call_type", "caller"})
_SEALED = frozenset({*_WRITTEN, "signature"})

# -- calls ----------------------------------------------------------------------------------------


def read_call(item: Wire, seed: object, consumed: tuple[str, ...] = ()) -> tuple[ToolUseBlock, str]:
    """The call, and how its arguments were recovered; `consumed` are keys of its result."""
    word: str = item["type"]
    kind = CALLS[word]
    spelling: Wire = {}
    name, id = kind.name or require_key(item, "name", str), item.get(kind.id_key)
    if kind.text:
        input, text, mode = _read_arguments(item, spelling)
        if len(item) == 4 and word == FUNCTION and type(id) is str and id and not spelling:
            return ToolUseBlock(id, name, input, text), mode
    else:
        input, text, mode = _read_input(item, kind, spelling), None, "strict"
    if type(id) is not str or not id:
        id = _other_id(item, kind.id_key, name, seed, spelling)
    known: Collection[Any] = _KNOWN[word]
    if spelling or consumed:
        gone = [kind.inside] if "bare" in spelling else []
        gone += [kind.id_key] if "key" in spelling else []
        known = {*known, *consumed, spelling.get("key")}.difference(gone)
    signature = item.get("fingerprint") if word == "program" else None
    if type(signature) is str:
        known = {*known, "fingerprint"}
    else:
        signature = None
    nothing, caller = _NOTHING if "key" in spelling else ITEM_KEYS, None
    match item.get("caller"):
        case {"type": "program", "caller_id": str(by), **more} if not more:
            known, caller = {*known, "caller"}, by
        case {"type": "direct", **more} if not more:
            nothing = (*nothing, "caller")
    raw = item_raw(item, known, spelling, nothing)
    executor, call_type = _executor(item, word, kind), tables.CALL_TYPES.read(word)
    attrs = (id, name, input, text, signature, executor, call_type)
    return ToolUseBlock(*attrs, raw=raw, caller=caller), mode


_NOTHING = (*ITEM_KEYS, "call_id")
_KNOWN = {
    word: frozenset({"type", None if kind.name else "name", kind.id_key, kind.inside, *kind.keys})
    for word, kind in CALLS.items()
}
"""The keys of an item that a block has."""


def _read_input(item: Wire, kind: CallKind, spelling: Wire) -> Wire:
    if kind.inside is None:
        if kind.name is None:
            require_key(item, "input", str)
        return {key: item[key] for key in kind.keys if key in item}
    input = item.get(kind.inside)
    if type(input) is dict:
        return input
    spelling["bare"] = True
    return {}


def _read_arguments(item: Wire, spelling: Wire) -> tuple[Wire, str | None, str]:
    """Some hosts have an object in place of a text, or nothing."""
    value = item.get("arguments")
    if type(value) is str:
        return read_arguments(value)
    if type(value) is dict:
        spelling["arguments"] = "object"
    elif value is None:
        spelling["arguments"] = "null" if "arguments" in item else "absent"
    else:
        raise ShapeError(".arguments", "a string", value)
    return value or {}, None, "strict"


def _executor(item: Wire, word: str, kind: CallKind) -> Executor:
    if word == "tool_search_call":
        return "client" if item.get("execution") == "client" else "provider"
    if word == "shell_call":
        where = item.get("environment")
        if type(where) is dict and str(where.get("type")).startswith("container"):
            return "provider"
    return kind.executor


def _other_id(item: Wire, key: str, name: str, seed: object, spelling: Wire) -> str:
    """Without an id that results name, the item's own, else a generated one."""
    id, other = item.get(key), item.get("id")
    if id is not None and type(id) is not str:
        raise ShapeError(f".{key}", "a string", id)
    if type(other) is str and other:
        spelling["key"] = "id"
        return other
    spelling["key"] = None
    return synthetic_tool_id(seed, name)


def write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    """None for calls that another provider ran, which are reported."""
    word = tables.CALL_TYPES.write(block.call_type) if block.call_type is not None else None
    if word is None:
        if block.executor != "client":
            recorder.dropped(block, because("hosted_tool_foreign"))
            return None
        if block.call_type is not None:
            recorder.lost(block, "call_type")
        elif block.signature is None and (block.raw or block.cache or block.caller) is None:
            head = {"type": FUNCTION, "call_id": block.id, "name": block.name}
            return {**head, "arguments": write_arguments(block)}
    return _write_call(block, word or FUNCTION, recorder)


def _write_call(block: ToolUseBlock, word: str, recorder: LossRecorder) -> Wire:
    kind, spelling = CALLS[word], own_spelling(block.raw)
    recorder.unwritten(block, _SEALED if word == "program" else _WRITTEN)
    item: Wire = {"type": word}
    where = spelling.get("key", kind.id_key)
    if where is not None or not is_synthetic_tool_id(block.id):
        item[where or kind.id_key] = block.id
    if kind.name is None:
        item["name"] = block.name
    elif block.name != kind.name:
        recorder.lost(block, "name")
    _write_input(item, block, kind, recorder)
    if word == "program" and block.signature is not None:
        item["fingerprint"] = block.signature
    if block.caller is not None:
        item["caller"] = {"type": "program", "caller_id": block.caller}
    put_item_back(item, block.raw)
    if _executor(item, word, kind) != block.executor:
        if word == "tool_search_call":
            item["execution"] = "client" if block.executor == "client" else "server"
        else:
            recorder.lost(block, "executor")
    return item


def _write_input(item: Wire, block: ToolUseBlock, kind: CallKind, recorder: LossRecorder) -> None:
    input, spelling = block.input, own_spelling(block.raw)
    if kind.text:
        spelled = spelling.get("arguments")
        if spelled == "object":
            item["arguments"] = input
        elif spelled is None or input:
            item["arguments"] = write_arguments(block)
        elif spelled == "null":
            item["arguments"] = None
    elif kind.inside is not None:
        if input or "bare" not in spelling:
            item[kind.inside] = input
    elif kind.name is None and (len(input) != 1 or type(input.get("input")) is not str):
        recorder.lost(block, "input", because("custom_tool_text_only"), "approximated")
        item["input"] = to_text(input)
    else:
        for key, value in input.items():
            if key in kind.keys:
                item[key] = value
            else:
                recorder.lost(block, f"input.{key}")


# -- results --------------------------------------------------------------------------------------


def read_result(item: Wire, id: str, spelling: Wire) -> ToolResultBlock:
    """A result that answers the call `id`; `spelling` has the spelling so far."""
    output = item.get("output")
    if (
        type(output) is str
        and len(item) == 3
        and item["type"] == "function_call_output"
        and "call_id" in item
        and not spelling
        and not output.startswith(ERROR_MARK)
    ):
        return ToolResultBlock(id, (TextBlock(output),) if output else ())
    return _read_result(item, id, spelling)


def _read_result(item: Wire, id: str, spelling: Wire) -> ToolResultBlock:
    word: str = item["type"]
    preserved, id_key = Preserved(spelling=spelling), tables.OUTPUTS[word].id_key
    table = RESULTS[word]
    attrs = table.read(item, preserved)
    beside = {key: item[key] for key in ITEM_KEYS if key in item and key not in table.keys}
    if "key" not in spelling:
        beside.pop(id_key, None)
    elif id_key in item:
        beside[id_key] = item[id_key]
    if beside:
        spelling["item"] = {**spelling.get("item", NOTHING), **beside}
    if word in MIXED:
        attrs = _read_mixed(item, spelling)
    elif attrs.get("is_error") and word == "local_shell_call_output":
        spelling["mark"] = True
    name = item.get("name")
    if word == MIXED[0] and "name" in item:
        if type(name) is str:
            attrs["tool_name"] = name
            spelling["named"] = True
        else:
            preserved.add("name", name)
    return ToolResultBlock(id, **attrs, raw=preserved.raw(NAME))


def _read_mixed(item: Wire, spelling: Wire) -> Attrs:
    """A string or a list of parts, whose last breakpoint is the result's. `$form.list` and
    `$form.output` record a text that was a list, and absent output, which no block can express."""
    value = item.get("output")
    if value is None:
        spelling["output"] = "null" if "output" in item else "absent"
        return {}
    if type(value) is not list:
        if type(value) is not str:
            raise ShapeError(".output", "a string or a list", value)
        text, failed = unmarked(value)
        spelling |= {"mark": True} if failed else {}
        return {"content": (TextBlock(text),) if text else (), "is_error": failed}
    blocks: list[Any] = read_parts(value, False, ".output")
    cache, failed = None, False
    if blocks and (cache := getattr(blocks[-1], "cache", None)) is not None:
        blocks[-1] = blocks[-1].replace(cache=None)
    if blocks and type(blocks[0]) is TextBlock:
        text, failed = unmarked(blocks[0].text)
        if failed:
            spelling["mark"] = True
            blocks[0:1] = [blocks[0].replace(text=text)] if text else []
    content = tuple(blocks)
    if cache is None and is_string(content):
        spelling["list"] = True
    return {"content": content, "is_error": failed, "cache": cache}


def write_result(
    block: ToolResultBlock, word: str, id: str, name: str | None, recorder: LossRecorder
) -> Wire:
    """`word` is the type of the item, `id` its reference to the call, `name` the name of the tool,
    if the call is available to name it."""
    content: tuple[Any, ...] = block.content
    if (
        block.raw is None
        and word == "function_call_output"
        and (block.tool_name is None or block.tool_name == name)
        and not block.is_error
        and block.cache is None
        and is_string(content)
        and not (content and content[0].text.startswith(ERROR_MARK))
    ):
        return {"type": word, "call_id": id, "output": content[0].text if content else ""}
    return _write_result(block, word, id, name, recorder)


def _write_result(
    block: ToolResultBlock, word: str, id: str, name: str | None, recorder: LossRecorder
) -> Wire:
    spelling, tool = own_spelling(block.raw), block.tool_name
    item: Wire = {"type": word}
    if spelling.get("key", "") is not None:
        item[tables.OUTPUTS[word].id_key] = id
    if word == MIXED[0]:
        if tool is not None and (tool != name or "named" in spelling):
            item["name"] = tool
    elif tool is not None and tool != name:
        recorder.lost(block, "tool_name")
    RESULTS[word].write(block, item, own(block.raw), recorder)
    if word in MIXED:
        _write_mixed(item, block, spelling, recorder)
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    return put_item_back(item, block.raw)


def _write_mixed(
    item: Wire, block: ToolResultBlock, spelling: Wire, recorder: LossRecorder
) -> None:
    content: tuple[Any, ...] = block.content
    if block.is_error:
        report_error_mark(block, recorder)
    elif content and type(content[0]) is TextBlock and content[0].text.startswith(ERROR_MARK):
        reason = because("result_looks_failed")
        recorder.lost(block, "is_error", reason, kind="approximated")
    if block.cache is None and is_string(content) and "list" not in spelling:
        text = (ERROR_MARK if block.is_error else "") + (content[0].text if content else "")
        if text or "output" not in spelling:
            item["output"] = text
        elif spelling["output"] == "null":
            item["output"] = None
        return
    parts = _write_parts(block, recorder)
    item["output"] = parts if parts or not content else placeholder(block, recorder)


def _write_parts(block: ToolResultBlock, recorder: LossRecorder) -> list[Wire]:
    parts: list[Wire] = []
    last = None
    for each in block.content:
        part = write_part(each, recorder)
        if part is not None:
            parts.append(part)
            last = each
    carries = last is not None and type(last) is not UnknownBlock
    if carries and parts[-1].pop(BREAKPOINT, None) is not None:
        recorder.lost(last, "cache", because("cache_not_here"))
    if block.is_error:
        if parts and parts[0].get("type") == "input_text" and parts[0]["text"]:
            parts[0]["text"] = ERROR_MARK + parts[0]["text"]
        else:
            parts.insert(0, {"type": "input_text", "text": ERROR_MARK})
    if block.cache is not None:
        if parts and (carries or last is None):
            parts[-1][BREAKPOINT] = write_cache(block, recorder)
        else:
            recorder.lost(block, "cache", because("cache_not_here"))
    return parts
