"""What every canonical value is: immutable, equal by content."""

from __future__ import annotations

import ast
import copy
import hashlib
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua
from interlingua.errors import WriteError
from interlingua.model.base import Value, same
from interlingua.model.blocks import (
    TYPE_OF,
    DocumentBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from interlingua.model.codec import dumps, loads
from interlingua.model.exchange import AllOptionWords, Options, ProviderError, Request, Response
from interlingua.model.message import Message, Role, rewrite, walk
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.rules import validate
from interlingua.model.tools import ToolDefinition
from tests.laws import strategies as il
from tests.model.values import CALL, PICTURE, plain, some

requirement = pytest.mark.requirement


@requirement("S002-76", "S002-60")
def test_provider_data_plays_no_part_in_equality_and_digest() -> None:
    bare = Message.assistant([TextBlock("hi"), CALL])
    stored = bare.replace(
        content=(TextBlock("hi", raw={"openai-chat": {"x": 1}}), CALL.replace(raw={"gemini": {}})),
        metadata=MessageMetadata(provider_raw={"openai-chat": {"fingerprint": "fp"}}),
    )
    assert stored == bare
    assert (stored.digest(), hash(stored)) == (bare.digest(), hash(bare))
    assert dumps(stored) != dumps(bare)
    request = Request((bare,), "m", raw={"gemini": {"x": 1}})
    assert request == Request((stored,), "m")
    assert request.digest() == Request((stored,), "m").digest()


class Sealed(dict[str, Any]):
    """Nobody may look inside."""

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("somebody looked into provider data")

    __getitem__ = __iter__ = __contains__ = __len__ = __eq__ = _refuse
    get = keys = items = values = copy = _refuse
    __hash__ = None  # type: ignore[assignment]


@requirement("S002-60", "S002-76")
def test_core_code_does_not_look_into_provider_data() -> None:
    sealed = Message.assistant([TextBlock("a"), CALL], MessageMetadata(provider_raw=Sealed()))
    open_ = Message.assistant([TextBlock("a"), CALL])
    assert sealed == open_
    assert sealed.digest() == open_.digest()
    assert (sealed.text, sealed.reasoning, sealed.tool_calls) == ("a", "", [CALL])
    assert validate([sealed, Message.tool_result("tu_1")]) == []
    assert [path for path, _, _ in walk([sealed])] == ["$[0].content[0]", "$[0].content[1]"]
    assert rewrite(sealed, lambda block: [block]) is sealed


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (1, 1.0, True),
        (2**70, float(2**70), True),
        (0, -0.0, True),
        (True, 1, False),
        (False, 0, False),
        (None, False, False),
        ("1", 1, False),
        ([], {}, False),
        ([], [None], False),
        ({"a": None}, {}, False),
        ({"a": [1, {"b": True}]}, {"a": [1.0, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
    ],
)
def test_equality_and_digest_are_json_equality(a: Any, b: Any, equal: bool) -> None:
    first, second = ToolUseBlock("i", "n", {"x": a}), ToolUseBlock("i", "n", {"x": b})
    assert same(a, b) is equal
    assert (first == second) is equal
    assert (first != second) is not equal
    assert (first.digest() == second.digest()) is equal


def test_values_of_different_types_are_not_equal() -> None:
    assert ThinkingBlock("x") != TextBlock("x")
    assert TextBlock("x").digest() != ThinkingBlock("x").digest()
    assert TextBlock("x") != {"type": "text", "text": "x"}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Usage(cost_usd=Decimal("1.50")), Usage(cost_usd=Decimal("1.5"))),
        (Usage(cost_usd=Decimal("-0")), Usage(cost_usd=Decimal("0.000"))),
        (Usage(cost_usd=Decimal("1E+3")), Usage(cost_usd=Decimal("1000"))),
        (
            Diagnostic("x", timestamp=datetime(2026, 1, 1, 12, tzinfo=UTC)),
            Diagnostic(
                "x", timestamp=datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))
            ),
        ),
        (MessageMetadata(status=MessageStatus.COMPLETE), MessageMetadata()),
    ],
)
def test_equal_values_have_equal_digests(a: Value, b: Value) -> None:
    assert a == b
    assert (a != b) is False
    assert a.digest() == b.digest()


MONEY = st.decimals(allow_nan=False, allow_infinity=False)


@given(MONEY, MONEY)
def test_money_digests_are_equal_exactly_where_money_is(a: Decimal, b: Decimal) -> None:
    sign, digits, exponent = a.as_tuple()
    assert isinstance(exponent, int)
    longer = Decimal((sign, (0, *digits, 0), exponent - 1))
    assert Usage(cost_usd=a).digest() == Usage(cost_usd=longer).digest()
    assert (Usage(cost_usd=a).digest() == Usage(cost_usd=b).digest()) == (a == b)


def test_money_beyond_the_decimal_context_is_distinguished() -> None:
    a, b = Decimal("1." + "0" * 40 + "1"), Decimal("1." + "0" * 40 + "2")
    assert Usage(cost_usd=a).digest() != Usage(cost_usd=b).digest()
    assert len(Usage(cost_usd=Decimal("1E+999999")).digest()) == 64


@pytest.mark.parametrize(
    "odd",
    [float("nan"), float("inf"), "\ud800", 10**5000],
    ids=["nan", "infinity", "surrogate", "digits"],
)
def test_what_json_cannot_hold_has_no_digest(odd: Any) -> None:
    with pytest.raises(WriteError):
        ToolUseBlock("i", "n", {"x": odd}).digest()


@given(il.messages(with_raw=True))
@some
@requirement("S002-6")
def test_a_digest_survives_json_and_any_change_shows(message: Message) -> None:
    digest = message.digest()
    assert loads(dumps(message)).digest() == digest
    assert message.replace(name="somebody else").digest() != digest
    assert message.replace(content=(*message.content, TextBlock("more"))).digest() != digest


PROGRAM = """
import sys
from interlingua.model.codec import loads
from interlingua.model.exchange import AllOptionWords, Options
from interlingua.model.message import Message
for message in loads(sys.stdin.buffer.read(), list[Message]):
    print(message.digest(), hash(message.role) != 0)
"""


@requirement("S002-6")
def test_a_digest_is_the_same_in_every_process() -> None:
    content = [
        TextBlock("\u4e16\u754c"),
        ToolUseBlock("a", "b", {"z": 1, "a": {"y": 1.0, "x": []}}),
    ]
    messages = [
        Message.assistant(content, MessageMetadata(usage=Usage(cost_usd=Decimal("0.10")))),
        Message.user("hi", name="ada").replace(created_at=datetime(2026, 5, 8, tzinfo=UTC)),
    ]
    source = Path(interlingua.__file__).parents[1]
    seen = []
    for seed in ("0", "1", "4711"):
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=dumps(messages),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(source)},
            capture_output=True,
        )
        assert run.returncode == 0, run.stderr
        seen.append([line.split()[0] for line in run.stdout.decode().splitlines()])
    assert seen == [[message.digest() for message in messages]] * 3


@requirement("S002-6")
def test_a_digest_does_not_change_between_releases() -> None:
    message = Message.assistant([TextBlock("hi"), ToolUseBlock("a", "b", {"y": 1.0, "x": [None]})])
    spelled = (
        b'{"content":[{"text":"hi","type":"text"},'
        b'{"id":"a","input":{"x":[null],"y":1},"name":"b","type":"tool_use"}],"role":"assistant"}'
    )
    assert message.digest() == hashlib.sha256(spelled).hexdigest()


def test_equal_words_in_other_places_have_the_same_content_digest() -> None:
    here = Message.user("hi").replace(id="a", session_id="s")
    there = Message.user("hi", name="ada")
    assert here.digest() != there.digest()
    assert here.content_digest() == there.content_digest()
    assert here.content_digest() != Message.assistant("hi").content_digest()


def test_values_can_be_keys() -> None:
    assert len({Message.user("hi"), Message.user("hi"), Message.user("ho")}) == 2


def test_a_value_cannot_be_changed() -> None:
    message = Message.user("hi")
    with pytest.raises(AttributeError):
        message.role = Role.SYSTEM  # type: ignore[misc]
    assert message.replace(role=Role.SYSTEM).role is Role.SYSTEM
    assert message.role is Role.USER


@given(il.messages(with_raw=True))
@some
def test_values_can_be_copied_and_pickled(message: Message) -> None:
    for again in (copy.deepcopy(message), pickle.loads(pickle.dumps(message)), copy.copy(message)):
        assert dumps(again) == dumps(message)


def test_walking_visits_blocks_inside_blocks() -> None:
    page = DocumentBlock(Source("blocks", content=(TextBlock("x"), PICTURE)))
    messages = [Message.user("hi"), Message.tool_result("a", ["so", page])]
    visited = [(path, TYPE_OF[type(block)]) for path, _, block in walk(messages)]
    assert visited == [
        ("$[0].content[0]", "text"),
        ("$[1].content[0]", "tool_result"),
        ("$[1].content[0].content[0]", "text"),
        ("$[1].content[0].content[1]", "document"),
        ("$[1].content[0].content[1].source.content[0]", "text"),
        ("$[1].content[0].content[1].source.content[1]", "image"),
    ]


@requirement("S002-50")
def test_rewriting_keeps_the_order_of_what_stays() -> None:
    message = Message.assistant([TextBlock("a"), ThinkingBlock("b"), TextBlock("c")])
    split = rewrite(
        message,
        lambda block: [] if isinstance(block, ThinkingBlock) else [block, TextBlock("!")],
    )
    assert split.text == "a!c!"
    assert rewrite(message, lambda block: [block]) is message


def test_rewriting_raw_alone_is_no_change_to_lose() -> None:
    message = Message.user("hi")
    marked = rewrite(message, lambda block: [block.replace(raw={"gemini": {"x": 1}})])
    assert marked.content[0].raw == {"gemini": {"x": 1}}


def test_a_request_is_messages_tools_and_options() -> None:
    request = Request((Message.user("hi"),), "gpt-5", (ToolDefinition("t"),), Options(n=1))
    assert plain(request) == {
        "messages": [plain(Message.user("hi"))],
        "model": "gpt-5",
        "tools": [{"name": "t"}],
        "options": {"n": 1},
    }


def test_a_failed_response_has_an_error_and_an_empty_message() -> None:
    metadata = MessageMetadata(status=MessageStatus.ERROR, stop_reason=StopReason.ERROR)
    failed = Response(
        Message(Role.ASSISTANT, metadata=metadata),
        error=ProviderError(interlingua.ErrorKind.RATE_LIMIT, "slow down", status=429),
    )
    assert validate(failed) == []
    assert loads(dumps(failed), Response, strict=True) == failed


@pytest.mark.parametrize("module", ["blocks", "exchange", "message", "metadata", "tools"])
def test_constructors_for_type_checkers_have_the_fields_of_their_class(module: str) -> None:
    values = import_module(f"interlingua.model.{module}")
    tree = ast.parse(Path(str(values.__file__)).read_text(encoding="utf-8"))
    found = 0
    for each in [node for node in tree.body if isinstance(node, ast.ClassDef)]:
        cls = getattr(values, each.name)
        for made in [n for n in ast.walk(each) if getattr(n, "name", None) == "__init__"]:
            assert isinstance(made, ast.FunctionDef)
            if made.args.kwarg is not None:
                continue  # by a table of words
            found += 1
            assert [arg.arg for arg in made.args.args[1:]] == list(cls.__struct_fields__)
            assert {arg.arg for arg in made.args.kwonlyargs} == set(cls.other_names)
    assert found


def test_the_words_for_options_are_its_fields_and_other_names() -> None:
    words = AllOptionWords.__annotations__.keys()
    assert words == {*Options.__struct_fields__, *Options.other_names}
