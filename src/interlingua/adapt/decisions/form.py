"""The shared parts of all forms of decisions: names, input, raw data, and questions and answers: a
list for OpenAI, named entries for all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.decisions import (
    Choice,
    DecisionAnswer,
    DecisionRequest,
    Likelihood,
    Question,
    QuestionOption,
    answer_of,
    likelihoods,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

Wire = dict[str, Any]
MOST_QUESTIONS = 1000
MOST_OPTIONS = 255
_encode = msgspec.json.Encoder(order="deterministic").encode


class Form(NamedTuple):
    """The decision API of one vendor, as data."""

    name: str
    predicate: str
    """The wire's name for a predicate."""
    probability: str
    """The key of the probability in the answer to a predicate."""
    criteria: tuple[str, str] | None
    """The key of the descriptions of true and false; None if the dialect has no such key."""
    keyed: bool
    """Questions and answers have names, and are members of an object; else they are lists."""
    read_input: Callable[[Wire], tuple[Message, ...]]
    write_input: Callable[[DecisionRequest, Report], Wire]
    own: frozenset[str]
    """Members of a request that its reader reads."""
    fields: Mapping[str, str]
    """`user` and `cache_key`, as it calls them."""
    counts: tuple[tuple[str, ...], tuple[str, ...]]
    """The keys of the input and output tokens in an answer."""
    confident: frozenset[str]
    """Kinds whose answers include a confidence."""
    refuses: bool = False
    """Whether it can refuse a single question."""
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
    """Texts that distinguish the options for dialects with texts only: booleans get other texts
    where a text has the same name, and so do options with equal names."""
    values: tuple[Choice, ...] = question.values
    texts = {value for value in values if isinstance(value, str)}
    made: list[str] = []
    for value in values:
        word = value if isinstance(value, str) else str(value).lower()
        word = f"boolean {word}" if value is not word and word in texts else word
        while word in made or (word != value and word in texts):
            word += "_"
        made.append(word)
    return made


def no_question(question: Question) -> str:
    """Why a question of a kind that only its own form has cannot be sent here."""
    form, wire = next(iter((question.raw or {}).items()), ("its form", None))
    kind = wire.get("type") if isinstance(wire, dict) else None
    return f"expected a predicate, a choice or a score; only {form} may know the type {kind!r}"


def described(question: Question) -> str:
    """The instructions, with the meaning of true and false."""
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
    """The conversation as one text with its media: unchanged if it is one text of a user, else
    with the role before each message."""
    messages = request.messages
    plain = len(messages) == 1 and messages[0].role is Role.USER
    if not plain:
        report.add("approximated", "$.messages", because("decision_transcript"))
    blocks: list[TextBlock | Media] = []
    texts: list[str] = []
    for number, message in enumerate(messages):
        lines = []
        for place, block in enumerate(message.content):
            path = f"$.messages[{number}].content[{place}]"
            for at, part in _media_in(block, path):
                if media:
                    blocks.append(part)
                else:
                    report.add("dropped", at, because("decision_block"))
            line = _line(block)
            if line is not None:
                lines.append(line)
            elif not isinstance(block, MEDIA):
                report.add("dropped", path, because("decision_block"))
        text = "\n".join(lines)
        texts.append(text if plain else f"[{message.role.value}]\n{text}")
    whole = "\n\n".join(texts)
    if not whole and not blocks:
        raise WriteError(f"{form} decisions request", "$.messages", "there is nothing to decide on")
    return [*([TextBlock(whole)] if whole else []), *blocks]


def _media_in(block: Block, path: str) -> Iterator[tuple[str, Media]]:
    """The block, or the media in a result, with their places."""
    if isinstance(block, MEDIA):
        yield path, block
    elif isinstance(block, ToolResultBlock):
        for number, part in enumerate(block.content):
            if isinstance(part, MEDIA):
                yield f"{path}.content[{number}]", part


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


_PARTS = ("openai", "gemini")
"""Forms whose instructions may have several parts."""
_NULLS = ("openrouter", "systemone")
"""Forms in which an option without a description is null."""

_KINDS = {"choice": "choice", "score": "score"}


# -- questions ------------------------------------------------------------------------------------


def read_question(form: Form, wire: Any, name: str | None, at: str) -> Question:
    if not isinstance(wire, dict) or not isinstance(wire.get("type"), str):
        raise unreadable(form, at, "a question with a type", wire)
    kind = "predicate" if wire["type"] == form.predicate else _KINDS.get(wire["type"], "other")
    instructions, media = _read_instructions(form, wire.get("instructions"), f"{at}.instructions")
    name = name if form.keyed else wire.get("name")
    options = () if kind == "other" else _read_options(form, kind, wire, at)
    return Question(kind, instructions, options, name, media, {form.name: wire})  # type: ignore[arg-type]  # a kind by the table above


def _read_instructions(form: Form, value: Any, at: str) -> tuple[str, tuple[Block, ...]]:
    parts = value if isinstance(value, list) and form.name in _PARTS else [value]
    texts: list[str] = []
    media: list[Block] = []
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, dict) and isinstance(part.get("image_url"), str):
            media.append(_image(part["image_url"]))
        elif isinstance(part, dict) and part.get("type") == "input_json":
            texts.append(text_of(part.get("data")))
        elif part is None:
            raise unreadable(form, at, "instructions", part)
        else:
            texts.append(text_of(part))
    return "\n".join(texts), tuple(media)


def _image(url: str) -> ImageBlock:
    head, _, data = url.partition(";base64,")
    if head.startswith("data:") and data:
        return ImageBlock(Source("base64", data), head[5:])
    return ImageBlock(Source("url", url))


def _read_options(form: Form, kind: str, wire: Wire, at: str) -> tuple[QuestionOption, ...]:
    if kind == "predicate":
        criteria = wire.get("criteria")
        if form.criteria is None or not isinstance(criteria, dict):
            return ()
        return tuple(
            QuestionOption(value, text_of(criteria[key]))
            for value, key in zip((True, False), form.criteria, strict=True)
            if criteria.get(key) is not None
        )
    key = ("choices" if kind == "choice" else "levels") if not form.keyed else "criteria"
    listed = wire.get(key)
    options: list[QuestionOption] = []
    if form.keyed and kind == "choice" and isinstance(listed, dict):
        options = [_option(name, about) for name, about in listed.items()]
    elif form.keyed and kind == "score" and isinstance(listed, list):
        options = [QuestionOption(text_of(level)) for level in listed]
    elif not form.keyed and isinstance(listed, list):
        word = "value" if kind == "choice" else "label"
        for number, each in enumerate(listed):
            value = each.get(word) if isinstance(each, dict) else None
            if not isinstance(value, str | bool) or (kind == "score" and value in (True, False)):
                raise unreadable(form, f"{at}.{key}[{number}].{word}", "a text", value)
            options.append(_option(value, each.get("description")))
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise unreadable(form, f"{at}.{key}", f"2 to {MOST_OPTIONS} options", listed)
    return tuple(options)


def _option(value: str | bool, description: Any) -> QuestionOption:
    return QuestionOption(value, None if description is None else text_of(description))


def write_question(form: Form, question: Question, at: str, report: Report) -> Wire:
    own = (question.raw or {}).get(form.name)
    if isinstance(own, dict) and read_question(form, own, question.name, at) == question:
        return dict(own)
    if question.kind == "other":
        raise WriteError(what(form), at, no_question(question))
    if question.media and form.name != "openai":
        report.add("dropped", f"{at}.media", because("decision_media"))
    wire: Wire = {"type": form.predicate if question.kind == "predicate" else question.kind}
    wire["instructions"] = _write_instructions(form, question, at, report)
    if not form.keyed and question.name is not None:
        wire["name"] = question.name
    return {**wire, **_write_options(form, question, at, report)}


def _write_instructions(form: Form, question: Question, at: str, report: Report) -> Any:
    text = question.instructions
    if question.kind == "predicate" and form.criteria is None and question.options:
        text = described(question)
        report.add("approximated", f"{at}.options", because("decision_criteria"))
    if form.name != "openai" or not question.media:
        return text
    images = [
        {"type": "input_image", "image_url": _url(block)}
        for block in question.media
        if isinstance(block, ImageBlock)
    ]
    return [{"type": "input_text", "text": text}, *images]


def _url(image: ImageBlock) -> str:
    source = image.source
    return (
        source.data or ""
        if source.kind == "url"
        else f"data:{image.media_type};base64,{source.data}"
    )


def _write_options(form: Form, question: Question, at: str, report: Report) -> Wire:
    options = question.options
    if question.kind == "predicate":
        if form.criteria is None or not options:
            return {}
        known = {option.value: option.description for option in options}
        words = zip((True, False), form.criteria, strict=True)
        return {"criteria": {key: known[value] for value, key in words if known.get(value)}}
    if not form.keyed:
        word, key = ("value", "choices") if question.kind == "choice" else ("label", "levels")
        return {
            key: [
                {
                    word: each.value,
                    **({"description": each.description} if each.description else {}),
                }
                for each in options
            ]
        }
    if question.kind == "score":
        if any(each.description for each in options):
            report.add("approximated", f"{at}.options", because("decision_levels"))
        return {"criteria": [level_text(each) for each in options]}
    if any(isinstance(each.value, bool) for each in options):
        report.add("approximated", f"{at}.options", because("decision_booleans"))
    ids = option_ids(question)
    empty = None if form.name in _NULLS else ""
    pairs = zip(ids, options, strict=True)
    return {"criteria": {id: each.description or empty for id, each in pairs}}


def level_text(level: QuestionOption) -> str:
    """A level in one text."""
    return f"{level.value}: {level.description}" if level.description else str(level.value)


# -- answers --------------------------------------------------------------------------------------


def read_answer(form: Form, wire: Any, question: Question) -> DecisionAnswer:
    """`None`, and answers that cannot be read, are refusals."""
    kind = wire.get("type") if isinstance(wire, dict) else None
    raw = {form.name: wire} if isinstance(wire, dict) else None
    if kind == form.predicate and question.kind == "predicate":
        number = _number(wire.get(form.probability))
        if number is not None:
            p = min(1.0, max(0.0, number))
            return answer_of(question, (p, 1 - p), _number(wire.get("confidence"))).replace(raw=raw)
    elif kind in _KINDS and kind == question.kind:
        return _read_distribution(form, wire, question).replace(raw=raw)
    elif kind not in (None, "refusal"):
        return DecisionAnswer("other", question.name, raw=raw)
    return DecisionAnswer("refusal", question.name, raw=raw)


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and value == value else None


def _read_distribution(form: Form, wire: Wire, question: Question) -> DecisionAnswer:
    confidence, listed = _number(wire.get("confidence")), wire.get("probabilities")
    ids: list[Any] = option_ids(question)
    if not form.keyed:
        ids = list(question.values)
    elif question.kind == "score":
        ids = [str(level) for level in range(len(ids))]
    numbers: list[float] = []
    if form.keyed and isinstance(listed, dict):
        numbers = [_number(listed.get(id)) or 0.0 for id in ids]
    elif isinstance(listed, list):
        word = "value" if question.kind == "choice" else "label"
        known = [
            (each.get(word), _number(each.get("probability")) or 0.0)
            for each in listed
            if isinstance(each, dict)
        ]
        in_order = [value for value, _ in known] == ids  # some may be called the same
        numbers = [
            known[place][1] if in_order else next((n for v, n in known if _is(v, id)), 0.0)
            for place, id in enumerate(ids)
        ]
    value: Any = _number(wire.get("score")) if question.kind == "score" else wire.get("choice")
    if question.kind == "choice":
        pairs = zip(ids, question.values, strict=True)
        value = next((option for id, option in pairs if _is(value, id)), None)
    known_parts: tuple[Likelihood, ...] = ()
    if sum(numbers) > 0:
        known_parts = likelihoods(question.values, numbers)
    if value is None and known_parts:
        value = answer_of(question, numbers).value
    return DecisionAnswer(question.kind, question.name, value, known_parts, confidence)


def _is(one: Any, other: Any) -> bool:
    """Equal, and of one type: a text and a boolean differ."""
    return type(one) is type(other) and bool(one == other)


def write_answer(form: Form, answer: DecisionAnswer, question: Question) -> Wire | None:
    """None where the form leaves a refused question out."""
    own = (answer.raw or {}).get(form.name)
    if isinstance(own, dict) and read_answer(form, own, question) == answer:
        return dict(own)
    named = {} if form.keyed else {"name": question.name}
    if answer.kind in ("refusal", "other"):
        return {"type": "refusal", **named} if form.refuses else None
    sure = answer.confidence
    confidence = {"confidence": sure} if sure is not None and answer.kind in form.confident else {}
    if answer.kind == "predicate":
        return {
            "type": form.predicate,
            **named,
            form.probability: answer.probability,
            **confidence,
        }
    numbers = [each.probability for each in answer.probabilities]
    wire: Wire = {"type": answer.kind, **named, **confidence}
    if not form.keyed:
        return {**wire, **_write_listed(answer, numbers, question)}
    ids = option_ids(question)
    if answer.kind == "choice":
        chosen = next(
            (i for i, v in zip(ids, question.values, strict=True) if _is(v, answer.value)), ""
        )
        parts = dict(zip(ids, numbers, strict=False))
        return {**wire, "choice": chosen, **({"probabilities": parts} if parts else {})}
    levels = {str(level): number for level, number in enumerate(numbers)}
    legend = {str(n): level_text(each) for n, each in enumerate(question.options)}
    wire |= {"legend": legend} if form.legend else {}
    return {**wire, "score": answer.value, **({"probabilities": levels} if levels else {})}


def _write_listed(answer: DecisionAnswer, numbers: list[float], question: Question) -> Wire:
    pairs = list(zip(question.values, numbers, strict=False))
    if answer.kind == "choice":
        listed = [{"value": value, "probability": number} for value, number in pairs]
        return {"choice": answer.value, "probabilities": listed}
    levels = [
        {"label": value, "value": level, "probability": number}
        for level, (value, number) in enumerate(pairs)
    ]
    return {"score": answer.value, "probabilities": levels}
