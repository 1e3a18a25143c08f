"""The forms: OpenAI's `/decisions`, Gemini's, System One, OpenRouter's and Vercel's. The words are
those of the Python packages openai, google-genai 3.3.0 and openrouter, and of `@ai-sdk/gateway`
4.0.146 (read 2026-11-18)."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.adapt.decisions.form import (
    MOST_QUESTIONS,
    Form,
    Wire,
    inside,
    one_message,
    read_answer,
    read_question,
    text_of,
    unreadable,
    what,
    write_answer,
    write_question,
)
from interlingua.dialects.registry import dialect
from interlingua.errors import ReadError, WriteError
from interlingua.model.blocks import ImageBlock, Source, TextBlock
from interlingua.model.decisions import DecisionRequest, Decisions, Question
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because

_SHARED_PATH = ("openai", "gemini")
"""Forms that share a path."""

_RESPONSES, _INTERACTIONS = "openai-responses", "gemini-interactions"


# -- the input ------------------------------------------------------------------------------------


def _read_openai(wire: Wire) -> tuple[Message, ...]:
    return dialect(_RESPONSES).read_request({"input": _plain_json(wire.get("input"))}).messages


def _plain_json(value: Any) -> Any:
    """Parts that are JSON, as texts."""
    if isinstance(value, list):
        return [_plain_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "input_json":
        return {"type": "input_text", "text": text_of(value.get("data"))}
    return {
        key: _plain_json(each) if key in ("content", "output") else each
        for key, each in value.items()
    }


def _write_openai(request: DecisionRequest, report: Report) -> Wire:
    written = dialect(_RESPONSES).write_request(Request(request.messages))
    report.entries.extend(written.report.entries)
    items = written.wire.get("input") or []
    first = written.wire.get("instructions")
    return {"input": [*([{"role": "system", "content": first}] if first else []), *items]}


def _read_gemini(wire: Wire) -> tuple[Message, ...]:
    value = wire.get("input")
    listed = [value] if isinstance(value, dict) else value
    return dialect(_INTERACTIONS).read_request({"input": listed}).messages


def _write_gemini(request: DecisionRequest, report: Report) -> Wire:
    blocks = one_message(request, "gemini", report)
    written = dialect(_INTERACTIONS).write_request(Request((Message.user(tuple(blocks)),)))
    report.entries.extend(written.report.entries)
    return {"input": written.wire["input"][0]["content"]}


def _read_state(wire: Wire) -> tuple[Message, ...]:
    return (Message.user(text_of(wire["state"])),) if wire.get("state") is not None else ()


def _write_state(request: DecisionRequest, report: Report) -> Wire:
    blocks = one_message(request, "systemone", report, media=False)
    return {"state": "\n".join(b.text for b in blocks if isinstance(b, TextBlock))}


def _read_parts(wire: Wire) -> tuple[Message, ...]:
    parts = wire.get("stateParts")
    if not isinstance(parts, list):
        return _read_state(wire)
    blocks: list[TextBlock | ImageBlock] = []
    for part in parts:
        data = inside(part, ("data", "data"))
        if isinstance(part, dict) and part.get("type") == "text":
            blocks.append(TextBlock(text_of(part.get("text"))))
        elif isinstance(part, dict) and part.get("type") == "file" and isinstance(data, str):
            blocks.append(ImageBlock(Source("base64", data), str(part.get("mediaType"))))
        else:
            blocks.append(TextBlock(text_of(part)))
    return (Message.user(tuple(blocks)),) if blocks else ()


def _write_parts(request: DecisionRequest, report: Report) -> Wire:
    parts: list[Wire] = []
    for block in one_message(request, "vercel", report):
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif block.source.kind == "base64":
            data = {"type": "data", "data": block.source.data}
            parts.append({"type": "file", "mediaType": block.media_type, "data": data})
        else:
            report.add("dropped", "$.messages", because("decision_media"))
    return {"stateParts": parts}


_ALL = frozenset({"predicate", "choice", "score"})
_COUNTED = (("usage", "input_tokens"), ("usage", "output_tokens"))
OPENAI = Form(
    "openai",
    predicate="predicate",
    probability="probability",
    criteria=None,
    keyed=False,
    read_input=_read_openai,
    write_input=_write_openai,
    own=frozenset({"input"}),
    fields={"user": "safety_identifier", "cache_key": "prompt_cache_key"},
    counts=_COUNTED,
    confident=_ALL - {"predicate"},
    refuses=True,
    most=400,
)
GEMINI = Form(
    "gemini",
    predicate="noul",
    probability="noul",
    criteria=("true_description", "false_description"),
    keyed=True,
    read_input=_read_gemini,
    write_input=_write_gemini,
    own=frozenset({"input"}),
    fields={},
    counts=(("usage", "total_input_tokens"), ("usage", "total_output_tokens")),
    confident=_ALL,
    legend=True,
)
SYSTEMONE = Form(
    "systemone",
    predicate="noul",
    probability="noul",
    criteria=("true", "false"),
    keyed=True,
    read_input=_read_state,
    write_input=_write_state,
    own=frozenset({"state"}),
    fields={},
    counts=_COUNTED,
    confident=_ALL - {"predicate"},
    legend=True,
)
OPENROUTER = SYSTEMONE._replace(name="openrouter", fields={"user": "user"})
VERCEL = Form(
    "vercel",
    predicate="boolean",
    probability="probability",
    criteria=("true", "false"),
    keyed=True,
    read_input=_read_parts,
    write_input=_write_parts,
    own=frozenset({"stateParts", "state"}),
    fields={},
    counts=(("usage", "inputTokens"), ("usage", "outputTokens")),
    confident=frozenset(),
    refuses=True,
)
FORMS = {form.name: form for form in (OPENAI, GEMINI, SYSTEMONE, OPENROUTER, VERCEL)}


# -- requests -------------------------------------------------------------------------------------


def read_request(form: Form, body: bytes | Wire, model: str | None = None) -> DecisionRequest:
    """The request in a body of this form."""
    wire = body if isinstance(body, dict) else _decoded(form, body)
    questions = wire.get("questions")
    if form.keyed and isinstance(questions, dict):
        named: list[tuple[str | None, Any]] = list(questions.items())
    elif not form.keyed and isinstance(questions, list):
        named = [(None, each) for each in questions]
    else:
        raise unreadable(form, "$.questions", "questions", questions)
    if not 1 <= len(named) <= MOST_QUESTIONS:
        text = f"1 to {MOST_QUESTIONS} questions"
        raise unreadable(form, "$.questions", text, len(named))
    asked = tuple(
        read_question(form, each, name, f"$.questions{f'.{name}' if form.keyed else f'[{number}]'}")
        for number, (name, each) in enumerate(named)
    )
    messages = form.read_input(wire)
    if not messages:
        raise ReadError(what(form), "$", "something to decide on")
    own = wire.get("model")
    fields = {field: wire.get(key) for field, key in form.fields.items()}
    named_model = model or (own.removeprefix("models/") if isinstance(own, str) else None)
    return DecisionRequest(messages, asked, named_model, **fields, raw={form.name: wire})


def _decoded(form: Form, body: bytes) -> Wire:
    try:
        wire = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ReadError(what(form), expected="JSON") from None
    if not isinstance(wire, dict):
        raise ReadError(what(form), "$", "an object")
    return wire


def names_of(questions: tuple[Question, ...]) -> list[str]:
    """A name for each question, which no other one has."""
    taken: set[str] = set()
    names = []
    for number, question in enumerate(questions, 1):
        name = question.name or f"question_{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def write_request(form: Form, request: DecisionRequest, report: Report) -> Wire:
    """The body for a provider of this form; the original if nothing was changed."""
    own = (request.raw or {}).get(form.name)
    model = {} if request.model is None or form is VERCEL else {"model": request.model}
    if isinstance(own, dict) and _same(form, own, request):
        return {**own, **model}
    if len(request.questions) > form.most:
        problem = f"{len(request.questions)} questions, where {form.name} takes {form.most}"
        raise WriteError(what(form), "$.questions", problem)
    asked = [
        write_question(form, each, f"$.questions[{number}]", report)
        for number, each in enumerate(request.questions)
    ]
    names = names_of(request.questions)
    questions = dict(zip(names, asked, strict=True)) if form.keyed else asked
    wire: Wire = {**model, **form.write_input(request, report), "questions": questions}
    for field in ("user", "cache_key"):
        value, key = getattr(request, field), form.fields.get(field)
        if value is not None and key is not None:
            wire[key] = value
        elif value is not None:
            report.add("dropped", f"$.{field}", because("unsupported_note"))
    return {**_extras(form, request, report), **wire}


def _same(form: Form, own: Wire, request: DecisionRequest) -> bool:
    try:
        return read_request(form, own, request.model) == request
    except ReadError:
        return False


def _extras(form: Form, request: DecisionRequest, report: Report) -> Wire:
    """Members that only one form has: they are written back, and lost elsewhere."""
    known = {"model", "questions", *form.own, *form.fields.values()}
    out: Wire = {}
    for name, wire in (request.raw or {}).items():
        other = FORMS[name]
        read = {"model", "questions", *other.own, *other.fields.values()}
        for key, value in wire.items():
            if name == form.name and key not in known:
                out[key] = value
            elif name != form.name and key not in read and value is not None:
                report.add("dropped", f"$.{key}", because("vendor_setting", dialect=name))
    return out


# -- answers --------------------------------------------------------------------------------------


def read_decisions(form: Form, wire: Wire, request: DecisionRequest) -> Decisions:
    """The answers to a request; a question without one was refused."""
    listed: Any = wire.get("answers")
    feedback = inside(wire, ("prompt_feedback", "block_reason"))
    if listed is None and feedback is not None:
        listed = {} if form.keyed else []
    if form.keyed and isinstance(listed, dict):
        found = [listed.get(name) for name in names_of(request.questions)]
    elif not form.keyed and isinstance(listed, list):
        found = [*listed, *[None] * len(request.questions)][: len(request.questions)]
    else:
        raise ReadError(f"{form.name} decisions", "$.answers", "answers")
    pairs = zip(found, request.questions, strict=True)
    answers = tuple([read_answer(form, each, question) for each, question in pairs])
    counts = [inside(wire, path) for path in form.counts]
    usage = None
    if any(type(each) is int for each in counts):
        known = [each if type(each) is int and each >= 0 else None for each in counts]
        cached = inside(wire, ("usage", "input_tokens_details", "cached_tokens"))
        cached = cached if type(cached) is int and 0 <= cached <= (known[0] or 0) else None
        fresh = None if known[0] is None else known[0] - (cached or 0)
        usage = Usage(fresh, known[1], cached)
    model, id = wire.get("model"), wire.get("id")
    return Decisions(
        answers,
        model if isinstance(model, str) else None,
        usage,
        id if isinstance(id, str) else None,
        {form.name: wire},
    )


def write_decisions(
    form: Form, decisions: Decisions, request: DecisionRequest, report: Report | None = None
) -> Wire:
    """The answers as a client of this form reads them."""
    own = (decisions.raw or {}).get(form.name)
    if isinstance(own, dict) and _same_answers(form, own, decisions, request):
        return {**own, **({"model": decisions.model} if "model" in own else {})}
    pairs = list(zip(decisions.answers, request.questions, strict=True))
    written = [write_answer(form, answer, question) for answer, question in pairs]
    for number, (answer, _) in enumerate(pairs if report is not None and not form.refuses else ()):
        if answer.kind == "refusal":
            assert report is not None
            report.add("dropped", f"$.questions[{number}]", because("decision_refused"))
    wire: Wire = {}
    if form.keyed:
        names = names_of(request.questions)
        wire["answers"] = {n: e for n, e in zip(names, written, strict=True) if e is not None}
    else:
        wire["answers"] = written
    if form is GEMINI and not wire["answers"]:
        wire["prompt_feedback"] = {"block_reason": "other"}
    if form is not GEMINI:
        wire["model"] = decisions.model or request.model or ""
    if form is OPENROUTER and decisions.id is not None:
        wire["id"] = decisions.id
    return {**wire, "usage": _usage(form, decisions.usage or Usage())}


def _same_answers(form: Form, own: Wire, decisions: Decisions, request: DecisionRequest) -> bool:
    try:
        return replace(read_decisions(form, own, request), model=None) == replace(
            decisions, model=None
        )
    except ReadError:
        return False


def _usage(form: Form, usage: Usage) -> Wire:
    tokens = (usage.prompt_tokens or 0, usage.output_tokens or 0)
    wire: Wire = {path[1]: count for path, count in zip(form.counts, tokens, strict=True)}
    if form is OPENAI:
        read, made = usage.cached_input_tokens or 0, usage.cache_creation_input_tokens or 0
        wire["input_tokens_details"] = {"cached_tokens": read, "cache_write_tokens": made}
        wire["output_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens or 0}
        wire["total_tokens"] = sum(tokens)
    if form is GEMINI:
        wire["total_tokens"] = sum(tokens)
    return wire


_QUESTION = re.compile(r"\$\.questions\[(\d+)\]")


def locate(form: Form, request: DecisionRequest, report: Report) -> None:
    """Adds the places of the losses in the client's body."""
    wire: Wire = (request.raw or {}).get(form.name, {})
    names = list(wire.get("questions", ())) if form.keyed else []
    state = next((key for key in ("input", "stateParts", "state") if key in wire), "input")
    for number, entry in enumerate(report.entries):
        place, found = entry.path, _QUESTION.match(entry.path)
        if found is not None:
            place = f"$.questions.{names[int(found[1])]}" if form.keyed else found[0]
        elif place.startswith("$.messages"):
            place = f"$.{state}"
        elif place[2:] in form.fields:
            place = f"$.{form.fields[place[2:]]}"
        if not entry.at:
            report.entries[number] = replace(entry, at=(place,))


def form_of(wire: Wire, named: str) -> Form:
    """The form of a body for a path of the form `named`: several forms share one path."""
    questions = wire.get("questions")
    if isinstance(questions, list):
        return OPENAI if named in _SHARED_PATH else FORMS[named]
    if named in _SHARED_PATH and isinstance(questions, dict):
        return SYSTEMONE if "state" in wire else GEMINI
    return FORMS[named]
