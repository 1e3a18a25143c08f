"""What is OpenTelemetry's own: spans that say the history again, events of earlier versions."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts import SubAgent, Transcript, TranscriptError
from tests.transcripts.made import session
from tests.transcripts.said import said

REQUIRED = {
    "text": {"content"},
    "reasoning": {"content"},
    "tool_call": {"name"},
    "tool_call_response": {"response"},
    "server_tool_call": {"name", "server_tool_call"},
    "server_tool_call_response": {"server_tool_call_response"},
    "blob": {"modality", "content"},
    "uri": {"modality", "uri"},
    "file": {"modality", "file_id"},
    "compaction": set(),
}
"""What the JSON schemas of messages ask of each part (semantic conventions for GenAI, 2026-11)."""
ASKED_OF_SPANS = {"gen_ai.operation.name", "gen_ai.provider.name"}
TOLD_BY_SPANS = ASKED_OF_SPANS | {
    "gen_ai.conversation.id",
    "gen_ai.request.model",
    "gen_ai.response.finish_reasons",
    "gen_ai.response.id",
    "gen_ai.response.model",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
}
"""Attributes of a span of inference, as the reference scenarios of the conventions tell them."""


def value_of(value: Any) -> dict[str, Any]:
    match value:
        case int():
            return {"intValue": str(value)}
        case dict():
            pairs = [{"key": key, "value": value_of(each)} for key, each in value.items()]
            return {"kvlistValue": {"values": pairs}}
        case list():
            return {"arrayValue": {"values": [value_of(each) for each in value]}}
    return {"stringValue": value}


def pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def span(number: int, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    time = str(1_700_000_000_000_000_000 + number * 1000)
    about = {"traceId": "t1", "spanId": f"s{number}", "startTimeUnixNano": time}
    named = {"gen_ai.operation.name": "chat", **attributes}
    return {**about, "endTimeUnixNano": time, "attributes": pairs(named), **more}


def exported(*spans: dict[str, Any], logs: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    value: dict[str, Any] = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
    if logs:
        value["resourceLogs"] = [{"scopeLogs": [{"logRecords": list(logs)}]}]
    return value


def read(folder: Path, *values: dict[str, Any]) -> Transcript:
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    assert transcripts.detect(path).format == "otel"
    return transcripts.read(path)


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def chat(given: list[Any], made: list[Any], **more: Any) -> dict[str, Any]:
    said = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(made)}
    return {**said, "gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 2, **more}


HI, HO, WHY, SO = text("user", "Hi."), text("assistant", "Ho."), text("user", "Why?"), "So."


def texts(transcript: Transcript) -> list[str]:
    return [message.text for message in transcript.messages]


def test_the_history_is_said_again_and_counted_once(tmp_path: Path) -> None:
    spans = (span(1, chat([HI], [HO])), span(2, chat([HI, HO, WHY], [text("assistant", SO)])))
    arrived = read(tmp_path, exported(spans[1]), exported(spans[0]), exported(spans[0]))
    assert texts(arrived) == ["Hi.", "Ho.", "Why?", "So."]
    assert (arrived.usage.input_tokens, arrived.usage.output_tokens) == (10, 4)
    assert len(arrived.branches) == 1
    assert arrived.messages[1].metadata.usage is not None


@pytest.mark.parametrize("name", ["cache_write", "cache_creation"])
def test_tokens_written_to_a_cache_are_no_fresh_ones(name: str, tmp_path: Path) -> None:
    counts = {f"gen_ai.usage.{name}.input_tokens": 2}
    usage = read(tmp_path, exported(span(1, chat([HI], [HO], **counts)))).usage
    assert (usage.input_tokens, usage.cache_creation_input_tokens) == (3, 2)


def test_answers_of_the_same_request_are_branches(tmp_path: Path) -> None:
    two = span(3, chat([HI], [text("assistant", "Hm."), text("assistant", "Eh.")]))
    arrived = read(tmp_path, exported(span(1, chat([HI], [HO])), two))
    assert texts(arrived) == ["Hi.", "Hm."]
    assert [each.messages[-1].text for each in arrived.branches] == ["Hm.", "Ho.", "Eh."]
    assert arrived.usage.output_tokens == 4


def test_a_program_that_records_what_is_new_alone_is_read_in_order(tmp_path: Path) -> None:
    named = {"gen_ai.conversation.id": "c"}
    first = span(1, chat([HI], [HO], **named))
    second = span(2, chat([WHY], [text("assistant", SO)], **named), traceId="t2")
    arrived = read(tmp_path, exported(first), exported(second))
    assert arrived.id == "c"
    assert texts(arrived) == ["Hi.", "Ho.", "Why?", "So."]
    assert len(arrived.branches) == 1


def test_conversations_are_distinguished(tmp_path: Path) -> None:
    other = span(2, chat([WHY], [text("assistant", SO)]), traceId="t2")
    first = read(tmp_path, exported(span(1, chat([HI], [HO]))), exported(other))
    assert texts(first) == ["Hi.", "Ho."]
    assert "more conversations" in str(first.report.entries[0])
    both = transcripts.read_all(tmp_path / "trace.jsonl")
    assert [each.id for each in both] == ["t1", "t2"]


def test_thinking_that_the_history_leaves_out_is_kept(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "content": "Hm."}
    full = {"role": "assistant", "parts": [thought, *HO["parts"]]}
    later = span(2, chat([HI, HO, WHY], [text("assistant", SO)]))
    arrived = read(tmp_path, exported(span(1, chat([HI], [full])), later))
    assert arrived.messages[1].content == (il.ThinkingBlock("Hm."), il.TextBlock("Ho."))


def test_requests_inside_a_run_of_a_tool_are_a_helper(tmp_path: Path) -> None:
    run = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": "call_1"}
    arrived = read(
        tmp_path,
        exported(
            span(1, chat([HI], [HO])),
            span(2, run, parentSpanId="s1"),
            span(3, {"gen_ai.operation.name": "invoke_agent"}, parentSpanId="s2"),
            span(4, chat([WHY], [text("assistant", SO)]), parentSpanId="s3"),
        ),
    )
    assert texts(arrived) == ["Hi.", "Ho."]
    [helper] = arrived.subagents
    assert helper.tool_use_id == "call_1"
    assert texts(helper.transcript) == ["Why?", "So."]
    assert arrived.usage.output_tokens == 2


def test_helpers_are_written_inside_the_run_that_began_them(tmp_path: Path) -> None:
    inner = session().replace(id="looker", messages=session().messages[:6])
    outer = session().replace(subagents=(SubAgent(inner, "toolu_a"), SubAgent(inner, None)))
    report = transcripts.write(outer, tmp_path / "out.json", "otel")
    assert "$.subagents[1].messages[2]" in {loss.path for loss in report.entries}
    arrived = transcripts.read(tmp_path / "out.json")
    assert [*map(il.dumps, arrived.messages)] == [*map(il.dumps, session().messages)]
    assert [each.tool_use_id for each in arrived.subagents] == ["toolu_a", None]
    for each in arrived.subagents:
        assert each.transcript.id == "looker"
        assert [*map(il.dumps, each.transcript.messages)] == [*map(il.dumps, inner.messages)]
    assert arrived.usage.output_tokens == 15


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
OLD_EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("gen_ai.system.message", {"content": "Rules."}),
    ("gen_ai.user.message", {"content": "Look."}),
    ("gen_ai.assistant.message", {"tool_calls": [CALL]}),
    ("gen_ai.tool.message", {"id": "c1", "content": "a cat"}),
    ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "A cat."}}),
]


def check_old(arrived: Transcript) -> None:
    assert [str(each.role) for each in arrived.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert texts(arrived) == ["Rules.", "Look.", "", "", "A cat."]
    call = arrived.messages[2].content[0]
    assert isinstance(call, il.ToolUseBlock)
    assert (call.id, call.input) == ("c1", {"at": 1})
    result = arrived.messages[3].content[0]
    assert isinstance(result, il.ToolResultBlock)
    assert result.content == (il.TextBlock("a cat"),)
    assert arrived.messages[4].metadata.stop_reason is il.StopReason.END_TURN
    assert arrived.messages[4].metadata.model == "openai:gpt-4o"


ABOUT = {"gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o"}


def test_events_of_earlier_versions_are_read_from_logs(tmp_path: Path) -> None:
    logs = tuple(
        {"eventName": name, "traceId": "t1", "spanId": "s1", "body": value_of(body)}
        for name, body in OLD_EVENTS
    )
    check_old(read(tmp_path, exported(span(1, ABOUT), logs=logs)))


def test_events_of_earlier_versions_are_read_from_spans(tmp_path: Path) -> None:
    events = [
        {"name": name, "attributes": pairs({"gen_ai.event.content": json.dumps(body)})}
        for name, body in OLD_EVENTS
    ]
    check_old(read(tmp_path, exported(span(1, ABOUT, events=events))))


def test_prompts_of_the_oldest_version_are_read(tmp_path: Path) -> None:
    prompt = json.dumps([{"role": "user", "content": "Hi."}])
    answer = json.dumps([{"role": "assistant", "content": "Ho."}])
    events = [
        {"name": "gen_ai.content.prompt", "attributes": pairs({"gen_ai.prompt": prompt})},
        {"name": "gen_ai.content.completion", "attributes": pairs({"gen_ai.completion": answer})},
    ]
    assert texts(read(tmp_path, exported(span(1, {}, events=events)))) == ["Hi.", "Ho."]


@pytest.mark.parametrize("named", [True, False])
def test_details_of_a_request_are_read_from_its_event(named: bool, tmp_path: Path) -> None:
    details = {"gen_ai.input.messages": [HI], "gen_ai.output.messages": [HO]}
    log = {"traceId": "t1", "spanId": "s1", "attributes": pairs(details)}
    log |= {"eventName": "gen_ai.client.inference.operation.details"}
    spans = (span(1, {"gen_ai.usage.output_tokens": 7}),) if named else ()
    arrived = read(tmp_path, exported(*spans, logs=(log,)))
    assert texts(arrived) == ["Hi.", "Ho."]
    assert arrived.usage.output_tokens == (7 if named else None)


def test_what_only_an_agent_tells_is_read_from_it(tmp_path: Path) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    whole = span(2, {**chat([HI], [HO]), **agent})
    assert texts(read(tmp_path, exported(span(1, {}, parentSpanId="s2"), whole))) == ["Hi.", "Ho."]


def test_a_trace_without_what_was_said_still_counts(tmp_path: Path) -> None:
    used = {"gen_ai.usage.input_tokens": 3, "gen_ai.response.model": "m-1"}
    arrived = read(tmp_path, exported(span(1, used)))
    assert (arrived.messages, arrived.usage.input_tokens) == ((), 3)
    assert arrived.models == ("m-1",)
    assert "does not contain message content" in str(arrived.report.entries[0])


def test_results_without_an_id_answer_the_first_open_call(tmp_path: Path) -> None:
    calls = [{"type": "tool_call", "name": each, "arguments": {}} for each in ("a", "b")]
    results = [{"type": "tool_call_response", "response": {"n": each}} for each in (1, 2)]
    items = [HI, {"role": "assistant", "parts": calls}, {"role": "tool", "parts": results}]
    arrived = read(tmp_path, exported(span(1, chat(items, [HO]))))
    made = [call.id for call in arrived.messages[1].tool_calls]
    answered = [message.content[0] for message in arrived.messages[2:4]]
    assert [each.tool_use_id for each in answered] == made  # type: ignore[union-attr]
    assert answered[1].content == (il.TextBlock('{"n":2}'),)  # type: ignore[union-attr]


def test_instructions_and_an_answer_alone_are_read(tmp_path: Path) -> None:
    messages = (il.Message.system("Be brief."), session().messages[-1])
    transcripts.write(session().replace(messages=messages), tmp_path / "two.json", "otel")
    again = transcripts.read(tmp_path / "two.json").messages
    assert [*map(il.dumps, again)] == [*map(il.dumps, messages)]


def test_what_is_written_is_not_changed_by_it(tmp_path: Path) -> None:
    odd = {"gen_ai.system_instructions": json.dumps([{"type": "text", "content": 7}])}
    arrived = read(tmp_path, exported(span(1, chat([HI], [HO], **odd))))
    before = [*map(il.dumps, arrived.messages)]
    transcripts.write(arrived.replace(origin=None), tmp_path / "anew.json", "otel")
    assert [*map(il.dumps, arrived.messages)] == before


def test_parts_that_are_new_are_kept_and_written_again(tmp_path: Path) -> None:
    parts = [{"type": "hologram", "beams": 3}, {"type": "compaction", "content": "Short."}]
    arrived = read(tmp_path, exported(span(1, chat([{"role": "user", "parts": parts}], [HO]))))
    first = arrived.messages[0]
    assert [block.type for block in first.content] == ["unknown", "compaction"]
    transcripts.write(arrived.replace(origin=None), tmp_path / "anew.json", "otel")
    assert transcripts.read(tmp_path / "anew.json").messages == arrived.messages


@pytest.mark.parametrize("garbage", [b"\xff\xfe", b"{", b"[1, 2]", b"null", b'{"a": 7}', b"\x00"])
def test_garbled_lines_of_a_trace_are_named_and_left_out(garbage: bytes, tmp_path: Path) -> None:
    transcripts.write(session(), tmp_path / "one.jsonl", "otel")
    line = (tmp_path / "one.jsonl").read_bytes()
    (tmp_path / "odd.jsonl").write_bytes(line + garbage + b"\n" + line)
    arrived = transcripts.read(tmp_path / "odd.jsonl", "otel")
    assert said(arrived) == said(session())
    assert [loss.path for loss in arrived.report.entries] == ["line 2"]


def test_messages_that_are_no_json_are_named(tmp_path: Path) -> None:
    odd = {**chat([HI], [HO]), "gen_ai.input.messages": "[{"}
    arrived = read(tmp_path, exported(span(1, odd)))
    assert texts(arrived) == ["Ho."]
    assert [loss.path for loss in arrived.report.entries] == [
        "line 1, span 1, gen_ai.input.messages"
    ]


def test_a_trace_of_something_else_is_refused_with_words(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="no readable model request"):
        read(tmp_path, exported(span(1, {"gen_ai.operation.name": "GET /"})))


def written(transcript: Transcript, folder: Path) -> list[dict[str, Any]]:
    transcripts.write(transcript, folder / "out.json", "otel")
    value = json.loads((folder / "out.json").read_bytes())
    [resource] = value["resourceSpans"]
    [scope] = resource["scopeSpans"]
    return [
        {each["key"]: each["value"] for each in span["attributes"]}  # type: ignore[misc]
        for span in scope["spans"]
    ]


def test_what_is_written_obeys_the_conventions(tmp_path: Path) -> None:
    tool = ToolDefinition("read", "Reads.", {"type": "object"})
    spans = written(session().replace(tools=(tool,)), tmp_path)
    for attributes in spans:
        assert ASKED_OF_SPANS <= attributes.keys() <= TOLD_BY_SPANS
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            for entry in json.loads(attributes.get(key, {}).get("stringValue", "[]")):
                assert entry["role"] in ("system", "user", "assistant", "tool")
                for part in entry["parts"]:
                    assert REQUIRED[part["type"]] <= part.keys()
    assert json.loads(spans[-1]["gen_ai.tool.definitions"]["stringValue"])[0]["name"] == "read"


def test_what_is_written_has_the_names_of_the_library(tmp_path: Path) -> None:
    names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    known = {value for key, value in vars(names).items() if key.startswith("GEN_AI_")}
    collected = {key for attributes in written(session(), tmp_path) for key in attributes}
    assert collected <= known


def test_what_is_written_is_otlp(tmp_path: Path) -> None:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    formats = pytest.importorskip("google.protobuf.json_format")
    transcripts.write(session(), tmp_path / "out.json", "otel")
    value = json.loads((tmp_path / "out.json").read_bytes())
    spans = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for each in spans:  # OTLP has ids as hexadecimal digits, protobuf's own JSON as base64
        for key in ("traceId", "spanId"):
            each[key] = base64.b64encode(bytes.fromhex(each[key])).decode()
    request = formats.ParseDict(value, service.ExportTraceServiceRequest())
    assert len(request.resource_spans[0].scope_spans[0].spans) == 3


def test_a_trace_grows_with_the_session_and_not_with_its_square(tmp_path: Path) -> None:
    def size(turns: int) -> int:
        messages = session().messages * turns
        transcripts.write(session().replace(messages=messages), tmp_path / f"{turns}", "otel")
        return (tmp_path / f"{turns}").stat().st_size

    assert size(40) < 2.2 * size(20)


def test_a_session_that_speaks_of_otlp_is_not_taken_for_it(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    row = {"messages": [{"role": "user", "content": "resourceSpans"}]}
    file.write_text(json.dumps(row))
    assert transcripts.detect(file).format == "openai-finetune"
    file.write_text(json.dumps({"resourceMetrics": []}) + "\n" + json.dumps({"resourceSpans": []}))
    assert transcripts.detect(file).format == "otel"
