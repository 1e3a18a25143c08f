"""Cache breakpoints and keys that are added to requests without any."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.caching import Caching, conversation_key
from interlingua.adapt.request import adapt, write
from interlingua.client.targets import Targets
from interlingua.sessions.adapters.adapter import Adapter
from tests.laws.acceptable import problems

LONG = "You are a careful assistant, and you answer in one sentence. " * 120
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Says how warm it is. " * 300,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
CLAUDE = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "bedrock": "bedrock:anthropic.claude-sonnet-4-6",
    "openrouter": "openrouter:anthropic/claude-sonnet-4.6",
    "vertex": "vertex:claude-sonnet-4-6",
}
MARKS = re.compile(r'"cache_control"|"cachePoint"|"prompt_cache_breakpoint"')


def call(number: int) -> list[dict[str, Any]]:
    function = {"name": "weather", "arguments": '{"city": "Rome"}'}
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{number} degrees"},
    ]


def chat(turns: int = 2, system: str = LONG, **more: Any) -> dict[str, Any]:
    """A request of an agent, with so many turns of tools."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": "How warm is it?"})
    for number in range(turns):
        messages += call(number)
    return {"model": "m", "messages": messages, "tools": [TOOL], **more}


def sent(body: Any, model: str, caching: Caching = "auto", source: str = "openai-chat") -> Any:
    dialect = {"vertex": "anthropic"}.get(name := model.partition(":")[0], name)
    dialect = {"openai": "openai-chat", "mistral": "openai-chat"}.get(dialect, dialect)
    return il.convert(body, source, dialect, model=model, caching=caching)


def marks(wire: Any) -> int:
    return len(MARKS.findall(json.dumps(wire)))


def codes(written: Any) -> list[str]:
    return [entry.code for entry in written.report.notes]


@pytest.mark.parametrize("model", CLAUDE.values(), ids=CLAUDE)
def test_claude_gets_a_breakpoint_behind_tools_system_and_the_last_two_turns(model: str) -> None:
    written = sent(chat(), model)
    wire = written.wire
    assert marks(wire) == 4
    assert codes(written).count("cache_breakpoint_added") == 4
    tools = wire["toolConfig"]["tools"] if "toolConfig" in wire else wire["tools"]
    assert marks(tools[-1]) == 1
    system = wire["messages"][0] if "system" not in wire else wire["system"]
    assert marks(system) == 1
    assert [marks(turn) for turn in wire["messages"][-3:]] == [1, 0, 1]


@pytest.mark.parametrize("model", CLAUDE.values(), ids=CLAUDE)
@pytest.mark.parametrize("turns", [0, 1, 5])
def test_the_official_types_accept_every_body(model: str, turns: int) -> None:
    dialect = {"vertex": "anthropic"}.get(name := model.partition(":")[0], name)
    for body in (chat(turns), chat(turns, prompt_cache_retention="24h")):
        wire = sent(body, model).wire
        assert marks(wire) <= 4
        assert problems(dialect, "request", wire) == []


@pytest.mark.parametrize(
    "said",
    [
        {"prompt_cache_options": {"mode": "explicit"}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": LONG * 2}]}]},
    ],
    ids=["mode", "mark"],
)
def test_one_mark_of_the_client_is_all_there_is(said: dict[str, Any]) -> None:
    body = {**chat(), **said}
    if "messages" in said:
        said["messages"][0]["content"][0]["prompt_cache_breakpoint"] = {"mode": "explicit"}
    written = sent(body, CLAUDE["anthropic"])
    assert marks(written.wire) == ("messages" in said)
    assert "cache_breakpoint_added" not in codes(written)


def test_what_is_too_short_to_be_cached_gets_no_breakpoint() -> None:
    body = chat(system="Be brief.", tools=[])
    assert marks(sent(body, CLAUDE["anthropic"]).wire) == 0
    assert marks(sent(chat(tools=[]), "anthropic:claude-sonnet-4-6").wire) == 3
    # Claude Opus 4.5 caches nothing below 4,096 tokens
    middle = chat(system=LONG, tools=[])
    assert marks(sent(middle, "anthropic:claude-opus-4-5").wire) == 0
    assert marks(sent(chat(system=LONG * 4, tools=[]), "anthropic:claude-opus-4-5").wire) == 3


@pytest.mark.parametrize(
    ("said", "ttl"),
    [
        ({}, None),
        ({"prompt_cache_retention": "in_memory"}, None),
        ({"prompt_cache_retention": "24h"}, "1h"),
        ({"prompt_cache_options": {"ttl": "30m"}}, "1h"),
        ({"prompt_cache_options": {"ttl": "12h"}}, "1h"),
        ({"prompt_cache_options": {"ttl": "30m"}, "prompt_cache_retention": "in_memory"}, "1h"),
    ],
)
def test_lifetimes_are_mapped_and_noted(said: dict[str, Any], ttl: str | None) -> None:
    written = sent(chat(**said), CLAUDE["anthropic"])
    found = written.wire["system"][-1]["cache_control"]
    assert found == ({"type": "ephemeral"} if ttl is None else {"type": "ephemeral", "ttl": ttl})
    times = len(said.get("prompt_cache_options", {})) + ("prompt_cache_retention" in said)
    assert codes(written).count("cache_lifetime") == times
    assert written.report.losses == sent(chat(), CLAUDE["anthropic"]).report.losses


def test_older_claude_on_bedrock_has_five_minutes_only() -> None:
    body = chat(system=LONG * 4, prompt_cache_retention="24h")
    wire = sent(body, "bedrock:anthropic.claude-sonnet-4-20250514-v1:0").wire
    assert marks(wire) == 4
    assert "1h" not in json.dumps(wire["system"][-1])


def test_a_key_stays_with_its_conversation_and_its_owner() -> None:
    first, later, other = sent(chat(0), "openai:gpt-5"), sent(chat(3), "openai:gpt-5"), chat(0)
    other["messages"][1]["content"] = "How cold is it?"
    key = first.wire["prompt_cache_key"]
    assert len(key) <= 64
    assert later.wire["prompt_cache_key"] == key
    assert sent(other, "openai:gpt-5").wire["prompt_cache_key"] != key
    assert sent(chat(0), "mistral:mistral-large-latest").wire["prompt_cache_key"] == key
    assert codes(first) == ["cache_key_added"]
    assert "prompt_cache_key" not in sent(chat(0, "Short.", tools=[]), "openai:gpt-5").wire
    assert sent(chat(prompt_cache_key="own"), "openai:gpt-5").wire["prompt_cache_key"] == "own"
    request = il.dialect("openai-chat").read_request(chat(0))
    assert conversation_key(request, "ada") != conversation_key(request, "bob")


def test_keys_are_mapped_both_ways_and_gemini_is_left_alone() -> None:
    there = il.convert(chat(prompt_cache_key="k"), "openai-chat", "openai-responses").wire
    back = il.convert(there, "openai-responses", "openai-chat").wire
    assert (there["prompt_cache_key"], back["prompt_cache_key"]) == ("k", "k")
    gemini = il.convert(chat(), "openai-chat", "gemini", model="gemini-2.5-pro", caching="auto")
    plain = il.convert(chat(), "openai-chat", "gemini", model="gemini-2.5-pro")
    assert gemini.wire == plain.wire
    groq = il.convert(chat(prompt_cache_key="k"), "openai-chat", "groq", model="groq:llama-3.3-70b")
    assert "prompt_cache_key" not in groq.wire


def test_modes_are_pass_by_default_and_off_removes_what_the_client_said() -> None:
    body = il.convert(chat(), "openai-chat", "anthropic", model="claude-sonnet-4-6").wire
    assert marks(body) == 0
    marked = sent(chat(), CLAUDE["anthropic"]).wire
    stored = il.convert(marked, "anthropic", "bedrock", model=CLAUDE["bedrock"])
    assert marks(stored.wire) == 4
    off = il.convert(marked, "anthropic", "bedrock", model=CLAUDE["bedrock"], caching="off")
    assert marks(off.wire) == 0
    assert [entry.code for entry in off.report.notes].count("cache_off") == 4
    home = il.convert(marked, "anthropic", "anthropic", caching="off")
    assert marks(home.wire) == 0
    with pytest.raises(ValueError, match="caching is one of auto, pass, off"):
        il.convert(chat(), "openai-chat", "anthropic", caching="always")  # type: ignore[arg-type]


def bare(value: Any) -> Any:
    """A body without its breakpoints. A string and a list of one text are the same prompt."""
    if isinstance(value, list):
        parts = [part for part in value if not (isinstance(part, dict) and "cachePoint" in part)]
        return [bare(part) for part in parts]
    if not isinstance(value, dict):
        return value
    out = {key: bare(each) for key, each in value.items() if key != "cache_control"}
    for key in ("content", "system"):
        if isinstance(out.get(key), str):
            out[key] = [{"type": "text", "text": out[key]}]
    return out


@pytest.mark.parametrize("model", CLAUDE.values(), ids=CLAUDE)
def test_apart_from_the_marks_no_earlier_byte_moves(model: str) -> None:
    before: list[str] = []
    for turns in range(1, 8):
        wire = bare(sent(chat(turns), model).wire)
        now = [json.dumps(each) for each in wire["messages"]]
        assert now[: len(before)] == before
        before = now
        head = {key: value for key, value in wire.items() if key != "messages"}
        plain = bare(sent(chat(turns), model, "pass").wire)
        assert head == {key: plain[key] for key in head}
        assert json.dumps(wire["messages"]) == json.dumps(plain["messages"])


@pytest.mark.parametrize("model", CLAUDE.values(), ids=CLAUDE)
def test_a_remembered_conversation_gives_the_same_bytes(model: str) -> None:
    dialect = {"vertex": "anthropic"}.get(name := model.partition(":")[0], name)
    converter = il.Converter("openai-chat", dialect, model=model, caching="auto")
    for turns in range(1, 9):
        body = json.dumps(chat(turns)).encode()
        whole = il.convert(body, "openai-chat", dialect, model=model, caching="auto")
        found = converter.convert(body)
        assert found.json() == whole.json()
        assert found.report.entries == whole.report.entries
        assert marks(found.wire) == 4
    assert converter.figures.hits == 7


@pytest.mark.parametrize("id", [CLAUDE["anthropic"], "openai:gpt-5", CLAUDE["openrouter"]])
def test_a_session_and_the_client_send_the_same_body(id: str) -> None:
    request = il.dialect("openai-chat").read_request(chat())
    written = Adapter(id).to_wire(request.messages, request.tools, request.options)
    targets = Targets(environ={})
    target = targets.find(id)
    requested = target.asking(request, None)
    body = write(adapt(requested, target))
    assert body.wire == written.wire
    assert body.report.entries == written.report.entries
    assert codes(body)
    passed = codes(write(adapt(requested, target.with_caching("pass"))))
    assert not {"cache_breakpoint_added", "cache_key_added"} & {*passed}


@pytest.mark.parametrize("system", ["Be brief.", LONG], ids=["short", "long"])
def test_breakpoints_of_the_next_turn_are_those_of_a_whole_conversion(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CLAUDE["anthropic"]
    converter = il.Converter("openai-chat", "anthropic", model=model, caching="auto")
    bodies = [json.dumps(chat(turns, system)).encode() for turns in range(2, 6)]
    expected = [sent(body, model) for body in bodies]
    assert converter.convert(bodies[0]).json() == expected[0].json()
    monkeypatch.setattr("interlingua.adapt.caching._Marking", None)  # which would look at it whole
    for body, whole in zip(bodies[1:], expected[1:], strict=True):
        found = converter.convert(body)
        assert found.json() == whole.json()
        assert found.report.entries == whole.report.entries


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (CLAUDE["bedrock"], "cachePoint"),
        (CLAUDE["vertex"], "cache_control"),
        (CLAUDE["anthropic"], None),
        (CLAUDE["openrouter"], None),
    ],
    ids=["bedrock", "vertex", "anthropic", "openrouter"],
)
def test_a_mark_for_the_whole_request_stands_at_its_end_where_no_other_place_is(
    model: str, place: str | None
) -> None:
    plain = sent(chat(), CLAUDE["anthropic"], "pass").wire
    whole = {**plain, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    written = sent(whole, model, source="anthropic")
    assert marks(written.wire) == 1
    assert codes(written).count("cache_at_the_end") == (place is not None)
    assert codes(written).count("cache_breakpoint_added") == (place is not None)
    assert ("cache_control" in written.wire) is (place is None)
    if place is not None:
        (mark,) = [each for each in written.wire["messages"][-1]["content"] if place in each]
        assert mark[place]["ttl"] == "1h"
        dialect = "bedrock" if place == "cachePoint" else "anthropic"
        assert problems(dialect, "request", written.wire) == []
    assert marks(sent(whole, model, "off", "anthropic").wire) == 0


def test_a_mark_for_the_whole_request_counts_as_one_of_four() -> None:
    body = sent(chat(2), CLAUDE["anthropic"], "pass").wire
    for turn in body["messages"]:
        content = turn["content"]
        turn["content"] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        turn["content"][0]["cache_control"] = {"type": "ephemeral"}
    body["cache_control"] = {"type": "ephemeral"}
    for name, model in CLAUDE.items():
        wire = sent(body, model, source="anthropic").wire
        assert marks(wire) == (3 if name == "openrouter" else 4), name  # no place on calls there
        assert problems({"vertex": "anthropic"}.get(name, name), "request", wire) == [], name


@pytest.mark.parametrize("model", CLAUDE.values(), ids=CLAUDE)
@pytest.mark.parametrize("caching", ["auto", "pass"])
def test_a_clients_own_marks_last_as_long_as_it_asks(model: str, caching: Caching) -> None:
    part = {"type": "text", "text": LONG, "prompt_cache_breakpoint": {"mode": "explicit"}}
    messages = [{"role": "system", "content": [part]}, {"role": "user", "content": "Hello"}]
    for content, ttl in (
        ({"prompt_cache_options": {"mode": "explicit", "ttl": "12h"}}, "1h"),
        ({"prompt_cache_options": {"mode": "explicit", "ttl": "30m"}}, "1h"),
        ({"prompt_cache_retention": "in_memory"}, None),
    ):
        written = sent({"model": "m", "messages": messages, **content}, model, caching)
        found = re.findall(r'"ttl": "(\w+)"', json.dumps(written.wire))
        assert (marks(written.wire), found) == (1, [] if ttl is None else [ttl])
        assert codes(written).count("cache_lifetime") == 1


def test_longer_lifetimes_stand_first_at_openrouter_too() -> None:
    short, long = ({"type": "ephemeral", "ttl": ttl} for ttl in ("5m", "1h"))
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": [{"type": "text", "text": LONG, "cache_control": short}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": LONG, "cache_control": long}]}
        ],
    }
    wire = sent(body, CLAUDE["openrouter"], source="anthropic").wire
    assert re.findall(r'"ttl": "(\w+)"', json.dumps(wire)) == ["5m", "5m"]


def test_no_breakpoint_stands_behind_a_text_document_at_bedrock() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "# Rye"}
    content = [{"type": "text", "text": "Read."}, {"type": "document", "source": source}]
    body = {"model": "m", "max_tokens": 9, "system": LONG}
    body["messages"] = [{"role": "user", "content": content}]
    for model, end in ((CLAUDE["bedrock"], "document"), ("vertex:claude-sonnet-4-6", "mark")):
        written = sent(body, model, source="anthropic")
        assert marks(written.wire) == 2
        *_, last = written.wire["messages"][0]["content"]
        assert ("mark" if "cache_control" in last else next(iter(last))) == end


@pytest.mark.parametrize(
    "result",
    [{"content": ""}, {"content": " "}, {"name": "f"}, {"odd": 1}, {"content": [*"ab"]}],
    ids=["empty", "blank", "named", "odd", "parts"],
)
def test_a_result_with_more_than_a_text_gets_the_same_breakpoint_in_a_next_turn(
    result: dict[str, Any],
) -> None:
    model, result = CLAUDE["anthropic"], dict(result)
    if isinstance(result.get("content"), list):
        result["content"] = [{"type": "text", "text": text} for text in result["content"]]
    converter = il.Converter("openai-chat", "anthropic", model=model, caching="auto")
    for turns in range(2, 6):
        body = chat(turns)
        if turns == 4:
            body["messages"][-1] = {**body["messages"][-1], **result}
        data = json.dumps(body).encode()
        found, whole = converter.convert(data), sent(data, model)
        assert found.json() == whole.json()
        assert found.report.entries == whole.report.entries
