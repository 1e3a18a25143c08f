"""Thinking that a service removed is reported in the words of the client's vendor."""

from __future__ import annotations

import json
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.transformations import carried, seal_of

KEY = "input_transformations"
CLAUDE = {
    "messages": [
        {"role": "user", "content": "2 + 2?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "one"},
                {"type": "redacted_thinking", "data": "two"},
                {"type": "text", "text": "Four."},
            ],
        },
    ]
}
OPENAI = {
    "input": [
        {"role": "user", "content": "2 + 2?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "one"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "two"},
    ]
}
BODIES = {"anthropic": CLAUDE, "openai-responses": OPENAI}
REASONS = {
    "model_binding_mismatch": "model_mismatch",
    "prefix_binding_mismatch": "prefix_mismatch",
    "organization_binding_mismatch": "organization_mismatch",
    "end_user_binding_mismatch": "end_user_mismatch",
}
OTHERS = sorted(set(il.dialects()) - set(BODIES))


def dropped(reason: str, kind: str = "thinking_dropped") -> dict[str, Any]:
    return {"type": kind, "path": "messages.1.content.1", "reason": reason}


def removed(reason: str) -> dict[str, Any]:
    return {"id": "rs_2", "action": "removed", "reason": reason, "type": "reasoning"}


def body(dialect: str, entries: Any) -> dict[str, Any]:
    """A whole answer with these entries."""
    answer = il.Response(il.Message.assistant("Yes.", il.MessageMetadata(usage=il.Usage(9, 1))))
    return {**il.dialect(dialect).write_response(answer).wire, KEY: entries}


def answer(dialect: str, *entries: Any) -> il.Response:
    return il.dialect(dialect).read_response(body(dialect, list(entries)))


def moved(response: il.Response, source: str, target: str) -> il.Response:
    return carried(response, source, target, BODIES[source], BODIES[target])


def told(response: il.Response, dialect: str) -> tuple[Any, list[str]]:
    """The entries as a dialect writes them, and the codes of what it cannot say of them."""
    written = il.dialect(dialect).write_response(response)
    codes = [each.code for each in written.report.entries if KEY in each.path]
    return written.wire.get(KEY), codes


@pytest.mark.parametrize(("theirs", "ours"), REASONS.items())
def test_entries_travel_between_the_two_vendors_and_back(theirs: str, ours: str) -> None:
    there = moved(answer("anthropic", dropped(theirs)), "anthropic", "openai-responses")
    assert told(there, "openai-responses") == ([removed(ours)], [])
    (entry,) = there.message.metadata.input_transformations
    assert entry == il.InputTransformation("removed", ours, id="rs_2")  # type: ignore[arg-type]  # of a table
    back = moved(there, "openai-responses", "anthropic")
    assert told(back, "anthropic") == ([dropped(theirs)], [])


def test_a_place_is_found_by_its_number_where_seals_were_replaced() -> None:
    items = [
        {k: v for k, v in item.items() if k != "encrypted_content"} for item in OPENAI["input"]
    ]
    source = answer("anthropic", dropped("model_binding_mismatch"))
    there = carried(source, "anthropic", "openai-responses", CLAUDE, {"input": items})
    assert told(there, "openai-responses") == ([removed("model_mismatch")], [])
    fewer = carried(source, "anthropic", "openai-responses", CLAUDE, {"input": items[:2]})
    assert told(fewer, "openai-responses") == (None, ["thinking_unplaced"])
    assert told(fewer, "anthropic") == ([dropped("model_binding_mismatch")], [])


@pytest.mark.parametrize(
    ("source", "target", "entry", "codes"),
    [
        (
            *("openai-responses", "anthropic"),
            *(removed("turn_boundary"), ["thinking_unplaced"]),
        ),
        (
            *("openai-responses", "anthropic"),
            *(removed("a new reason"), ["thinking_unplaced"]),
        ),
        (
            *("anthropic", "openai-responses"),
            *(
                dropped("prefix_binding_mismatch", "thinking_mismatch_allowed"),
                ["input_transformation_unsupported"],
            ),
        ),
        (
            *("anthropic", "openai-responses"),
            *(
                dropped("prefix_binding_mismatch", "image_resized"),
                ["input_transformation_unsupported"],
            ),
        ),
    ],
)
def test_what_the_other_vendor_cannot_say_is_in_the_report(
    source: str, target: str, entry: dict[str, Any], codes: list[str]
) -> None:
    there = moved(answer(source, entry), source, target)
    assert told(there, target) == (None, codes)


@pytest.mark.parametrize("target", OTHERS)
@pytest.mark.parametrize("source", BODIES)
def test_dialects_without_a_word_for_it_report_each_entry(source: str, target: str) -> None:
    entry = dropped("model_binding_mismatch") if source == "anthropic" else removed("turn_boundary")
    response = answer(source, entry, entry)
    assert told(response, target) == (None, ["thinking_removed"] * 2)


@pytest.mark.parametrize(
    ("dialect", "entries"),
    [
        ("anthropic", []),
        ("anthropic", None),
        ("anthropic", [dropped("prefix_binding_mismatch"), dropped("a new reason")]),
        ("anthropic", [dropped("prefix_binding_mismatch", "thinking_mismatch_allowed")]),
        ("anthropic", [{**dropped("prefix_binding_mismatch"), "more": 1}, {}]),
        ("anthropic", [{"type": "image_resized", "path": None, "size": [1, 2]}]),
        ("anthropic", [dropped("prefix_binding_mismatch"), "what"]),
        ("anthropic", [{"type": 1, "path": "p"}]),
        ("anthropic", {"a": 1}),
        ("openai-responses", []),
        ("openai-responses", None),
        ("openai-responses", [removed("turn_boundary"), removed("a new reason")]),
        ("openai-responses", [{**removed("turn_boundary"), "type": "message"}]),
        ("openai-responses", [{"id": "rs_2"}]),
        ("openai-responses", [1]),
    ],
)
def test_what_a_vendor_reports_goes_home(dialect: str, entries: Any) -> None:
    wire = body(dialect, entries)
    codec = il.dialect(dialect)
    response = codec.read_response(wire)
    stored = il.loads(il.dumps(response), il.Response)
    for each in (response, stored):
        written = codec.write_response(each)
        assert written.wire == wire
        assert written.report.entries == []


def test_an_edit_wins_over_what_was_read() -> None:
    response = answer("anthropic", {**dropped("a new reason"), "more": 1})
    metadata = response.message.metadata
    (found,) = metadata.input_transformations
    assert (found.action, found.reason, found.path) == ("removed", None, "messages.1.content.1")
    changed = metadata.replace(input_transformations=(found.replace(reason="model_mismatch"),))
    edited = response.replace(message=response.message.replace(metadata=changed))
    assert told(edited, "anthropic")[0] == [{**dropped("model_binding_mismatch"), "more": 1}]
    none = metadata.replace(input_transformations=())
    assert told(response.replace(message=response.message.replace(metadata=none)), "anthropic") == (
        None,
        [],
    )


def test_a_stream_of_anthropic_says_them_at_its_beginning_or_its_end() -> None:
    """The end counts where another model took over."""
    started = {**body("anthropic", [dropped("model_binding_mismatch")]), "content": []}
    ending: dict[str, Any] = {"delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    ending["usage"] = {"output_tokens": 1}
    for late in (None, [dropped("prefix_binding_mismatch")]):
        steps = [
            {"type": "message_start", "message": started},
            {"type": "message_delta", **ending, **({} if late is None else {KEY: late})},
            {"type": "message_stop"},
        ]
        frames = [il.Frame(each["type"], json.dumps(each)) for each in steps]
        reader = il.dialect("anthropic").stream_reader()
        events = [event for frame in frames for event in reader.feed(frame)]
        (found,) = il.fold([*events, *reader.close()]).message.metadata.input_transformations
        assert found.reason == ("model_mismatch" if late is None else "prefix_mismatch")
        writer = il.dialect("anthropic").stream_writer()
        home = [frame for event in events for frame in writer.feed(event)]
        assert [json.loads(frame.data) for frame in [*home, *writer.close()]] == steps


def test_the_signature_of_an_entry_is_found_in_the_body() -> None:
    for dialect, entry in (
        ("anthropic", dropped("model_binding_mismatch")),
        ("openai-responses", removed("turn_boundary")),
    ):
        (found,) = answer(dialect, entry).message.metadata.input_transformations
        assert seal_of(found, BODIES[dialect]) == "two"
    assert seal_of(il.InputTransformation(), CLAUDE) is None
