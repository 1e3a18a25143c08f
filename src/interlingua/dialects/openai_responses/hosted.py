"""Results of the vendor's tools, as tables: as items of their own (text, a screenshot, what a shell
wrote, tools that were found), and inside the item of their call, which is read as two blocks and
written as one item; and generated images, which are read as what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.kernel import fields
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Reading, Table, plain
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, unmarked
from interlingua.dialects.openai import text_of
from interlingua.dialects.openai_responses.tables import IMAGE_FORMATS, ITEM_KEYS, NAME, OUTPUTS
from interlingua.dialects.openai_responses.text import (
    PICTURE,
    item_raw,
    own,
    own_spelling,
    put_item_back,
    read_image,
    restore_own,
    write_image,
    written,
)
from interlingua.model.blocks import (
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
)

_STDOUT = Table(TextBlock, plain("stdout", "text", str), blank=True)
_PASSAGE = Table(TextBlock, plain("text", "text", str), blank=True)
_LOGS = Table(TextBlock, plain("logs", "text", str), fields.constant("type", "logs"), blank=True)
_PICTURE = Table(ImageBlock, fields.constant("type", "image"), silent=PICTURE, blank=True)
_NO_SHOT = {"type": "computer_screenshot"}
_SHOT = Table(ImageBlock, fields.constant("type", _NO_SHOT["type"]), silent=PICTURE, blank=True)

# -- marks of failure -----------------------------------------------------------------------------


def report_error_mark(block: ToolResultBlock, recorder: LossRecorder) -> None:
    """It is no loss where the wire itself had the mark."""
    if "mark" not in own_spelling(block.raw):
        reason = "the wire has no flag for it; the text says it"
        recorder.lost(block, "is_error", reason, kind="downgraded", severity="info")


# -- what results consist of ----------------------------------------------------------------------


def _texts_of(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if text else ()


def _text(key: str, demanded: bool = True) -> Field:
    """One text; an empty one says nothing where there need be none."""

    def read(value: Any) -> Reading:
        if type(value) is not str:
            return NOT_OURS
        return {"content": _texts_of(value)} if value or demanded else {}

    return Field(key, ("content",), read, text_of, fill=(lambda _: "") if demanded else None)


def _texts(key: str, inner: str, table: Table, more: Callable[[Any], Wire] = lambda _: {}) -> Field:
    """A list of objects with a text each; `more` is what one of another origin has beside it."""

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
    """Of a shell's chunk."""
    return {"stderr": "", "outcome": {"type": "exit", "exit_code": 1 if block.is_error else 0}}


def _drop_content(block: Any, recorder: LossRecorder) -> None:
    for part in block.content:
        recorder.dropped(part)


def _failed(key: str, no: object, yes: object) -> Field:
    """Whether the call failed, in two words."""

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
            *(_text("output", demanded=False), _failed("status", "completed", "failed")),
        ],
        "mcp_approval_response": [
            *(_text("reason", demanded=False), _failed("approve", True, False)),
        ],
        "tool_search_output": [
            fields.content("tools", lambda _: []),
            Field("", ("content",), lambda _: {}, _drop_content),
        ],
        "program_output": [_text("result")],
    }.items()
}
"""By the type of the item."""

# -- inside the item of their call ----------------------------------------------------------------


def _read_outputs(value: Any) -> Reading:
    """What code wrote and drew."""
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
    """The result that a call's item holds, if it holds one: it is yet to be given the id of its
    call. And the keys of the item that it was in."""
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
        recorder.dropped(block, "a generated image is sent with its data only")
        return None
    item: Wire = {"type": "image_generation_call", "result": block.source.data or ""}
    word = IMAGE_FORMATS.write(block.media_type) if block.media_type is not None else None
    if word is not None:
        item["output_format"] = word
    recorder.unwritten(block, frozenset({"source"} if word is None else {"source", "media_type"}))
    return put_item_back(item, block.raw)
