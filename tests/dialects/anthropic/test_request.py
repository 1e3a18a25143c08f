"""Requests: turns, instructions, and what else a body says."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.anthropic import DIALECT
from interlingua.dialects.anthropic.tables import DEFAULT_MAX_TOKENS
from interlingua.errors import ReadError
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role
from tests.dialects.anthropic.wires import (
    CALL,
    TOOL,
    assistant,
    body,
    losses,
    read,
    result,
    text,
    user,
    write,
)


@pytest.mark.requirement("S000-22", "S001-7")
def test_one_text_of_instructions_is_the_system_string() -> None:
    wire, report = write(Message.system("Be brief."), Message.user("Hi"))
    assert wire["system"] == "Be brief."
    assert losses(report) == []
    for system in ("Be brief.", [text("Be brief.")]):
        assert write(*read(body(system=system)).messages)[0]["system"] == system


@pytest.mark.requirement("S000-22", "S001-7")
def test_leading_instructions_are_one_system_field() -> None:
    wire, report = write(Message.system("Be brief."), Message.developer("Be kind."))
    assert wire["system"] == [text("Be brief."), text("Be kind.")]
    assert wire["messages"] == []
    assert losses(report) == [("downgraded", "$.messages[1].role")]


@pytest.mark.parametrize("system", ["Be brief.", [text("Be"), text("brief.")]])
def test_the_system_field_is_one_message(system: Any) -> None:
    first = read(body(system=system)).messages[0]
    assert (first.role, first.text.replace(" ", "")) == (Role.SYSTEM, "Bebrief.")


@pytest.mark.parametrize("system", ["", [], None])
def test_a_blank_system_field_is_no_message(system: Any) -> None:
    assert [m.role for m in read(body(system=system)).messages] == [Role.USER]


def test_keys_we_do_not_know_are_kept_where_they_were() -> None:
    turn = {**user(text("Hi")), "clear_at": "never", "nothing": None}
    request = read(body(turn, container="container_1", context_management={"edits": []}))
    assert request.raw is not None
    assert request.raw["anthropic"]["container"] == "container_1"


def test_other_dialects_raw_is_a_loss_and_their_spelling_is_not() -> None:
    raw = {"openai-chat": {"store": True, "$form": {"n": None}}}
    written = DIALECT.write_request(
        Request((Message.user("Hi"),), "m", options=Options(max_output_tokens=9), raw=raw)
    )
    assert losses(written.report) == [("dropped", "$.raw.openai-chat.store")]


def test_other_hosts_have_the_model_in_the_url() -> None:
    wire = body(anthropic_version="bedrock-2023-05-31")
    del wire["model"]
    request = DIALECT.read_request(wire, model="anthropic.claude", stream=True)
    assert (request.model, request.options.stream) == ("anthropic.claude", True)
    written = DIALECT.write_request(request.replace(model="another"))
    assert (written.wire, written.model, written.stream) == (wire, "another", True)
    read(wire)


def test_a_thread_goes_on_from_a_message() -> None:
    thread = {"type": "continue", "previous_message_id": "msg_0"}
    assert read(body(thread=thread)).continues == Continues(response_id="msg_0")
    assert read(body(thread={"type": "create"})).continues is None
    limited = Options(max_output_tokens=9)
    request = Request(options=limited, continues=Continues(response_id="resp_0"))
    report = DIALECT.write_request(request).report
    assert [(loss.path, loss.severity) for loss in report.entries] == [("$.continues", "error")]


def test_a_limit_is_filled_in_where_none_is_given() -> None:
    assert write(Message.user("Hi"))[0]["max_tokens"] == DEFAULT_MAX_TOKENS
    wire = body()
    del wire["max_tokens"]
    assert read(wire).options.max_output_tokens is None


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({"messages": {}}, "$.messages"),
        (body({"role": "tool", "content": "x"}), "$.messages[0].role"),
        (body(user(text("a")), user(text("a"), 5)), "$.messages[1].content[1]"),
        (body(user({"type": "text"})), "$.messages[0].content[0].text"),
        (
            body(user(result([text("a"), {"type": "text"}]))),
            "$.messages[0].content[0].content[1].text",
        ),
        (body(assistant({**CALL, "input": "{}"})), "$.messages[0].content[0].input"),
        (body(tools=[TOOL, {"name": 7}]), "$.tools[1].name"),
        (body(max_tokens="many"), "$.max_tokens"),
        (body(model=7), "$.model"),
    ],
)
def test_a_wrong_shape_is_an_error_that_names_the_place(wire: Any, path: str) -> None:
    with pytest.raises(ReadError) as caught:
        DIALECT.read_request(wire)
    assert caught.value.path == path
