"""What every form of decisions has: its words, how its input is written, and the way home."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from interlingua.errors import ReadError, WriteError
from interlingua.errors import found as shown
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.decisions import Choice, DecisionRequest, Question
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

Wire = dict[str, Any]
MOST_QUESTIONS = 1000
MOST_OPTIONS = 255
_encode = msgspec.json.Encoder(order="deterministic").encode


class Form(NamedTuple):
    """How one vendor's API asks for decisions."""

    name: str
    predicate: str
    """What it calls a predicate."""
    probability: str
    """Where the answer to one has its probability."""
    criteria: tuple[str, str] | None
    """What it calls the descriptions of true and false; None where it has none."""
    keyed: bool
    """Questions and answers have names, and are members of an object; else they are lists."""
    read_input: Callable[[Wire], tuple[Message, ...]]
    write_input: Callable[[DecisionRequest, Report], Wire]
    own: frozenset[str]
    """Members of a request that its reader reads."""
    fields: Mapping[str, str]
    """`user` and `cache_key`, as it calls them."""
    counts: tuple[tuple[str, ...], tuple[str, ...]]
    """Where an answer counts the tokens of its input and its output."""
    confident: frozenset[str]
    """Kinds whose answers say how confident the model is."""
    refuses: bool = False
    """Whether it has a word for one question that is refused."""
    legend: bool = False
    """Whether the answer to a score repeats its levels."""
    most: int = MOST_QUESTIONS
    """Questions that one request may have."""


def text_of(value: Any) -> str:
    """Guidance that is a text, or any JSON."""
    return value if isinstance(value, str) else _encode(value).decode()


def what(form: Form) -> str:
    return f"{form.name} decisions request"


def unreadable(form: Form, path: str, expected: str, value: Any) -> ReadError:
    return ReadError(what(form), path, expected, shown(value))


def option_ids(question: Question) -> list[str]:
    """Texts that tell the options apart where they can only be texts: booleans have other ones
    where a text is called the same."""
    values: tuple[Choice, ...] = question.values
    texts = {value for value in values if isinstance(value, str)}
    made: list[str] = []
    for value in values:
        word = value if isinstance(value, str) else str(value).lower()
        made.append(f"boolean {word}" if value is not word and word in texts else word)
    return made


def described(question: Question) -> str:
    """The instructions, with what true and false stand for."""
    lines = [
        f"{str(option.value).capitalize()}: {option.description}"
        for option in question.options
        if option.description
    ]
    return "\n".join([question.instructions, *lines])


Media = ImageBlock | AudioBlock | VideoBlock | DocumentBlock
MEDIA = (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)


def one_message(
    request: DecisionRequest, form: str, report: Report, media: bool = True
) -> list[TextBlock | Media]:
    """The conversation as one text with its media: as it is if it is one text of a user, else with
    the role before each message."""
    messages = request.messages
    plain = len(messages) == 1 and messages[0].role is Role.USER
    if not plain:
        report.add("approximated", "$.messages", because("decision_transcript"))
    blocks: list[TextBlock | Media] = []
    texts: list[str] = []
    for number, message in enumerate(messages):
        lines = []
        for place, block in enumerate(message.content):
            if isinstance(block, MEDIA) and media:
                blocks.append(block)
                continue
            line = _line(block)
            if line is None:
                path = f"$.messages[{number}].content[{place}]"
                report.add("dropped", path, because("decision_block"))
            else:
                lines.append(line)
        text = "\n".join(lines)
        texts.append(text if plain else f"[{message.role.value}]\n{text}")
    whole = "\n\n".join(texts)
    if not whole and not blocks:
        raise WriteError(f"{form} decisions request", "$.messages", "there is nothing to decide on")
    return [*([TextBlock(whole)] if whole else []), *blocks]


def _line(block: Block) -> str | None:
    match block:
        case TextBlock() | RefusalBlock():
            return block.text
        case ThinkingBlock():
            return f"[thinking] {block.text}"
        case ToolUseBlock():
            return f"[calls {block.name}] {text_of(block.input)}"
        case ToolResultBlock():
            lines = [_line(part) for part in block.content]
            return "[result] " + "\n".join(line for line in lines if line is not None)
        case _:
            return None


def inside(wire: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        wire = wire.get(name) if isinstance(wire, dict) else None
    return wire
