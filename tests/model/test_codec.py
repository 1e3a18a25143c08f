"""Canonical values as JSON: exact both ways, tolerant of what is stored, strict at an API."""

from __future__ import annotations

import json
import logging
import math
from collections import OrderedDict, defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlingua.errors import DepthError, ReadError, WriteError
from interlingua.model import codec, salvage
from interlingua.model.blocks import (
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.codec import API_DEPTH, STORED_DEPTH, convert, dumps, duplicate_key, loads
from interlingua.model.events import Event
from interlingua.model.exchange import Options, Request, Response, ToolChoice
from interlingua.model.message import Message, Role, walk
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.tools import ToolDefinition
from tests.effort import examples
from tests.laws import strategies as il
from tests.model.stored import BASE, HI, STRANGE, message_with

requirement = pytest.mark.requirement
some = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])


def with_input(value: bytes) -> bytes:
    """A message with a call whose input holds some JSON text."""
    call = b'{"type":"tool_use","id":"a","name":"b","input":{"x":' + value + b"}}"
    return b'{"role":"assistant","content":[' + call + b'],"schema_version":1}'


def input_of(message: Message) -> Any:
    (block,) = message.content
    assert isinstance(block, ToolUseBlock)
    return block.input["x"]


def calling(value: Any) -> Message:
    return Message.assistant(ToolUseBlock("a", "b", {"x": value}))


# Round trips

VALUES = [
    pytest.param(il.messages(with_raw=True), Message, id="message"),
    pytest.param(il.messages(stored=True, with_raw=True), Message, id="stored-message"),
    pytest.param(il.conversations(with_raw=True), tuple[Message, ...], id="conversation"),
    pytest.param(il.requests(with_raw=True), Request, id="request"),
    pytest.param(il.responses(with_raw=True), Response, id="response"),
    pytest.param(il.events(with_raw=True), list[Event], id="events"),
]


@requirement("S002-4")
@pytest.mark.parametrize(("strategy", "kind"), VALUES)
@given(data=st.data())
@some
def test_what_is_written_is_read_back_and_written_the_same(
    data: st.DataObject, strategy: Any, kind: Any
) -> None:
    value = data.draw(strategy)
    written = dumps(value)
    for strict in (False, True):
        again = loads(written, kind, strict=strict)
        assert again == value
        assert dumps(again) == written


@pytest.mark.parametrize(("strategy", "kind"), VALUES)
@given(data=st.data())
@some
def test_the_careful_way_reads_and_writes_as_the_fast_one(
    data: st.DataObject, strategy: Any, kind: Any
) -> None:
    value = data.draw(strategy)
    written = dumps(value)
    assert msgspec.json.encode(salvage.to_plain(value)) == written
    again = salvage.build(kind, msgspec.json.decode(written), strict=True)
    assert dumps(again) == written


@given(il.messages(with_raw=True))
@some
def test_parsed_json_is_read_as_its_text(message: Message) -> None:
    again = convert(json.loads(dumps(message)), Message)
    assert dumps(again) == dumps(message)


@requirement("S002-50")
@given(il.conversations(with_raw=True))
@some
def test_json_keeps_the_order_of_blocks(messages: tuple[Message, ...]) -> None:
    stored = loads(dumps(messages), tuple[Message, ...])
    before = [(path, type(block)) for path, _, block in walk(messages)]
    assert [(path, type(block)) for path, _, block in walk(stored)] == before


@given(il.messages(with_raw=True))
@some
def test_writing_changes_nothing(message: Message) -> None:
    stored = loads(dumps(message)[:-1] + b',"x_new":{"a":[1]},"metadata":{"x_other":1}}')
    before = msgspec.json.encode(stored)
    assert dumps(stored) == dumps(stored)
    assert msgspec.json.encode(stored) == before


@requirement("S000-29")
@pytest.mark.parametrize(
    "text",
    [
        "na\u00efve \u2014 \u201equoted\u201c",
        "\u4e16\u754c \u05e9\u05dc\u05d5\u05dd",
        "\U0001f469\u200d\U0001f52c \U00010348",
        "e\u0301 is not \u00e9",
        "\u2028\u2029\u0085",
    ],
)
def test_text_beyond_ascii_is_written_as_utf8_and_comes_back(text: str) -> None:
    data = dumps(Message.user(text))
    assert text.encode("utf-8") in data
    assert loads(data).text == text
    assert loads(data.decode("utf-8")).text == text


@requirement("S000-29")
@given(st.text(st.characters(exclude_categories=["Cs"])))
@many
def test_any_unicode_text_survives(text: str) -> None:
    assert loads(dumps(Message.user([text]))).text == text
    assert loads(json.dumps(msgspec.json.decode(dumps(Message.user([text]))))).text == text


def test_money_is_written_as_text_and_read_exactly() -> None:
    usage = Usage(cost_usd=Decimal("0.1000000000000000000000000000000001"))
    assert dumps(usage) == b'{"cost_usd":"0.1000000000000000000000000000000001"}'
    assert loads(dumps(usage), Usage).cost_usd == usage.cost_usd


def test_a_default_is_left_out_however_it_was_spelled() -> None:
    def fresh(word: str) -> Any:
        return "".join(list(word))  # equal to the default, and another object

    for value, default in [
        (ToolChoice(fresh("auto")), ToolChoice()),
        (ToolUseBlock("a", "b", {}, executor=fresh("client")), ToolUseBlock("a", "b", {})),
        (ToolDefinition("a", kind=fresh("function")), ToolDefinition("a")),
        (MessageMetadata(status=fresh("complete")), MessageMetadata()),
    ]:
        assert dumps(value) == dumps(default)
        assert dumps(loads(dumps(value), type(value))) == dumps(value)


# JSON's edges


@pytest.mark.parametrize("word", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"nan"])
@pytest.mark.parametrize("strict", [False, True])
def test_numbers_that_json_lacks_are_refused(word: bytes, strict: bool) -> None:
    with pytest.raises(ReadError):
        loads(with_input(word), strict=strict)
    with pytest.raises(ReadError):
        loads(b'{"temperature":' + word + b"}", Options, strict=strict)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_refused_from_other_parsers(number: float) -> None:
    with pytest.raises(ReadError) as caught:
        convert({"role": "assistant", "content": [], "metadata": {"extra": {"x": number}}}, Message)
    assert caught.value.path == "$.metadata.extra.x"


@pytest.mark.parametrize("word", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_money_is_a_number(word: str) -> None:
    with pytest.raises(ReadError) as caught:
        loads(f'{{"cost_usd":"{word}"}}', Usage)
    assert caught.value.path == "$.cost_usd"
    with pytest.raises(WriteError):
        dumps(Usage(cost_usd=Decimal(word)))


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64, -(2**63) - 1, 2**70, 10**4299])
def test_long_integers_are_exact(number: int) -> None:
    message = loads(with_input(str(number).encode()))
    assert input_of(message) == number
    assert type(input_of(message)) is int
    assert dumps(message) == with_input(str(number).encode())


@pytest.mark.parametrize("strict", [False, True])
def test_integers_longer_than_4300_digits_are_refused(strict: bool) -> None:
    assert input_of(loads(with_input(b"9" * 4300), strict=strict)) == 10**4300 - 1
    for digits in (4301, 100_000):
        with pytest.raises(ReadError):
            loads(with_input(b"9" * digits), strict=strict)
    with pytest.raises(ReadError):
        convert({"x": 10**5000}, dict, strict)
    with pytest.raises(WriteError) as caught:
        dumps(calling(10**5000))
    assert caught.value.path == "$.content[0].input.x"


@pytest.mark.parametrize("text", [b"1", b"1.0", b"-0.0", b"1e3", b"0.1", b"1.7976931348623157e308"])
def test_integers_and_fractions_stay_what_they_are(text: bytes) -> None:
    value = input_of(loads(with_input(text)))
    assert type(value) is type(json.loads(text))
    assert repr(value) == repr(json.loads(text))
    assert input_of(loads(dumps(calling(value)))) == value


ALONE = [rb'"\ud800"', rb'"a\udfffb"', rb'"\udc00\ud800"', rb'{"\uD8Ff":1}', rb'"\ud83d\u0041"']


@pytest.mark.parametrize("text", ALONE)
@pytest.mark.parametrize("strict", [False, True])
def test_lone_surrogates_are_refused_by_name(text: bytes, strict: bool) -> None:
    for data in (with_input(text), with_input(text).decode()):
        with pytest.raises(ReadError, match="lone surrogate") as caught:
            loads(data, strict=strict)
        assert caught.value.expected == "Unicode text"


@pytest.mark.parametrize("text", ALONE)
def test_lone_surrogates_are_refused_from_other_parsers(text: bytes) -> None:
    with pytest.raises(ReadError, match="lone surrogate") as caught:
        convert(json.loads(with_input(text)), Message)
    assert caught.value.path.startswith("$.content[0].input")


def test_lone_surrogates_are_refused_in_text_that_was_decoded_loosely() -> None:
    with pytest.raises(ReadError, match="lone surrogate"):
        loads(HI.decode().replace("hi", "\udcff"))


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Message.user("a\ud800"), "$.content[0].text"),
        (calling(["ok", {"y": "\udc00"}]), "$.content[0].input.x[1].y"),
        (calling({"\udc00": 1}), "$.content[0].input.x"),
        (Message.user("x", name="\ud800"), "$.name"),
    ],
)
def test_lone_surrogates_are_not_written(value: Message, path: str) -> None:
    with pytest.raises(WriteError, match="lone surrogate") as caught:
        dumps(value)
    assert caught.value.path == path


def test_pairs_of_surrogates_and_escaped_backslashes_are_text() -> None:
    assert input_of(loads(with_input(rb'"\ud83d\ude42"'))) == "\U0001f642"
    assert input_of(loads(with_input(rb'"\\ud800"'))) == "\\ud800"
    with pytest.raises(ReadError) as caught:
        loads(with_input(rb'"\\ud800", oops'))
    assert "surrogate" not in str(caught.value)


@pytest.mark.parametrize("text", ["a\x00b", "\x00", "\x01\x1f", "tab\there", "line\nfeed", "\x7f"])
def test_control_characters_are_kept_and_escaped(text: str) -> None:
    data = dumps(calling(text))
    assert not any(byte < 0x20 for byte in data)
    assert input_of(loads(data)) == text


@pytest.mark.parametrize(
    "data",
    [
        HI.replace(b"hi", b"\x01"),
        HI.replace(b"hi", b"\xff"),
        HI.replace(b"hi", b"\xed\xa0\x80"),
        HI.replace(b"hi", b"\xc3"),
        b"\xff\xfe",
        HI.decode().encode("utf-16"),
        b"",
        b" ",
        b"{",
        HI + b"}",
        HI + HI,
        HI[:-1],
        HI.replace(b"}]", b"},]"),
        HI.replace(b'"', b"'"),
        b"// comment\n" + HI,
        b"nul",
        b"\x00",
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_what_is_no_json_is_a_read_error(data: bytes, strict: bool) -> None:
    with pytest.raises(ReadError) as caught:
        loads(data, strict=strict)
    assert str(caught.value).startswith(("canonical JSON, at $", "canonical JSON: invalid JSON: "))


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf" + HI, "\ufeff" + HI.decode()])
def test_a_byte_order_mark_is_taken_off_once(data: bytes | str) -> None:
    assert loads(data).text == "hi"
    again: Any = b"\xef\xbb\xbf" + data if isinstance(data, bytes) else "\ufeff" + data
    with pytest.raises(ReadError):
        loads(again)


def test_a_byte_order_mark_inside_text_is_text() -> None:
    assert loads(dumps(Message.user("\ufeffhi"))).text == "\ufeffhi"


def test_the_last_of_two_equal_keys_wins() -> None:
    assert loads(HI.replace(b'"role":"user"', b'"role":"system","role":"user"')).role is Role.USER
    assert input_of(loads(with_input(b'{"a":1,"a":2}'))) == {"a": 2}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":2}',
        '{"a":1,"a":2}',
        b'\xef\xbb\xbf{"a":1,"a":2}',
        b'[{"b":{"x":1,"a":1,"a":1}}]',
        rb'{"a":1,"\u0061":2}',
    ],
)
def test_repeated_keys_are_found_where_somebody_asks(data: bytes | str) -> None:
    words = duplicate_key(data)
    assert words is not None
    assert '"a"' in words


@pytest.mark.parametrize("data", [HI, b'[{"a":1},{"a":1}]', b"{", '"\ud800"', b'{"a":{"a":1}}'])
def test_no_repeated_key_is_found_where_there_is_none(data: bytes | str) -> None:
    assert duplicate_key(data) is None


# Depth

AROUND = 4  # message, content, block and input stand around what the input holds


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def nested_sources(levels: int) -> bytes:
    block = b'{"type":"text","text":"x"}'
    for _ in range(levels):
        block = b'{"type":"document","source":{"kind":"blocks","content":[' + block + b"]}}"
    return b'{"role":"user","content":[' + block + b"]}"


@pytest.mark.parametrize(
    ("strict", "limit"), [(False, STORED_DEPTH), (True, API_DEPTH)], ids=["stored", "strict"]
)
def test_nesting_is_accepted_up_to_the_limit_and_no_further(strict: bool, limit: int) -> None:
    deepest = with_input(nested(limit - AROUND))
    assert dumps(loads(deepest, strict=strict)) == deepest
    with pytest.raises(DepthError) as caught:
        loads(with_input(nested(limit - AROUND + 1)), strict=strict)
    assert caught.value.limit == limit
    assert convert(json.loads(nested(limit)), list, strict)
    with pytest.raises(DepthError):
        convert(json.loads(nested(limit + 1)), list, strict)


@pytest.mark.parametrize(
    ("strict", "limit"), [(False, STORED_DEPTH), (True, API_DEPTH)], ids=["stored", "strict"]
)
def test_blocks_inside_blocks_count_as_nesting(strict: bool, limit: int) -> None:
    fits = (limit - 3) // 3  # a document, its source and the list in it, for each level
    assert loads(nested_sources(fits), strict=strict).role is Role.USER
    with pytest.raises(DepthError):
        loads(nested_sources(fits + 1), strict=strict)


@pytest.mark.parametrize("levels", [1_000, 10_000, 1_000_000])
@pytest.mark.parametrize("strict", [False, True])
def test_ten_thousand_levels_are_an_error_and_no_crash(levels: int, strict: bool) -> None:
    with pytest.raises(DepthError):
        loads(with_input(nested(levels)), strict=strict)
    for data in [nested(levels), b'{"role":"user","x_new":' + nested(levels) + b"}"]:
        with pytest.raises(ReadError if strict else DepthError):
            loads(data, strict=strict)
    for data in [b'{"a":' * levels, b"[" * levels]:  # Python decides whether the end comes first
        with pytest.raises(ReadError):
            loads(data, strict=strict)
    assert duplicate_key(nested(levels)) is None


def test_a_value_nested_deeper_than_can_be_read_is_not_written() -> None:
    value: Any = []
    for _ in range(STORED_DEPTH - AROUND - 1):
        value = [value]
    assert loads(dumps(calling(value))) is not None
    with pytest.raises(WriteError, match="512"):
        dumps(calling([value]))
    for _ in range(10_000):
        value = [value]
    with pytest.raises(WriteError, match="512"):
        dumps(calling(value))
    block = ImageBlock(Source("url", "x"))
    for _ in range(10_000):
        block = DocumentBlock(Source("blocks", content=(block,)))  # type: ignore[assignment]
    with pytest.raises(WriteError, match="512"):
        dumps(Message.user(block))


def test_what_was_kept_at_the_deepest_level_is_still_written() -> None:
    data = HI[:-1] + b',"x_new":' + nested(STORED_DEPTH - 1) + b"}"
    assert dumps(loads(data)) == data
    block = b'{"type":"x_new","x":' + nested(STORED_DEPTH - 3) + b"}"
    data = b'{"role":"user","content":[' + block + b'],"schema_version":1}'
    assert dumps(loads(data)) == data


# Writing


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_not_written(number: float) -> None:
    with pytest.raises(WriteError) as caught:
        dumps([Message.user("x"), calling({"y": [1, number]})])
    assert caught.value.path == "$[1].content[0].input.x.y[1]"
    with pytest.raises(WriteError) as caught:
        dumps(Options(temperature=number))
    assert caught.value.path == "$.temperature"


@pytest.mark.parametrize(
    "odd",
    [b"bytes", {1: 2}, {None: 1}, {"a": {1, 2}}, [object()], datetime(2026, 1, 1, tzinfo=UTC), 1j],
)
def test_what_json_cannot_hold_is_not_written(odd: Any) -> None:
    with pytest.raises(WriteError) as caught:
        dumps(calling(odd))
    assert caught.value.path.startswith("$.content[0].input.x")


def test_a_place_is_found_however_deep_it_is() -> None:
    value: Any = math.nan
    for _ in range(STORED_DEPTH - AROUND):
        value = [value]
    with pytest.raises(WriteError, match="nan") as caught:
        dumps(calling(value))
    assert caught.value.path.endswith("[0]" * (STORED_DEPTH - AROUND))


def test_other_kinds_of_dictionary_are_dictionaries() -> None:
    ordered = OrderedDict(b=1, a=2)
    assert dumps(calling(ordered)) == with_input(b'{"b":1,"a":2}')
    assert dumps(calling(defaultdict(list, a=[1]))) == with_input(b'{"a":[1]}')
    with pytest.raises(WriteError):
        dumps(calling(OrderedDict(a=math.nan)))


# Stored data of other versions


@requirement("S002-103")
@pytest.mark.parametrize(("kind", "stored"), STRANGE)
def test_at_an_api_what_we_do_not_know_is_refused_with_its_place(kind: Any, stored: Any) -> None:
    with pytest.raises(ReadError) as caught:
        loads(json.dumps(stored), kind, strict=True)
    assert caught.value.path.startswith("$")
    with pytest.raises(ReadError):
        convert(stored, kind, strict=True)
    assert dumps(convert(stored, kind, strict=False)) == dumps(loads(json.dumps(stored), kind))


@requirement("S002-103")
def test_known_data_is_read_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        loads(HI)
        own = MessageMetadata(extra={"gateway_key_id": "gk_1", "prompt_parts": ["base"]})
        assert loads(dumps(own), MessageMetadata) == own
    assert not caplog.records


ODD_KEYS = ["x_new", "/x", "/usage/x", "/diagnostics/0/x", "a/b", "~", "", "/~1x", "/source/x"]
KEYS = st.sampled_from([*ODD_KEYS, *MessageMetadata.__struct_fields__])
BLOCK_KEYS = st.sampled_from([*ODD_KEYS, *ImageBlock.__struct_fields__, "/source/kind", "type"])


@given(st.dictionaries(KEYS, il.json_values(3) | st.sampled_from(["complete", {"x": 1}, []])))
@many
def test_any_extra_metadata_survives(extra: dict[str, Any]) -> None:
    message = Message.user("x").replace(metadata=MessageMetadata(extra=extra or None, model="a:b"))
    again = loads(dumps(message))
    assert again == message
    assert dumps(again) == dumps(message)


@given(st.dictionaries(BLOCK_KEYS, il.json_values(3)))
@some
def test_any_kept_part_of_a_block_survives(kept: dict[str, Any]) -> None:
    source = Source("url", "https://example.com/a.png")
    message = Message.user([ImageBlock(source, raw={salvage.KEY: kept, "gemini": {"x": 1}})])
    again = loads(dumps(message))
    assert again == message
    assert again.content[0].raw["gemini"] == {"x": 1}  # type: ignore[index]
    assert dumps(again) == dumps(message)


# Versions


# Whatever comes


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@many
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    check_reading(data)


@given(il.messages(with_raw=True), st.data())
@many
def test_damaged_json_is_read_or_refused(message: Message, data: st.DataObject) -> None:
    written = bytearray(dumps(message))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(written) - 1))
        piece = data.draw(st.sampled_from([b"", b"\xff", b'"', b"{", b"}", b"null", b"-", b"\\"]))
        written[at : at + data.draw(st.integers(0, 4))] = piece
    check_reading(bytes(written))


@given(il.json_values(8), st.sampled_from(["role", "content", "metadata", "id", "created_at"]))
@many
def test_any_json_in_a_field_is_read_or_refused(value: Any, name: str) -> None:
    check_reading(json.dumps({**BASE, name: value}).encode())
    check_reading(json.dumps(value).encode())
    check_reading(json.dumps({**BASE, "content": [value]}).encode())
    check_reading(json.dumps({**BASE, "metadata": {"usage": value, "routing": value}}).encode())


@pytest.mark.parametrize(
    "time",
    ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "2026-01-01T00:00:00", "x", ""],
)
def test_times_that_cannot_be_told_are_refused(time: str) -> None:
    check_reading(json.dumps(message_with(created_at=time)).encode())
    with pytest.raises(ReadError):
        loads(json.dumps(message_with(created_at=time)), strict=True)


def check_reading(data: bytes) -> None:
    """It is a message that can be written and read again, or it is a `ReadError`."""
    for strict in (False, True):
        try:
            message = loads(data, strict=strict)
        except ReadError:
            continue
        written = dumps(message)
        assert dumps(loads(written, strict=strict)) == written


@pytest.mark.parametrize("data", [b"{", b"[1e400]", b"[NaN]", rb'"\ud800"', nested(10_000)])
def test_somebodys_json_is_refused_in_their_name(data: bytes) -> None:
    with pytest.raises(ReadError, match=r"^parrot request(, at |: )"):
        codec.parse(data, "parrot request")


def test_limits_are_the_documented_ones() -> None:
    assert (codec.API_DEPTH, codec.STORED_DEPTH) == (128, 512)


def test_any_type_of_the_model_can_be_read() -> None:
    assert loads(b'[{"type":"text","text":"x"}]', list[TextBlock]) == [TextBlock("x")]
    block = ToolResultBlock("a", (TextBlock("x"),))
    assert loads(dumps(block), ToolResultBlock) == block
