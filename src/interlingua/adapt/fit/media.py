"""Pictures, sound, films and documents, as far as a model takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from interlingua.adapt.fit.fitter import Fitter
from interlingua.dialects.kernel.words import document_as_text
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.profiles.fields import MediaRules
from interlingua.profiles.profile import Profile

MEDIA: frozenset[type] = frozenset({ImageBlock, AudioBlock, VideoBlock, DocumentBlock})
_PDF = "application/pdf"
_WORDS = {
    "image": "image",
    "image_by_s3": "image at an S3 URI",
    "audio": "audio",
    "video": "video",
    "pdf": "PDF",
    "document": "document",
}
BY_URL = "media.by_url"
"""The field of a profile about media at an address of http or https."""
_HOW = "; to fetch it, set fetch_media=True in the client or fetch_media = true in the gateway"


def fit_media(fitter: Fitter) -> None:
    rules, results = fitter.profile.media, fitter.profile.tools.result_media
    refused = _refused(rules)
    by_url = rules.by_url not in _NOT_BY_URL
    if refused or not by_url:
        rewrite_blocks(fitter, lambda blocks: _placeheld(fitter, blocks, refused))
    if rules.image_detail is False:
        rewrite_blocks(fitter, lambda blocks: [_undetailed(fitter, each) for each in blocks])
    if results is not None:
        _behind_results(fitter, frozenset(results))


def concerns_media(profile: Profile) -> bool:
    """Whether any rule is about which media are accepted, and where."""
    rules = profile.media
    refused = rules.by_url in _NOT_BY_URL or bool(_refused(rules))
    return refused or profile.tools.result_media is not None or rules.image_detail is False


def wants_data(profile: Profile, block: Block) -> bool:
    """Whether media is given by URL, and the model accepts its kind only as data."""
    if profile.media.by_url not in _NOT_BY_URL or type(block) not in MEDIA:
        return False
    return _is_at_url(block) and kind_of(block) not in _refused(profile.media)


_NOT_BY_URL = ("no", "fetch")


def _is_at_url(block: Any) -> bool:
    position = block.source.data if block.source.kind == "url" else None
    return position is not None and position[:8].lower().startswith(("http://", "https://"))


def left_out(words: str, why: str) -> TextBlock:
    """A placeholder for removed media."""
    return TextBlock(f"[{words} left out: {why}]")


def words_for(block: Block) -> str:
    return _WORDS[kind_of(block)]


def _refused(rules: MediaRules) -> dict[str, str]:
    """The kinds that the model refuses, and the profile's field with the rule."""
    refused = {kind: f"media.{kind}" for kind in _WORDS if getattr(rules, kind) is False}
    if "image" in refused:
        refused["image_by_s3"] = "media.image"
    return refused


def kind_of(block: Block) -> str:
    """The kind of a media block; PDFs and images at an S3 URI are kinds of their own."""
    if type(block) is DocumentBlock:
        return "pdf" if block.media_type == _PDF else "document"
    if type(block) is ImageBlock and _is_at_s3(block):
        return "image_by_s3"
    return block.type


def _is_at_s3(block: ImageBlock) -> bool:
    position = block.source.data if block.source.kind == "url" else None
    return isinstance(position, str) and position.startswith("s3:")


# -- left out -------------------------------------------------------------------------------------


def rewrite_blocks(fitter: Fitter, step: Callable[[Sequence[Any]], list[Any]]) -> None:
    """Rewrite the blocks of each message, and then those inside its results."""
    rewritten = [_rewritten(fitter, message, step) for message in fitter.messages]
    if _differ(rewritten, fitter.messages):
        fitter.messages = tuple(rewritten)


def _rewritten(
    fitter: Fitter, message: Message, step: Callable[[Sequence[Any]], list[Any]]
) -> Message:
    rewritten: list[Block] = []
    for block in step(message.content):
        if type(block) is ToolResultBlock:
            inner = step(block.content)
            if _differ(inner, block.content):
                block = fitter.stands_for(block.replace(content=tuple(inner)), block)
        rewritten.append(block)
    if not _differ(rewritten, message.content):
        return message
    return fitter.stands_for(message.replace(content=tuple(rewritten)), message)  # type: ignore[no-any-return]  # a message


def _differ(new: Sequence[Any], old: Sequence[Any]) -> bool:
    return len(new) != len(old) or any(a is not b for a, b in zip(new, old, strict=True))


def _placeheld(fitter: Fitter, blocks: Sequence[Any], refused: dict[str, str]) -> list[Any]:
    """Replaces each run of the same kind by one placeholder, so that text about it still refers to
    something; plain-text documents are sent as text."""
    out: list[Any] = []
    before: str | None = None
    for block in blocks:
        kind = kind_of(block) if type(block) in MEDIA else ""
        if wants_data(fitter.profile, block):
            fitter.drop_block(block, BY_URL, because("media_by_url", how=_HOW))
            out.append(left_out(_WORDS[kind], "this model takes no media by URL"))
            before = None
            continue
        if kind not in refused:
            out.append(block)
            before = None
            continue
        text = _text_of(block)
        if text is not None:
            reason = because("document_text_for_model")
            fitter.lost_at(block, None, refused[kind], reason, "downgraded")
            out.append(fitter.stands_for(TextBlock(text), block))
            before = None
            continue
        words = _WORDS[kind]
        fitter.drop_block(block, refused[kind], because("model_without_media", media=words))
        if kind != before:
            out.append(left_out(words, f"this model takes no {words}"))
        before = kind
    return out


def _undetailed(fitter: Fitter, block: Any) -> Any:
    """An image without its detail; `auto` is the default."""
    if type(block) is not ImageBlock or block.detail in (None, "auto"):
        return block
    fitter.lost_at(block, "detail", "media.image_detail", because("model_rejects"), "dropped")
    return fitter.stands_for(block.replace(detail=None), block)


def _text_of(block: Any) -> str | None:
    return document_as_text(block) if type(block) is DocumentBlock else None


# -- behind the results ---------------------------------------------------------------------------


def _behind_results(fitter: Fitter, allowed: frozenset[str]) -> None:
    """Media that a result cannot hold follows the batch of results, in a user's message; documents
    of text become texts of the result."""
    out: list[Message] = []
    waiting: list[Block] = []
    for before, message in pairwise((None, *fitter.messages, None)):
        if before is not None and waiting and (message is None or message.role is not Role.TOOL):
            out.append(fitter.stands_for(Message(Role.USER, tuple(waiting)), before))
            waiting = []
        if message is not None:
            out.append(_emptied(fitter, message, allowed, waiting))
    if _differ(out, fitter.messages):
        fitter.messages = tuple(out)


def _emptied(
    fitter: Fitter, message: Message, allowed: frozenset[str], waiting: list[Block]
) -> Message:
    if message.role is not Role.TOOL:
        return message
    content: list[Block] = []
    for block in message.content:
        if type(block) is ToolResultBlock:
            inner = [_moved_out(fitter, block, part, allowed, waiting) for part in block.content]
            if _differ(inner, block.content):
                block = fitter.stands_for(block.replace(content=tuple(inner)), block)
        content.append(block)
    if not _differ(content, message.content):
        return message
    return fitter.stands_for(message.replace(content=tuple(content)), message)  # type: ignore[no-any-return]  # a message


def _moved_out(
    fitter: Fitter,
    result: ToolResultBlock,
    part: Any,
    allowed: frozenset[str],
    waiting: list[Block],
) -> Any:
    kind = part.type
    if type(part) not in MEDIA or kind in allowed:
        return part
    text = _text_of(part)
    if text is not None:
        reason = because("result_document_for_model")
        fitter.lost_at(part, None, "tools.result_media", reason, "downgraded")
        return fitter.stands_for(TextBlock(text, cache=part.cache), part)
    reason = because("result_media_for_model", kind=kind)
    fitter.lost_at(part, None, "tools.result_media", reason, "moved")
    waiting.append(part)
    return TextBlock(f"[{kind} of {result.tool_use_id} follows]")
