"""L16, completeness: every block type in every role, every stop reason, option and event goes
through every dialect, view and transcript writer, and so do members that no writer knows, which
the tests add to each union. Only errors of the package are raised, and what the target does not
hold is in the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, ClassVar, Literal, TypeVar, get_args

import pytest
from msgspec.structs import force_setattr

import interlingua as il
from interlingua import transcripts
from interlingua.adapt import formats
from interlingua.adapt.history.stream import StreamRewriter
from interlingua.dialects.anthropic import messages as anthropic_messages
from interlingua.dialects.bedrock import messages as bedrock_messages
from interlingua.dialects.gemini import messages as gemini_messages
from interlingua.dialects.kernel.recorder import changes_nothing
from interlingua.model import blocks as b
from interlingua.model import events as e
from interlingua.model.base import Value
from interlingua.model.exchange import (
    Compaction,
    Options,
    Reasoning,
    Request,
    Response,
    ResponseFormat,
    TaskBudget,
    ToolChoice,
)
from interlingua.model.losses import Loss, Report
from interlingua.model.message import PLACEMENT, Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.profiles.estimate import estimate_input_tokens
from interlingua.store import search_text
from interlingua.transcripts.exports import labelled_text
from interlingua.transcripts.format import Draft, format_of
from interlingua.transcripts.format import formats as transcript_formats
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.redaction import redact
from interlingua.transcripts.transcript import Transcript

E = TypeVar("E", bound=StrEnum)
V = TypeVar("V", bound=Value)


# -- members that no writer knows -----------------------------------------------------------------


class TrialBlock(Value, frozen=True, tag="trial"):
    """A block type that a later version might add."""

    type: ClassVar[Literal["trial"]] = "trial"
    text: str = "zebra"
    cache: b.Cache | None = None
    raw: dict[str, Any] | None = None


class TrialEvent(Value, frozen=True, tag="trial_event", kw_only=True):
    """An event type that a later version might add."""

    type: ClassVar[Literal["trial_event"]] = "trial_event"
    index: int = 0
    choice: int = 0
    frame: e.FrameMark | None = None


def trial_member(cls: type[E]) -> E:
    """A member that a later version of an enum might have."""
    member = str.__new__(cls, "trial")
    member._name_, member._value_ = "TRIAL", "trial"
    return member


def with_trial(value: V, field: str) -> V:
    """The value with a word in this field that is not in its closed set."""
    force_setattr(value, field, "trial")
    return value


@pytest.fixture(autouse=True)
def trial_block_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model knows the block type, and only the writers do not."""
    monkeypatch.setitem(b.BLOCK_TYPES, "trial", TrialBlock)
    monkeypatch.setitem(b.TYPE_OF, TrialBlock, "trial")


@pytest.fixture(autouse=True)
def every_loss_has_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of their own are for plug-ins."""
    add = Report.add

    def checked(report: Report, *args: Any, **more: Any) -> None:
        add(report, *args, **more)
        assert report.entries[-1].code, report.entries[-1]

    monkeypatch.setattr(Report, "add", checked)


# -- what goes through ----------------------------------------------------------------------------

MARKS = MARK, ENCODED_MARK = "zebra", "emVicmE="
"""The content of every block: as text, and as base64."""
KNOWN_BLOCKS = frozenset(b.BLOCK_TYPES.values())
CALL = b.ToolUseBlock("tu_1", "n", {"a": 1})
TOOL = il.ToolDefinition("n", "does", {"type": "object", "properties": {}})
TARGETS = (*il.dialects(), *formats.VIEW_NAMES)
TRANSCRIPTS = [name for name in transcript_formats() if format_of(name).write is not None]


def _media(kind: Any, media_type: str) -> list[Any]:
    return [
        kind(b.Source("base64", ENCODED_MARK), media_type),
        kind(b.Source("url", f"https://example.com/{MARK}")),
        kind(b.Source("file_id", MARK, provider="openai")),
        kind(b.Source("file_ref", MARK), media_type),
        kind(with_trial(b.Source("text", MARK), "kind"), media_type),
    ]


BLOCKS: dict[str, list[Any]] = {
    "text": [b.TextBlock(MARK), b.TextBlock(MARK, signature="s", citations=(b.Citation(),))],
    "thinking": [b.ThinkingBlock(MARK), b.ThinkingBlock(MARK, signature="sig", id="i")],
    "redacted_thinking": [b.RedactedThinkingBlock(MARK)],
    "tool_use": [
        b.ToolUseBlock("tu_2", "n", {"a": MARK}),
        b.ToolUseBlock("tu_3", "web_search", {"query": MARK}, executor="provider"),
    ],
    "tool_result": [
        b.ToolResultBlock("tu_1", (b.TextBlock(MARK),)),
        b.ToolResultBlock("tu_1", (b.TextBlock("r"), TrialBlock())),  # type: ignore[arg-type]
        b.ToolResultBlock("tu_1", (TrialBlock(), b.UnknownBlock({"x": {}}))),  # type: ignore[arg-type]
        b.ToolResultBlock("tu_1", tuple(_media(b.ImageBlock, "image/png")), is_error=True),
    ],
    "image": _media(b.ImageBlock, "image/png"),
    "audio": _media(b.AudioBlock, "audio/wav"),
    "video": _media(b.VideoBlock, "video/mp4"),
    "document": [
        *_media(b.DocumentBlock, "application/pdf"),
        b.DocumentBlock(b.Source("text", MARK)),
        b.DocumentBlock(b.Source("blocks", content=(b.TextBlock(MARK),))),
        b.DocumentBlock(b.Source("blocks", content=(b.TextBlock("t"), TrialBlock()))),  # type: ignore[arg-type]
        b.DocumentBlock(
            b.Source("blocks", content=(b.TextBlock("t"), *_media(b.ImageBlock, "image/png")[:1]))
        ),
    ],
    "refusal": [b.RefusalBlock(MARK)],
    "compaction": [b.CompactionBlock(MARK), b.CompactionBlock(data=MARK), b.CompactionBlock()],
    "unknown": [
        b.UnknownBlock({"anthropic": {"type": MARK}}),
        b.UnknownBlock({"parrot": {"a": MARK}}),
    ],
    "trial": [TrialBlock()],
}
OPTIONS: list[Options] = [
    Options(max_output_tokens=10),
    Options(temperature=0.5, top_p=0.5, top_k=5, min_p=0.1, seed=7),
    Options(stop=("a", "b"), frequency_penalty=0.1, presence_penalty=0.2, repetition_penalty=1.1),
    Options(n=2, logprobs=3, logit_bias={"1": 2.0}, verbosity="low", modalities=("text", "audio")),
    *[Options(tool_choice=ToolChoice(mode)) for mode in ("auto", "none", "any")],  # type: ignore[arg-type]
    Options(tool_choice=ToolChoice("any", names=("n",)), parallel_tool_calls=False),
    *[Options(response_format=ResponseFormat(kind)) for kind in ("text", "json")],  # type: ignore[arg-type]
    Options(response_format=ResponseFormat("json_schema", "s", {"type": "object"}, True)),
    *[
        Options(reasoning=Reasoning(mode=mode))  # type: ignore[arg-type]
        for mode in ("on", "off", "adaptive", "between_tools")
    ],
    *[Options(reasoning=Reasoning(effort=effort)) for effort in ("low", "medium", "high")],  # type: ignore[arg-type]
    Options(reasoning=Reasoning(effort="high", budget_tokens=2000, visible=True)),
    Options(compaction=Compaction(1000, "Briefly.", True)),
    Options(task_budget=TaskBudget(5000, 100)),
    *[Options(cache_key="k", cache_mode=mode) for mode in ("implicit", "explicit")],
    Options(cache_ttl="12h", cache_retention="24h", cache_prewarm=True, cache_comparison="resp_1"),
    Options(service_tier="priority", user="u", metadata={"k": "v"}, stream=True, cache=b.Cache()),
]
TEXT = ResponseFormat("text")
IN_THE_ADDRESS = {("gemini", "stream"), ("bedrock", "stream")}
OPTION_NAMES = set(Options.__struct_fields__) - {"raw"}
TRIAL_OPTIONS: dict[str, Options] = {
    "tool_choice": Options(tool_choice=with_trial(ToolChoice(), "mode")),
    "response_format": Options(response_format=with_trial(ResponseFormat("json"), "kind")),
    "reasoning.mode": Options(reasoning=with_trial(Reasoning(), "mode")),
    "reasoning.effort": Options(reasoning=with_trial(Reasoning(), "effort")),
    "verbosity": Options(verbosity="trial"),
    "service_tier": Options(service_tier="trial"),
    "modalities": Options(modalities=("trial",)),
}


def conversation(role: Role, *content: Any) -> tuple[Message, ...]:
    """A conversation in which the blocks are the third message, where the role has them."""
    results = (b.ToolResultBlock("tu_1", (b.TextBlock("r"),)),)
    before = Message(Role.ASSISTANT, (CALL,)), Message(Role.TOOL, results)
    if role is Role.TOOL or any(isinstance(block, b.ToolResultBlock) for block in content):
        before = Message.user("hi"), Message(Role.ASSISTANT, (CALL,))
    return (*before, Message(role, content), Message.user("go on"))


def placed() -> Iterator[tuple[Role, str, tuple[Any, ...]]]:
    """Every block in every role that may hold it, alone and behind another one."""
    for role, kinds in PLACEMENT.items():
        first = b.ToolResultBlock("tu_1") if role is Role.TOOL else b.TextBlock("t")
        for kind in (*sorted(kinds), "trial"):
            for block in BLOCKS[kind]:
                yield role, kind, (block,)
                if kind != "tool_result":
                    yield role, kind, (first, block)


def misplaced() -> Iterator[tuple[Role, Any]]:
    """Every block in every role that may not hold it."""
    for role, kinds in PLACEMENT.items():
        for kind in BLOCKS.keys() - kinds - {"trial"}:
            for block in BLOCKS[kind]:
                yield role, block


def only_ours(work: Callable[[], Any]) -> Any:
    """The result; None where the package refused. Any other exception fails the test."""
    try:
        return work()
    except il.InterlinguaError:
        return None


# -- what has to be accounted for -----------------------------------------------------------------


def problem_of(
    block: Any, path: str, written: bytes, report: Iterable[Loss], has_notes: bool = False
) -> str | None:
    """What is wrong with how the block at this path was written, if anything. A file with notes
    keeps there what its tool has no place for, and reports blocks or whole messages."""
    losses = [
        loss
        for loss in report.entries
        if loss.block_type == "trial" or _is_inside(loss.path, path) or _is_inside(path, loss.path)
    ]
    problem = None
    if TrialBlock in map(type, (block, *_nested(block))):
        named = [loss for loss in losses if has_notes or loss.block_type in ("trial", block.type)]
        problem = None if named else "the foreign block is lost without a report"
        if b"trial" in written and not has_notes:
            problem = "the foreign block is written"
    elif not losses and any(mark in repr(block) for mark in MARKS):
        is_written = any(mark.encode() in written for mark in MARKS)
        problem = None if is_written else "it is lost without a report"
    if problem is None:
        return None
    return f"{path} {block!r}: {problem}; reported: {'; '.join(map(str, report)) or 'nothing'}"


def _nested(block: Any) -> tuple[Any, ...]:
    source = getattr(block, "source", None)
    return (*getattr(block, "content", ()), *(getattr(source, "content", None) or ()))


def _is_inside(path: str, outer: str) -> bool:
    return outer != "$" and (path == outer or path.startswith((f"{outer}.", f"{outer}[")))


def check(problems: Iterable[str | None]) -> None:
    found = [problem for problem in problems if problem is not None]
    assert not found, f"{len(found)} problems, the first: " + "\n".join(found[:5])


# -- blocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_every_block_of_a_request_is_written_or_reported(target: str) -> None:
    sources = ("canonical", target) if target in il.dialects() else ("canonical",)

    def problems() -> Iterator[str | None]:
        for role, kind, content in placed():
            request = Request(conversation(role, *content), "m", (TOOL,), Options())
            for source in sources:
                written = only_ours(lambda: formats.write(request, target, source))  # noqa: B023
                if written is None:
                    yield f"{role} {content}: refused" if kind == "trial" else None
                    continue
                path = f"$.messages[2].content[{len(content) - 1}]"
                yield problem_of(content[-1], path, written.json(), written.report)

    check(problems())


@pytest.mark.parametrize("target", TARGETS)
def test_every_block_of_a_response_is_written_or_reported(target: str) -> None:
    sources = ("canonical", target) if target in il.dialects() else ("canonical",)
    message = "$.message" if target in il.dialects() else "$[0]"

    def problems() -> Iterator[str | None]:
        for role, _, content in placed():
            if role is not Role.ASSISTANT:
                continue
            response = Response(Message(role, content))
            for source in sources:
                written = formats.write(response, target, source)
                path = f"{message}.content[{len(content) - 1}]"
                yield problem_of(content[-1], path, written.json(), written.report)

    check(problems())


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_every_block_of_a_transcript_is_written_or_reported(name: str) -> None:
    def problems() -> Iterator[str | None]:
        for role, kind, content in placed():
            draft = draft_of(name, conversation(role, *content))
            if draft is None:
                yield f"{role} {content}: refused" if kind == "trial" else None
                continue
            path = f"$.messages[2].content[{len(content) - 1}]"
            files = b"".join(draft.files.values())
            yield problem_of(content[-1], path, files, draft.report, KEY.encode() in files)

    check(problems())


def draft_of(name: str, messages: tuple[Message, ...]) -> Draft | None:
    write = format_of(name).write
    assert write is not None
    id = "0d6e1c1e-3333-4444-8888-1234567890ab"
    transcript = Transcript(format="x", messages=messages, id=id)
    draft: Draft | None = only_ours(lambda: write(transcript, "a.jsonl"))
    return draft


@pytest.mark.parametrize("target", TARGETS)
def test_a_misplaced_block_is_written_reported_or_refused(target: str) -> None:
    def problems() -> Iterator[str | None]:
        for role, block in misplaced():
            request = Request(conversation(role, block), "m", (TOOL,), Options())
            written = only_ours(lambda: formats.write(request, target, "canonical"))  # noqa: B023
            if written is not None:
                path = "$.messages[2].content[0]"
                yield problem_of(block, path, written.json(), written.report)

    check(problems())


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_misplaced_block_of_a_transcript_is_written_reported_or_refused(name: str) -> None:
    def problems() -> Iterator[str | None]:
        for role, block in misplaced():
            draft = draft_of(name, conversation(role, block))
            if draft is None or block.type in {loss.block_type for loss in draft.report}:
                continue  # results that have to follow their call move, and so do their paths
            files = b"".join(draft.files.values())
            path = "$.messages[2].content[0]"
            yield problem_of(block, path, files, draft.report, KEY.encode() in files)

    check(problems())


@pytest.mark.parametrize("kind", BLOCKS)
def test_every_block_can_be_exported_counted_searched_and_redacted(kind: str) -> None:
    for block in BLOCKS[kind]:
        assert labelled_text(block).label or block.type in ("text", "trial")
        message = Message(Role.ASSISTANT, (block,))
        assert estimate_input_tokens([message], model="anthropic:claude-opus-4-6") >= 0
        assert isinstance(search_text.text_of(message), str)
        assert redact(message).value.content[0].type == block.type


@pytest.mark.parametrize(
    "writers",
    [anthropic_messages.WRITERS, bedrock_messages._WRITERS, gemini_messages.WRITERS],
    ids=["anthropic", "bedrock", "gemini"],
)
def test_tables_of_writers_have_every_block_type(writers: dict[type, Any]) -> None:
    assert writers.keys() == KNOWN_BLOCKS


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", il.dialects())
def test_every_block_of_a_stream_is_written_or_reported(target: str) -> None:
    def problems() -> Iterator[str | None]:
        for role, _, content in placed():
            if role is not Role.ASSISTANT:
                continue
            frames, report = streamed(target, events_of(content))
            path = f"$.message.content[{len(content) - 1}]"
            yield problem_of(content[-1], path, frames.encode(), report)

    check(problems())


def events_of(content: tuple[Any, ...], reason: StopReason = StopReason.END_TURN) -> list[Any]:
    """The events of an answer with these blocks."""
    events: list[Any] = [e.MessageStart(model="m")]
    for index, block in enumerate(content):
        if isinstance(block, b.ToolUseBlock):
            events += [
                e.ToolUseStart(index, block.id, block.name, block.executor),
                e.ToolUseInputDelta(index, json.dumps(block.input)),
                e.ToolUseEnd(index, block.input),
            ]
        else:
            events += [e.BlockStart(index, block), e.BlockEnd(index, block)]
    metadata = MessageMetadata(stop_reason=reason)
    answer = Response(Message(Role.ASSISTANT, content, metadata=metadata))
    return [*events, e.Stop(stop_reason=reason), e.MessageComplete(answer)]


def streamed(target: str, events: list[Any]) -> tuple[str, Report]:
    writer = il.dialect(target).stream_writer()
    frames = [frame for event in events for frame in writer.feed(event)]
    frames += writer.close()
    assert frames, "nothing written"
    return "\n".join([frame.data for frame in frames]), writer.report


EVENTS: dict[type, Any] = {
    e.MessageStart: e.MessageStart(model="m"),
    e.BlockStart: e.BlockStart(0, b.TextBlock("")),
    e.BlockDelta: e.BlockDelta(0, "signature", MARK),
    e.BlockEnd: e.BlockEnd(0, b.TextBlock(MARK)),
    e.TextDelta: e.TextDelta(0, MARK),
    e.ThinkingDelta: e.ThinkingDelta(0, MARK),
    e.ToolUseStart: e.ToolUseStart(0, "tu_1", "n"),
    e.ToolUseInputDelta: e.ToolUseInputDelta(0, "{}"),
    e.ToolUseEnd: e.ToolUseEnd(0, {}),
    e.Stop: e.Stop(stop_reason=StopReason.END_TURN),
    e.UsageUpdate: e.UsageUpdate(Usage(input_tokens=1)),
    e.MessageComplete: e.MessageComplete(Response(Message.assistant("t", MessageMetadata()))),
    e.StreamError: e.StreamError(il.ProviderError("server_error", "went wrong")),
    e.Other: e.Other(),
}


def test_every_event_has_an_example_here() -> None:
    assert EVENTS.keys() == set(get_args(e.Event))


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_goes_through_every_stream(target: str, kind: type) -> None:
    for before in ([], events_of((b.TextBlock("a"),))[:2], events_of((b.TextBlock("a"),))[:-1]):
        writer = il.dialect(target).stream_writer()
        for event in (*before, EVENTS[kind]):
            only_ours(lambda: writer.feed(event))  # noqa: B023
        only_ours(writer.close)
        rewriter = StreamRewriter("openai-chat", il.dialect(target))
        for event in (*before, EVENTS[kind]):
            rewriter.feed(event)
        assert il.fold([*before, EVENTS[kind]]) is not None


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("place", range(5))
def test_a_foreign_event_is_reported_and_changes_nothing_else(target: str, place: int) -> None:
    events = events_of((b.TextBlock("a"),))
    plain, report = streamed(target, events)
    frames, with_foreign = streamed(target, [*events[:place], TrialEvent(), *events[place:]])
    assert frames == plain
    losses = [*with_foreign]
    (loss,) = [loss for loss in losses if "trial_event" in loss.reason]
    assert (loss.kind, loss.path) == ("dropped", "$")
    losses.remove(loss)
    assert losses == [*report.entries]


@pytest.mark.parametrize("target", il.dialects())
def test_a_foreign_event_is_reported_on_the_way_home(target: str) -> None:
    dialect = il.dialect(target)
    writer, reader = dialect.stream_writer(), dialect.stream_reader()
    frames = [frame for event in events_of((b.TextBlock("a"),)) for frame in writer.feed(event)]
    home, written = dialect.stream_writer(), []
    for frame in frames:
        for event in reader.feed(frame):
            written += home.feed(event)
            written += home.feed(TrialEvent())  # type: ignore[arg-type]
    assert "trial_event" in str(home.report.entries)


@pytest.mark.parametrize("target", il.dialects())
def test_foreign_members_of_a_stream_can_be_retold_and_folded(target: str) -> None:
    teller = StreamRewriter("openai-chat", il.dialect(target))
    events = [*events_of((b.TextBlock("a"), TrialBlock()))[:-1], TrialEvent()]
    complete = events_of((b.TextBlock("a"), TrialBlock()))[-1]
    emitted = [each for event in [*events, complete] for each in teller.feed(event)]
    _, report = streamed(target, emitted)
    assert "trial" in {loss.block_type for loss in report.entries}
    assert il.fold([*events, complete]).message.content[1] == TrialBlock()


# -- stop reasons ---------------------------------------------------------------------------------

REASONS = [*StopReason, trial_member(StopReason), None]


def answer_with(reason: StopReason | None) -> Response:
    metadata = MessageMetadata(stop_reason=reason, usage=Usage(input_tokens=1, output_tokens=2))
    return Response(Message(Role.ASSISTANT, (b.TextBlock("t"),), metadata=metadata))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("reason", REASONS)
def test_every_stop_reason_is_written_or_reported(target: str, reason: StopReason | None) -> None:
    written = formats.write(answer_with(reason), target, "canonical")
    if reason == "trial":
        assert b"trial" not in written.json()
        assert any(loss.path.endswith("metadata.stop_reason") for loss in written.report.entries)


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("reason", REASONS)
def test_every_stop_reason_of_a_stream_is_written_or_reported(
    target: str, reason: StopReason | None
) -> None:
    frames, report = streamed(target, il.unfold(answer_with(reason)))
    if reason == "trial":
        assert "trial" not in frames
        assert any(loss.path.endswith("metadata.stop_reason") for loss in report.entries)


@pytest.mark.parametrize("name", TRANSCRIPTS)
@pytest.mark.parametrize("reason", REASONS)
def test_every_stop_reason_goes_through_every_transcript(
    name: str, reason: StopReason | None
) -> None:
    messages = (Message.user("hi"), answer_with(reason).message)
    assert draft_of(name, messages) is not None


# -- options, sources and roles -------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_every_option_is_written_or_reported(target: str) -> None:
    messages = (Message.user("hi"),)
    plain = formats.write(Request(messages, "m", (TOOL,)), target, "canonical").json()
    for options in OPTIONS:
        for name in OPTION_NAMES:
            if getattr(options, name) is None:
                continue
            alone = Options(**{name: getattr(options, name)})
            written = formats.write(Request(messages, "m", (TOOL,), alone), target, "canonical")
            paths = [entry.path for entry in written.report.entries]
            is_reported = any(_is_inside(path, f"$.options.{name}") for path in paths)
            is_default = changes_nothing(alone, name) or alone.response_format == TEXT
            is_said = written.json() != plain or is_default or (target, name) in IN_THE_ADDRESS
            assert is_reported or is_said, f"{target}: {name} is lost without a report"


def test_every_option_has_a_value_here() -> None:
    assert {
        name for options in OPTIONS for name in OPTION_NAMES if getattr(options, name) is not None
    } == OPTION_NAMES


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TRIAL_OPTIONS)
def test_a_foreign_word_in_an_option_is_written_or_reported(target: str, name: str) -> None:
    field = name.partition(".")[0]
    request = Request((Message.user("hi"),), "m", (TOOL,), TRIAL_OPTIONS[name])
    for source in ("canonical", target) if target in il.dialects() else ("canonical",):
        written = formats.write(request, target, source)
        losses = [
            loss for loss in written.report.entries if loss.path.startswith(f"$.options.{field}")
        ]
        assert losses or b"trial" in written.json().lower()


@pytest.mark.parametrize("target", TARGETS)
def test_a_message_of_a_foreign_role_is_reported_or_refused(target: str) -> None:
    message = Message(trial_member(Role), (b.TextBlock(MARK),))
    request = Request((Message.user("hi"), message, Message.user("go on")), "m")
    for source in ("canonical", target) if target in il.dialects() else ("canonical",):
        written = only_ours(lambda: formats.write(request, target, source))  # noqa: B023
        if written is not None:
            assert any(_is_inside(loss.path, "$.messages[1]") for loss in written.report.entries)
            assert b"trial" not in written.json()


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_transcript_with_a_foreign_role_is_refused(name: str) -> None:
    messages = (Message.user("hi"), Message(trial_member(Role), (b.TextBlock(MARK),)))
    with pytest.raises(il.InterlinguaError, match="trial"):
        transcripts.draft(Transcript(format="x", messages=messages), name)
