"""The probabilities of tokens: here each text has its own, elsewhere an answer has them all."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.openai_responses.spelling import form, own
from interlingua.dialects.openai_responses.tables import NAME
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.message import Message

KEY = "logprobs"


def take_logprobs(message: Message) -> tuple[Message, tuple[JsonObject, ...]]:
    """The message without the tokens of its texts, which know how many they had; and all tokens."""
    tokens = [token for block in message.content for token in _tokens(block)]
    if not tokens:
        return message, ()
    content = tuple([without_tokens(block) for block in message.content])
    return message.replace(content=content), tuple(tokens)


def without_tokens(block: Block) -> Block:
    """The block as an answer has it, which has the tokens."""
    found = _tokens(block)
    if not found:
        return block
    kept = {key: item for key, item in own(block.raw).items() if key != KEY}
    return _spelled(block, {**kept, "$form": {**form(block.raw), KEY: len(found)}})


def _tokens(block: Block) -> tuple[JsonObject, ...]:
    return read_tokens(own(block.raw).get(KEY)) if type(block) is TextBlock and block.raw else ()


def put_logprobs(message: Message, scribe: Scribe) -> Message:
    """The message with its tokens, each text with as many as it had; where none knows of any, the
    first has them all."""
    tokens = write_tokens(message.metadata, NAME)
    texts = [block for block in message.content if type(block) is TextBlock]
    counts = {id(block): _count(block) for block in texts}
    if not texts:
        scribe.lost(
            message, "metadata.logprobs", "there is no text to tell them of", severity="info"
        )
        return message
    last = next((each for each in reversed(texts) if counts[id(each)]), texts[0])
    content: list[Block] = []
    for block in message.content:
        count = len(tokens) if block is last else counts.get(id(block), 0)
        said, tokens = tokens[:count], tokens[count:]
        if said:
            block = _told(block, said, scribe)
        content.append(block)
    new = message.replace(content=tuple(content))
    scribe.also_known(new, message)
    return new


def _count(block: TextBlock) -> int:
    count = form(block.raw).get(KEY)
    return count if type(count) is int else 0


def _told(block: Block, tokens: list[Wire], scribe: Scribe) -> Block:
    new = _spelled(block, {**own(block.raw), KEY: tokens})
    scribe.also_known(new, block)
    return new


def _spelled(block: Any, mine: Wire) -> Block:
    changed: Block = block.replace(raw={**(block.raw or {}), NAME: mine})
    return changed
