"""Reading assistant messages, which requests and responses share."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.cache import MARKS, read_message_cache
from interlingua.dialects.openai_chat.calls import CallReader, read_google
from interlingua.dialects.openai_chat.citations import read_annotations
from interlingua.dialects.openai_chat.content import read_content
from interlingua.dialects.openai_chat.hosted import EXECUTED, read_hosted
from interlingua.dialects.openai_chat.parts import read_part
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.openai_chat.thinking import KEYS as THINKING
from interlingua.dialects.openai_chat.thinking import read_thinking, usual_places
from interlingua.dialects.shape import each
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ToolUseBlock,
)
from interlingua.model.metadata import Diagnostic

KNOWN = THINKING | {
    "role",
    "content",
    "refusal",
    "annotations",
    "audio",
    "function_call",
    "tool_calls",
    "name",
    "images",
    "executed_tools",
    *MARKS,
}
AUDIO_KEYS = ("id", "data", "expires_at", "transcript")
_IMAGES = frozenset({"image_url"})


_ABSENT = object()


def filler_of(wire: Wire, t: Tables) -> str | None:
    """Content that is not there is null; in a request only beside something else."""
    if t.answer or any(wire.get(key) for key in _WORDLESS):
        return None
    return ""


_WORDLESS = ("tool_calls", "function_call", "audio")


class Said(NamedTuple):
    """An assistant's message, but for who says it."""

    content: tuple[Block, ...]
    name: str | None
    protocol: str
    note: Note
    diagnostics: tuple[Diagnostic, ...]


def read_assistant(wire: Wire, t: Tables, origin: int | str | None) -> Said:
    """`origin` is the message's position or its response's id; it names calls without an id."""
    note, protocol = Note(), t.name
    taken = {"role"} if wire.get("role") == "assistant" else set()
    blocks: list[Block] = []
    if not THINKING.isdisjoint(wire):
        blocks, places, protocol = read_thinking(wire, t, origin)
        taken.update(places)
        own, calls_tools = protocol == t.name, bool(wire.get("tool_calls"))
        if places and places != usual_places(blocks, t, calls_tools, own):
            note.form["thinking"] = places
    if wire.get("executed_tools"):
        blocks.extend(_read_executed(wire, t, origin))
        taken.add("executed_tools")
    content = wire.get("content", _ABSENT)
    if content is not _ABSENT and (content or content == filler_of(wire, t)):
        taken.add("content")
        if type(content) is str:
            blocks.extend([TextBlock(content)] if content else [])
        elif content is not None:
            blocks.extend(read_content(content, t.parts["assistant"], t, note))
    calls = CallReader(t, origin)
    if len(wire) > len(taken):
        _read_beside(wire, blocks, t, note, taken, calls)
        protocol = "gemini" if calls.signed or "signature" in note.form else protocol
        read_message_cache(wire, blocks, t, taken)
        if len(wire) > len(taken):
            note.leave(wire, taken, KNOWN)
    if "content" not in wire or "role" not in wire:
        note.absent(wire, ("role", "content"))
    name = wire.get("name") or None
    return Said(tuple(blocks), name, protocol, note, calls.diagnostics)


def _read_beside(
    wire: Wire, blocks: list[Block], t: Tables, note: Note, taken: set[str], calls: CallReader
) -> None:
    """What stands beside the content, in the order of the blocks it gives."""
    if wire.get("refusal"):
        blocks.append(RefusalBlock(want(wire["refusal"], str, ".refusal")))
        taken.add("refusal")
    if wire.get("images"):
        _read_images(wire, blocks, t, taken)
    if wire.get("audio"):
        _read_audio(wire, blocks, t, note, taken)
    if wire.get("tool_calls"):
        blocks.extend(each(wire["tool_calls"], ".tool_calls", calls.read))
        taken.add("tool_calls")
    if len(wire) == len(taken):
        return
    if wire.get("function_call"):
        _read_legacy(wire, blocks, note, taken, calls)
    if wire.get("name"):
        want(wire["name"], str, ".name")
        taken.add("name")
    if wire.get("annotations") and read_annotations(wire["annotations"], blocks, t):
        taken.add("annotations")
        if not t.answer:
            note.form["annotations"] = True
    if "extra_content" in wire:
        _read_signature(wire, blocks, note, taken)


def _read_executed(wire: Wire, t: Tables, origin: int | str | None) -> list[Block]:
    blocks: list[Block] = []

    def read(item: Any) -> None:
        blocks.extend(read_hosted(item, len(blocks) // 2, EXECUTED, t, origin))

    each(wire["executed_tools"], ".executed_tools", read)
    return blocks


def _read_images(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """Pictures that a model made."""
    images = wire["images"]
    if type(images) is not list or not all(type(image) is dict for image in images):
        return
    for block in each(images, ".images", lambda image: read_part(image, _IMAGES, t)):
        if not (t.images_out and type(block) is ImageBlock):
            block = block.replace(raw=_with_form(block.raw, t.name, "in", "images"))
        blocks.append(block)
    taken.add("images")


def _with_form(raw: Raw | None, name: str, key: str, value: Any) -> Raw:
    mine = (raw or {}).get(name, {})
    return {name: {**mine, "$form": {**mine.get("$form", {}), key: value}}}


def _read_audio(wire: Wire, blocks: list[Block], t: Tables, note: Note, taken: set[str]) -> None:
    """Speech: whole in a response, by its id when it is sent back."""
    audio = want(wire["audio"], dict, ".audio")
    taken.add("audio")
    id, data, transcript = (
        maybe(audio, key, str, ".audio") for key in ("id", "data", "transcript")
    )
    if not (id or data or transcript):
        note.form.setdefault("empty", {})["audio"] = audio
        return
    inner, used = Note(), {"transcript"} if transcript else set()
    if data or not id:
        source = Source("base64", data or "")
        used.add("data")
    else:
        source = Source("file_id", id, provider=t.provider)
        used.add("id")
    inner.leave(audio, used & audio.keys(), AUDIO_KEYS)
    if t.answer:
        inner.absent(audio, AUDIO_KEYS)
    elif data or transcript:
        inner.form["whole"] = True
    blocks.append(AudioBlock(source, transcript=transcript or None, raw=inner.raw(t.name)))


def _read_legacy(
    wire: Wire, blocks: list[Block], note: Note, taken: set[str], calls: CallReader
) -> None:
    taken.add("function_call")
    call = wire["function_call"]
    if call == {"name": "", "arguments": ""}:  # how some servers spell that there is none
        note.form.setdefault("empty", {})["function_call"] = call
    else:
        blocks.append(calls.read_legacy(call))


def _read_signature(wire: Wire, blocks: list[Block], note: Note, taken: set[str]) -> None:
    """Google's signature beside the content belongs to the first text or call."""
    for index, block in enumerate(blocks):
        if isinstance(block, (TextBlock, ToolUseBlock)) and block.signature is None:
            signature = read_google(wire, note)
            if signature is None:
                return
            taken.add("extra_content")
            if wire.get("thought_signature") == signature:
                taken.add("thought_signature")
                note.form["signature"] = "twice"
            blocks[index] = block.replace(signature=signature)
            return
