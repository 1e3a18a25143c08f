"""What a tool said: the `response` object of a result, to text and back.

`{"output": text}` is what the writer writes, `{"error": text}` for a failure. Other objects become
JSON text; the notes say how to make them again:

    key     the text (or the JSON in it) was the value of this one key
    json    the text is JSON: the value, or without `key` the whole object
    hollow  the object was empty
"""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.spelling import NO_JSON, json_text, json_value
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
    VideoBlock,
)

_KEYS = frozenset({"output", "result", "error"})
_TEXT = frozenset({"text"})
Other = ImageBlock | AudioBlock | VideoBlock | DocumentBlock | UnknownBlock


def read_answer(response: Wire) -> tuple[str, bool, Wire]:
    """The text, whether it tells of a failure, and the notes."""
    if not response:
        return "", False, {"hollow": True}
    failed = _is_failure(response)
    if len(response) == 1:
        [(key, value)] = response.items()
        if key in _KEYS and (key != "error" or failed):
            form: Wire = {"key": "result"} if key == "result" else {}
            if type(value) is str:
                return value, failed, form
            return json_text(value), failed, {"key": key, "json": True}
    return json_text(response), failed, {"json": True}


def _is_failure(response: Wire) -> bool:
    error = response.get("error")
    return error is not None and error is not False and (bool(error) or len(response) == 1)


def write_answer(text: str, is_error: bool, form: Wire) -> Wire:
    if form:
        if not text and not is_error and _was_hollow(form):
            return {}
        answer = _as_it_was(text, form)
        if answer is not None and read_answer(answer)[:2] == (text, is_error):
            return answer
    return {"error": text} if is_error else {"output": text}


def _was_hollow(form: Wire) -> bool:
    missing = (*form.get("absent", ()), *form.get("nil", ()))
    return "hollow" in form or "response" in missing


def _as_it_was(text: str, form: Wire) -> Wire | None:
    key = form.get("key")
    if not form.get("json"):
        return None if key is None else {key: text}
    value = json_value(text)
    if value is NO_JSON:
        return None if key is None else {key: text}
    if key is not None:
        return {key: value}
    return value if type(value) is dict else None


def split_answer(block: ToolResultBlock, scribe: Scribe) -> tuple[str, list[Other]]:
    """All text of a result as one, and what is no text."""
    content = block.content
    if len(content) == 1 and type(content[0]) is TextBlock:
        _account_text(content[0], scribe)
        return content[0].text, []
    texts: list[str] = []
    others: list[Other] = []
    for each in content:
        if type(each) is not TextBlock:
            others.append(each)  # type: ignore[arg-type]  # all that is no text
            continue
        _account_text(each, scribe)
        texts.append(each.text)
        if others:
            reason = "the text of a result comes before its media"
            scribe.lost(each, None, reason, kind="moved", severity="info")
    if len(texts) > 1:
        reason = "a result has one text: several are lines of it"
        scribe.lost(block, "content", reason, kind="approximated", severity="info")
    return "\n".join(texts), others


def _account_text(block: TextBlock, scribe: Scribe) -> None:
    if block.raw is not None or block.cache or block.citations or block.signature is not None:
        scribe.unsaid(block, _TEXT)
