"""Writes the pages of `docs/dialects`: one for each dialect, and the matrix of supported features.

They are made from one small value for each feature of a conversation, and its outcome between any
two dialects: found by converting it, not written down.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, NamedTuple

from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.record import Dialect, Written
from interlingua.dialects.registry import ALIASES, dialects
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    AssistantBlock,
    AudioBlock,
    Cache,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
    VideoBlock,
)
from interlingua.model.exchange import (
    Compaction,
    Options,
    Reasoning,
    Request,
    Response,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Changes, Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.model.tools import Grammar, ToolDefinition

Word = Literal["kept", "changed", "lost", "-"]
"""`-`: the source has no such feature."""


class Fate(NamedTuple):
    """The outcome of a feature; one that is changed may arrive without some of its fields."""

    word: Word
    without: tuple[str, ...] = ()


MODELS = {
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-4.1",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "gemini-interactions": "gemini-2.5-pro",
    "ollama": "llama3.2",
    "bedrock": "amazon.nova-pro-v1:0",
    "openrouter": "openai/gpt-4.1",
    "cohere": "command-a-03-2025",
}
"""The target model of each dialect: one that takes every option of its API."""
_WHOLE = re.compile(r"\$(\.options\.\w+|\.continues|\.message|.*(content|tools|messages)\[\d+\])")
"""Paths of things that are there or not; below them are their fields."""
_DEMANDED = "$.options.max_output_tokens"
"""Values that some dialects require in every request."""

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
_PDF = "JVBERi0xLjQK"
_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL = ToolDefinition("weather", "The weather in a city.", _SCHEMA)
_FREE = ToolDefinition("note", "Takes a note.", kind="custom")
_CALL = ToolUseBlock("call_1", "weather", {"city": "Ulan Bator"})
_HELLO = Message.user("Hello")
_FORMAT = ResponseFormat("json_schema", "city", _SCHEMA)


class Probe(NamedTuple):
    """`about` is the field that it is there for, where it is no message, block, tool or option."""

    name: str
    value: Request | Response
    about: str | None = None


def _user(*blocks: UserBlock) -> Request:
    return Request((Message.user(blocks),), "model")


def _result(*content: ResultBlock, is_error: bool = False) -> Request:
    answer = Message.of_result(ToolResultBlock("call_1", content, is_error, "weather"))
    return Request((_HELLO, Message.assistant(_CALL), answer), "model", (_TOOL,))


def _changing(changes: Changes, *tools: ToolDefinition) -> Request:
    """Instructions in mid-conversation that change something."""
    content = (TextBlock("Be brief."),) if changes.clear_at else ()
    changing = Message(Role.SYSTEM, content, changes=changes)
    return Request((_HELLO, changing), "model", tools)


def _options(**options: object) -> Request:
    return Request((_HELLO,), "model", options=Options(**options))  # type: ignore[arg-type]  # names and values are those of the table below


def _tools(*tools: ToolDefinition, **options: object) -> Request:
    return Request((_HELLO,), "model", tools, Options(**options))  # type: ignore[arg-type]  # as above


def _answer(*blocks: AssistantBlock, stop: StopReason = StopReason.END_TURN) -> Response:
    metadata = MessageMetadata(response_id="r_1", response_model="model", stop_reason=stop)
    return Response(Message.assistant(blocks, metadata))


def _usage(**counts: int) -> Response:
    metadata = MessageMetadata(
        response_id="r_1",
        response_model="model",
        stop_reason=StopReason.END_TURN,
        usage=Usage(input_tokens=10, output_tokens=9, **counts),  # type: ignore[arg-type]  # counts are whole numbers
    )
    return Response(Message.assistant("Hi", metadata))


_IMAGE = ImageBlock(Source("base64", _PNG), "image/png")

PROBES: tuple[Probe, ...] = (
    Probe("user text", _user(TextBlock("Hello"))),
    Probe("system text", Request((Message.system("Be brief."), _HELLO), "model")),
    Probe("developer text", Request((Message.developer("Be brief."), _HELLO), "model")),
    Probe(
        "system in mid-conversation",
        Request((_HELLO, Message.assistant("Hi"), _HELLO, Message.system("Be brief.")), "model"),
    ),
    Probe("tool added later", _changing(Changes(("weather",)), _TOOL.replace(deferred=True))),
    Probe("tool removed later", _changing(Changes((), ("weather",)), _TOOL)),
    Probe("effort from a message on", _changing(Changes(effort="low"))),
    Probe("form of answers from a message on", _changing(Changes(response_format=_FORMAT))),
    Probe("instructions that expire", _changing(Changes(clear_at="next_user_message"))),
    Probe("name of a participant", Request((Message.user("Hello", name="ada"),), "model"), "name"),
    Probe("image, base64", _user(_IMAGE, TextBlock("What is it?"))),
    Probe("image, URL", _user(ImageBlock(Source("url", "https://example.com/a.png")))),
    Probe("image with detail", _user(_IMAGE.replace(detail="low"))),
    Probe(
        "document, PDF", _user(DocumentBlock(Source("base64", _PDF), "application/pdf", "a.pdf"))
    ),
    Probe(
        "document, text", _user(DocumentBlock(Source("text", "A text."), "text/plain", title="T"))
    ),
    Probe("audio", _user(AudioBlock(Source("base64", "UklGRg=="), "audio/wav"))),
    Probe("video", _user(VideoBlock(Source("base64", "AAAAIGZ0eXA="), "video/mp4"))),
    Probe("cache mark", _user(TextBlock("Hello", cache=Cache())), "cache"),
    Probe("tool", _tools(_TOOL)),
    Probe("strict tool", _tools(_TOOL.replace(strict=True))),
    Probe("free-text tool", _tools(_FREE)),
    Probe("tool with a grammar", _tools(_FREE.replace(grammar=Grammar("regex", "[a-z]+")))),
    Probe("tool choice any", _tools(_TOOL, tool_choice=ToolChoice("any"))),
    Probe("tool choice none", _tools(_TOOL, tool_choice=ToolChoice("none"))),
    Probe("tool choice by name", _tools(_TOOL, tool_choice=ToolChoice("any", ("weather",)))),
    Probe("parallel calls off", _tools(_TOOL, parallel_tool_calls=False)),
    Probe("tool result", _result(TextBlock("Cold."))),
    Probe("failed tool result", _result(TextBlock("No."), is_error=True)),
    Probe("image in a result", _result(_IMAGE)),
    Probe("temperature", _options(temperature=0.5)),
    Probe("top_p", _options(top_p=0.5)),
    Probe("top_k", _options(top_k=5)),
    Probe("seed", _options(seed=7)),
    Probe("stop sequences", _options(stop=("END",))),
    Probe("penalties", _options(frequency_penalty=0.5, presence_penalty=0.5)),
    Probe("several answers", _options(n=2)),
    Probe("log probabilities", _options(logprobs=2)),
    Probe("JSON output", _options(response_format=ResponseFormat("json"))),
    Probe("JSON schema output", _options(response_format=_FORMAT)),
    Probe("reasoning effort", _options(reasoning=Reasoning("high"))),
    Probe(
        "reasoning budget",
        _options(max_output_tokens=9000, reasoning=Reasoning(None, 4000)),
        "budget_tokens",
    ),
    Probe("thinking wanted", _options(reasoning=Reasoning(mode="on")), "mode"),
    Probe("thinking off", _options(reasoning=Reasoning(mode="off")), "mode"),
    Probe("adaptive thinking", _options(reasoning=Reasoning(mode="adaptive")), "mode"),
    Probe("thinking shown", _options(reasoning=Reasoning("high", visible=True)), "visible"),
    Probe("verbosity", _options(verbosity="low")),
    Probe("compaction by the service", _options(compaction=Compaction(100_000))),
    Probe("service tier", _options(service_tier="flex")),
    Probe("end user", _options(user="u_1")),
    Probe("metadata", _options(metadata={"job": "a"})),
    Probe("answer text", _answer(TextBlock("Hi"))),
    Probe("commentary", _answer(TextBlock("Hi", phase="commentary"))),
    Probe("answer with a call", _answer(_CALL, stop=StopReason.TOOL_USE)),
    Probe("thinking", _answer(ThinkingBlock("Hm."), TextBlock("Hi"))),
    Probe("signed thinking", _answer(ThinkingBlock("Hm.", "c2ln"), TextBlock("Hi"))),
    Probe("redacted thinking", _answer(RedactedThinkingBlock("eHg="), TextBlock("Hi"))),
    Probe("compacted history", _answer(CompactionBlock("So far."), TextBlock("Hi"))),
    Probe("sealed history", _answer(CompactionBlock(data="eHg="), TextBlock("Hi"))),
    Probe("signed call", _answer(_CALL.replace(signature="c2ln"), stop=StopReason.TOOL_USE)),
    Probe("refusal", _answer(RefusalBlock("No."), stop=StopReason.REFUSAL)),
    Probe(
        "citation",
        _answer(
            TextBlock(
                "Hi", citations=(Citation(url="https://example.com", title="E", start=0, end=2),)
            )
        ),
        "citations",
    ),
    Probe("generated image", _answer(_IMAGE)),
    Probe("stopped at a sequence", _answer(TextBlock("Hi"), stop=StopReason.STOP_SEQUENCE)),
    Probe("stopped by a filter", _answer(TextBlock("Hi"), stop=StopReason.CONTENT_FILTER)),
    Probe("cached tokens", _usage(cached_input_tokens=5), "cached_input_tokens"),
    Probe(
        "tokens written to cache",
        _usage(cache_creation_input_tokens=5),
        "cache_creation_input_tokens",
    ),
    Probe("reasoning tokens", _usage(reasoning_tokens=5), "reasoning_tokens"),
)


def fate(probe: Probe, source: str, target: str) -> Fate:
    """The outcome of a probe that is written in one dialect and then converted to another."""
    value = _probe_value(probe.value, dialect_of(source))
    if value is None:
        return Fate("-")
    return _fate_at(probe._replace(value=value), source, dialect_of(target))


def own_fate(probe: Probe, name: str) -> Fate:
    """The fate in the dialect itself. The request was not read there, so its form is repaired."""
    source = None if isinstance(probe.value, Request) else name
    return _fate_at(probe, source, dialect_of(name))


def _probe_value(value: Request | Response, source: Dialect) -> Request | Response | None:
    """The probe as the source expresses it; None if it cannot."""
    try:
        if isinstance(value, Request):
            written = source.write_request(value)
            return (
                None if written.report.entries else source.read_request(written.wire, value.model)
            )
        written = source.write_response(value)
        return None if written.report.entries else source.read_response(written.wire)
    except InterlinguaError:
        return None


def _fate_at(probe: Probe, source: str | None, target: Dialect) -> Fate:
    """The best of what happens with the dialect's model of `MODELS` and without any: some options
    are written only for models that are known to take them."""
    models = [None, MODELS.get(target.name)] if isinstance(probe.value, Request) else [None]
    fates = [_fate_for(probe, source, target, model) for model in dict.fromkeys(models)]
    return min(fates, key=lambda fate: (_BEST.index(fate.word), len(fate.without)))


def written_for(
    value: Request | Response,
    target: str,
    source: str | None,
    model: str | None,
    profile: Literal[False] | None = None,
) -> Written:
    """The value in a dialect, adapted to a model of it."""
    from interlingua.adapt.formats import write

    return write(value, target, source, model, profile)


def own_reasons(probe: Probe, name: str) -> list[str]:
    """The losses that a dialect reports for it, each sentence once."""
    model = MODELS.get(name) if isinstance(probe.value, Request) else None
    source = None if isinstance(probe.value, Request) else name
    report = written_for(probe.value, name, source, model, None if model else False).report
    return list(dict.fromkeys(loss.reason for loss in _about(report)))


def _about(report: Report) -> list[Loss]:
    """The entries about the probe itself."""
    return [
        loss
        for loss in report.entries
        if ".raw." not in loss.path and ".provider_raw" not in loss.path and loss.path != _DEMANDED
    ]


_BEST: tuple[Word, ...] = ("kept", "changed", "lost")


def _fate_for(probe: Probe, source: str | None, target: Dialect, model: str | None) -> Fate:
    profile: Literal[False] | None = None if model else False
    report = written_for(probe.value, target.name, source, model, profile).report
    losses = _about(report)
    if not losses:
        return Fate("kept")
    dropped = [loss.path for loss in losses if loss.kind == "dropped"]
    fields = [path.rpartition(".")[2].partition("[")[0] for path in dropped]
    if probe.about in fields or any(_WHOLE.fullmatch(path) for path in dropped):
        return Fate("lost")
    return Fate("changed", tuple(dict.fromkeys(fields)))


_MARKS = {"kept": "yes", "changed": "~", "lost": "no", "-": " "}


def page(dialect: Dialect) -> str:
    """The page of one dialect: what is supported, what is not, and examples."""
    names = ", ".join(f"`{name}`" for name, meant in ALIASES.items() if meant == dialect.name)
    paths = ", ".join(f"`{path}`" for path in _paths(dialect))
    facts = [
        ["name", f"`{dialect.name}`" + (f", or {names}" if names else "")],
        ["paths", paths or "none"],
        ["streams", _FRAMINGS[dialect.traits.framing]],
    ]
    parts = [
        f"# {dialect.title} (`{dialect.name}`)",
        grid(["", "this format"], facts),
        "## Examples",
        *_examples(dialect.name),
        *_features(dialect.name),
        "## Words",
        "What this format calls the values that every format has, on the left, and the canonical "
        "value that is read, on the right.",
        *_words(import_module(f"{dialect.package}.tables")),
        *_sources(dialect),
        "`make docs` makes this page by converting every feature.",
    ]
    return "\n\n".join(parts) + "\n"


def _paths(dialect: Dialect) -> list[str]:
    every = dialect.traits.paths or {}
    return list(dict.fromkeys(path for path in every.values() if isinstance(path, str)))


_FRAMINGS = {
    "sse": "server-sent events",
    "ndjson": "lines of JSON",
    "aws": "Amazon's event stream",
}
_TABLES = {
    "STOP_REASONS": "Stop reasons",
    "ERRORS": "Errors",
    "EFFORTS": "Reasoning efforts",
    "SERVICE_TIERS": "Service tiers",
    "TOOL_CHOICES": "Tool choices",
}
"""The tables that a reader of the wire looks for."""
_EXAMPLE = """```python
import interlingua as il

question = il.Message.user("What is the capital of Mongolia?")
options = il.Options(max_output_tokens=200, seed=7)
request = il.Request((question,), "{model}", options=options)
written = il.dialect("{name}").write_request(request)
print(written.json().decode())
for loss in written.report.losses:
    print(loss)
```"""
_READING = """```python
import interlingua as il

body = b'{body}'
result = il.convert(body, "{name}", "{other}", model="{model}")
print(result.json().decode())
```"""


def _sources(dialect: Dialect) -> list[str]:
    """The sources of the tables, and their dates."""
    tables = import_module(f"{dialect.package}.tables")
    _, *sources = inspect.cleandoc(tables.__doc__ or "").split("\n\n")
    text = " ".join(" ".join(each.split()) for each in sources)
    return ["## Sources", f"The names and values of this format. {text}"]


def _examples(name: str) -> list[str]:
    """A request that is written and one that is converted, each with its output."""
    model = MODELS.get(name, "model")
    options = Options(max_output_tokens=200, seed=7)
    request = Request((Message.user("What is the capital of Mongolia?"),), model, options=options)
    written = dialect_of(name).write_request(request)
    lines = [written.json().decode(), *map(str, written.report.losses)]
    other = "anthropic" if name != "anthropic" else "openai-chat"
    plain = request.replace(options=options.replace(seed=None))
    body = dialect_of(name).write_request(plain).json().decode()
    read = dialect_of(name).read_request(body.encode(), model)
    converted = written_for(read, other, name, MODELS[other])
    reading = _READING.format(body=body, name=name, other=other, model=MODELS[other])
    return [
        "A request, written:",
        _EXAMPLE.format(name=name, model=model),
        _block(lines),
        f"The same without a seed, converted to `{other}`:",
        reading,
        _block([converted.json().decode()]),
    ]


def _block(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])


def _features(name: str) -> list[str]:
    """Features by outcome, with the reasons in the report."""
    fates = [(probe, own_fate(probe, name)) for probe in PROBES]
    supported = [probe.name for probe, fate in fates if fate.word == "kept"]
    parts = ["## What is supported", "\n".join(f"- {name}" for name in supported)]
    for word, title in (("changed", "In another form"), ("lost", "What is not supported")):
        rows = [[p.name, "; ".join(own_reasons(p, name))] for p, fate in fates if fate.word == word]
        if rows:
            parts += [f"## {title}", grid(["feature", "what the report says"], rows)]
    return parts


def _words(module: ModuleType) -> list[str]:
    parts = []
    for name, title in _TABLES.items():
        table = _table(getattr(module, name, None))
        if table:
            parts += [f"### {title}", table]
    return parts


def matrix() -> str:
    """The features that survive from each dialect to each, found by converting them."""
    names = dialects()
    parts = [
        "# What survives",
        "Each row is converted from the format of the heading to the format of the column, for a "
        "model that accepts it; `make docs` prints this page. `yes`: it arrives unchanged. `~`: it "
        "arrives in another form, or without the fields that are named. `no`: it does not arrive. "
        "The last two are always in the report. Rows that the first format cannot express are left "
        "out.",
    ]
    for source in names:
        others = [name for name in names if name != source]
        columns = [survivors(source, target) for target in others]
        rows = [[name, *(_mark(each[name]) for each in columns)] for name in columns[0]]
        parts += [f"## From `{source}`", grid(["feature", *others], rows)]
    return "\n\n".join(parts) + "\n"


def survivors(source: str, target: str) -> dict[str, Fate]:
    """The outcome of each feature of one dialect in another, by the feature's name."""
    fates = {probe.name: fate(probe, source, target) for probe in PROBES}
    return {name: each for name, each in fates.items() if each.word != "-"}


def _mark(fate: Fate) -> str:
    if not fate.without:
        return _MARKS[fate.word]
    return f"{_MARKS[fate.word]} no {', '.join(f'`{name}`' for name in fate.without)}"


def _table(value: Any) -> str | None:
    if isinstance(value, TwoWay):
        rows = [[_shown(word), _shown(meant)] for word, meant in value.words.items()]
        if value.otherwise is not None:
            rows.append(["anything else", _shown(value.otherwise)])
    elif isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        rows = [[_shown(item), _shown(key)] for key, item in value.items()]
    else:
        return None
    return grid(["wire", "canonical"], rows)


def _shown(value: Any) -> str:
    return f"`{value}`" if value != "" else "(empty)"


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in lines)
