"""Arguments from text: what each rung of the ladder answers, and what holds for any text."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.errors import WriteError
from interlingua.model.arguments import (
    MAX_DEPTH,
    MAX_DIGITS,
    Collector,
    Recovered,
    recover,
    same,
    spelled,
    to_text,
)
from tests.effort import THOROUGH

MUTATIONS = int(os.environ.get("INTERLINGUA_MUTATIONS", "2000"))
LEAST_TEXT = int(os.environ.get("INTERLINGUA_TEXT", "1000000" if THOROUGH else "250000"))
"""Characters of the shortest text that is read for its time; with 4000000 all are as long."""

texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=10,
)
objects = st.dictionaries(texts, values, max_size=5)
spellings = st.sampled_from(
    [
        to_text,
        json.dumps,
        lambda value: json.dumps(value, ensure_ascii=False, indent=2),
        lambda value: f" \n{json.dumps(value)}\t",
    ]
)
jsonish = st.text(st.sampled_from([*'{}[]",:\\/u0dD8cCaAfFeE19+-. \n\t\x00trulnsxé😀', "\ud83d"]))

STRICT: list[tuple[str | bytes | None, dict[str, Any]]] = [
    (None, {}),
    ("", {}),
    (b"", {}),
    (" \r\n\t", {}),
    ("{}", {}),
    ('{"city": "Paris", "days": 2}', {"city": "Paris", "days": 2}),
    (b'{"a":"\xc3\xa9"}', {"a": "é"}),
    (r'{"a":"\ud83d\ude00\u0000\/"}', {"a": "😀\0/"}),
    ('{"a":1,"b":2,"a":3}', {"a": 3, "b": 2}),
    ('{"a":18446744073709551616,"b":-9223372036854775809}', {"a": 2**64, "b": -(2**63) - 1}),
    ('{"a":"\x7f\u2028"}', {"a": "\x7f\u2028"}),
]

REPAIRED: list[tuple[str | bytes, dict[str, Any]]] = [
    ('{"a":"one\ntwo\tthree\x01"}', {"a": "one\ntwo\tthree\x01"}),
    (r'{"path":"C:\xampp\data"}', {"path": r"C:\xampp\data"}),
    (r'{"pattern":"\d+\.\w"}', {"pattern": r"\d+\.\w"}),
    (r'{"a":"it\'s\ here"}', {"a": r"it\'s\ here"}),
    (r'{"a":"\u12","b":"C:\users\udef"}', {"a": r"\u12", "b": r"C:\users\udef"}),
    ('{"a":"one\\\ntwo"}', {"a": "one\\\ntwo"}),
    (r'{"a":"\\x\"\x"}', {"a": r"\x" + '"' + r"\x"}),
    (r'{"a\x":1}', {r"a\x": 1}),
    (r'{"a":"\ud800"}', {"a": "\ufffd"}),
    (r'{"a":"\udc00\ud800"}', {"a": "\ufffd\ufffd"}),
    (r'{"a":"\ud83dA\uD83D\uDE00"}', {"a": "\ufffdA😀"}),
    (r'{"a":"\ud83d\ud83d\ude00"}', {"a": "\ufffd😀"}),
    (r'{"a":"\ud83d\n"}', {"a": "\ufffd\n"}),
    ('{"a":"\ud83dx"}', {"a": "\ufffdx"}),
    ('{"a":"\ud83d\ude00"}', {"a": "😀"}),
    (b'{"a":"\xff"}', {"a": "\ufffd"}),
    ('\ufeff{"a":1}', {"a": 1}),
    (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    ("\ufeff ", {}),
]

CLOSED: list[tuple[str | bytes, dict[str, Any]]] = [
    ("{", {}),
    ('{"a', {}),
    ('{"a":', {}),
    ('{"city":"Par', {"city": "Par"}),
    ('{"a":{"b":[{"c":"d', {"a": {"b": [{"c": "d"}]}}),
    ('{"a":1,', {"a": 1}),
    ('{"a":[1,2', {"a": [1, 2]}),
    ('{"a":[1,-', {"a": [1]}),
    ('{"a":true,"b":fal', {"a": True}),
    ('{"a":' + "9" * MAX_DIGITS, {"a": 10**MAX_DIGITS - 1}),
    ('{"a":12345678901234567890123,"b":0.1', {"a": 12345678901234567890123, "b": 0.1}),
    ('{"a":1,"a":"x', {"a": "x"}),
    ('{"a":"x\\', {"a": "x"}),
    (r'{"a":"x\u00', {"a": "x"}),
    (r'{"a":"x\ud83d', {"a": "x"}),
    (r'{"a":"x\ud83d\ude0', {"a": "x"}),
    ('{"a":"x\\"', {"a": 'x"'}),
    ('{"a":"one\ntwo', {"a": "one\ntwo"}),
    (r'{"a":"\x, \u00', {"a": r"\x, "}),
    (r'{"a":"C:\u[', {"a": r"C:\u["}),
    ('{"a":"\\x, \\u00\\', {"a": r"\x, \u00"}),
    (r'{"a":"\ud800, \ud83d\u', {"a": "\ufffd, "}),
    ('\ufeff{"a":"x', {"a": "x"}),
]

INVALID: list[str | bytes] = [
    "null",
    "[]",
    '[{"a":1}]',
    '"{}"',
    "12",
    "[",
    '"{',
    "-",
    "Paris",
    '{"a":1}{"a":1}',
    '{"a":1} {"a":1}',
    '{"a":1}{"a":',
    '{"a":1} x',
    '{"a":1}}',
    '```json\n{"a":1}\n```',
    "{'a':1}",
    "{a:1}",
    '{"a":1,}',
    '{"a":1 "b":2}',
    '{"a":1 "b":"x',
    '{"a":[1}',
    '{"a":1]',
    '{"a":"he said "no""}',
    '{"a":01}',
    '{"a":.5}',
    '{"a":NaN}',
    '{"a":NaN',
    '{"a":[Infinity]}',
    '{"a":-Infinity,"b":"x',
    '{"a":1e400}',
    '{"a":-1e400',
    '{"a":[1e400],"b":"\\x"}',
    '{"a":[1e400],"b":"\\x',
    '{"a":' + "9" * (MAX_DIGITS + 1) + "}",
    '{"a":' + "9" * (MAX_DIGITS + 1),
    '{"a":-' + "9" * MAX_DIGITS + "}",
    '{"a":-' + "9" * MAX_DIGITS + ',"b":"\\x',
    '{"a":\x00}',
    '{"a":\ud800}',
    b'{"a":\xff}',
    b'{"a":1}\xc3',
    "\u00a0",
    '\ufeff\ufeff{"a":1}',
]


@pytest.mark.requirement("S003-10")
@pytest.mark.parametrize(("text", "expected"), STRICT)
def test_json_objects_and_blanks_are_strict(
    text: str | bytes | None, expected: dict[str, Any]
) -> None:
    assert recover(text) == Recovered(expected, "strict")


@pytest.mark.requirement("S003-10")
@pytest.mark.parametrize(("text", "expected"), REPAIRED)
def test_flaws_inside_strings_are_repaired(text: str | bytes, expected: dict[str, Any]) -> None:
    assert recover(text) == Recovered(expected, "repaired")


@pytest.mark.requirement("S003-10")
@pytest.mark.parametrize(("text", "expected"), CLOSED)
def test_a_text_that_ends_too_early_is_closed(text: str | bytes, expected: dict[str, Any]) -> None:
    assert recover(text) == Recovered(expected, "closed")


@pytest.mark.requirement("S003-10")
@pytest.mark.parametrize("text", INVALID)
def test_anything_else_is_an_empty_object_marked_invalid(text: str | bytes) -> None:
    assert recover(text) == Recovered({}, "invalid")


def test_numbers_arrive_with_their_type_and_every_digit() -> None:
    digits = "1" + "0" * (MAX_DIGITS - 2) + "7"
    for text in (
        f'{{"a":{digits},"b":1.0,"c":1}}',
        f'{{"a":{digits},"b":1.0,"c":1,"d":"\\x"}}',
        f'{{"a":{digits},"b":1.0,"c":1,',
    ):
        found = recover(text).input
        assert str(found["a"]) == digits
        assert [type(found[key]) for key in "abc"] == [int, float, int]


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"k":', "}")])
def test_nesting_is_accepted_up_to_the_limit_on_every_rung(begin: str, end: str) -> None:
    def nested(levels: int, last: str) -> str:
        return '{"a":' + begin * (levels - 1) + last + end * (levels - 1) + "}"

    for last, mode in (('"x"', "strict"), ('"\\x"', "repaired")):
        assert recover(nested(MAX_DEPTH, last)).mode == mode
        assert recover(nested(MAX_DEPTH + 1, last)) == Recovered({}, "invalid")
    assert recover('{"a":' + begin * (MAX_DEPTH - 1)).mode == "closed"
    assert recover('{"a":' + begin * MAX_DEPTH) == Recovered({}, "invalid")


def test_brackets_inside_strings_and_brackets_side_by_side_are_no_nesting() -> None:
    wide = {"a": '"[{\\' * 1000, "b": [[], {}] * 1000}
    assert recover(to_text(wide)) == Recovered(wide, "strict")


@pytest.mark.parametrize("bracket", ["[", "{", '{"a":', '{"a":[', "[" * 1000 + "}"])
def test_a_million_open_brackets_are_invalid_and_no_crash(bracket: str) -> None:
    text = bracket * (1_000_000 // len(bracket))
    assert recover(text) == Recovered({}, "invalid")
    assert recover('{"a":' + text) == Recovered({}, "invalid")


ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "backslashes": lambda n: '{"a":"' + "\\" * n,
    "odd backslashes": lambda n: '{"a":"' + "\\" * (n + 1) + '"}',
    "escaped quotes": lambda n: '{"a":' + '\\"' * (n // 2),
    "escaped quotes in a string": lambda n: '{"a":"' + '\\"' * (n // 2),
    "quotes": lambda n: '{"a":' + '"' * n,
    "bad escapes": lambda n: '{"a":"' + "\\x" * (n // 2) + '"}',
    "halves of pairs": lambda n: '{"a":"' + "\\ud83d" * (n // 6),
    "control characters": lambda n: '{"a":"' + "\n" * n,
    "braces": lambda n: "{" * n,
    "braces in strings": lambda n: '{"a":["' + '{","' * (n // 4),
    "braces in a string": lambda n: '{"a":"' + "{" * n,
    "empty objects": lambda n: '{"a":[' + "{}," * (n // 3),
    "keys": lambda n: "{" + ",".join(f'"{i:08}":0' for i in range(n // 13)),
    "digits": lambda n: '{"a":' + "9" * n,
    "digits of a fraction": lambda n: '{"a":0.' + "9" * n,
    "digits of an exponent": lambda n: '{"a":1e' + "0" * n,
    "long integers": lambda n: '{"a":[' + ("9" * MAX_DIGITS + ",") * (n // MAX_DIGITS),
    "blanks": lambda n: '{"a":1' + " " * n,
    "surrogates": lambda n: '{"a":"' + "\ud83d" * n,
}


def _seconds(action: Callable[[], object]) -> float:
    begin = time.thread_time()  # a busy machine does not count
    action()
    return time.thread_time() - begin


def _assert_doubling_is_linear(
    action_for: Callable[[int], Callable[[], object]], size: int
) -> None:
    # A quadratic step of any weight gives 4; a busy machine gets a few more chances.
    for _ in range(4):
        half, whole = _seconds(action_for(size // 2)), _seconds(action_for(size))
        if whole < 3 * max(half, 0.002):
            return
    raise AssertionError(f"{size // 2} took {half:.4f} s, {size} took {whole:.4f} s")


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    def reading(size: int) -> Callable[[], object]:
        text = ADVERSARIAL[name](size)
        return lambda: recover(text)

    # As long as its half takes a while: what is read fast shows what it is only at length.
    size = LEAST_TEXT
    while size < 4_000_000 and _seconds(reading(size // 2)) < (0.1 if THOROUGH else 0.03):
        size *= 2
    _assert_doubling_is_linear(reading, size)


def test_twice_the_pieces_take_twice_the_time() -> None:
    def collecting(size: int) -> Callable[[], object]:
        text = '{"a":"' + "0123456789" * (size // 10)

        def run() -> Recovered:
            collector = Collector()
            for start in range(0, len(text), 10):
                collector.feed(text[start : start + 10])
            return collector.finish()

        return run

    assert collecting(1_000_000)() == Recovered({"a": "0123456789" * 100_000}, "closed")
    _assert_doubling_is_linear(collecting, 1_000_000)


def test_a_collector_without_pieces_is_a_call_without_arguments() -> None:
    assert Collector().text == ""
    assert Collector().finish() == Recovered({}, "strict")


def test_a_collector_shows_its_text_at_any_time_and_goes_on() -> None:
    collector = Collector()
    collector.feed('{"a"')
    assert collector.text == '{"a"'
    collector.feed(":1}")
    assert collector.text == '{"a":1}'
    assert collector.finish() == collector.finish() == Recovered({"a": 1}, "strict")


@given(st.lists(texts | jsonish))
def test_feeding_pieces_equals_reading_the_whole(pieces: list[str]) -> None:
    collector = Collector()
    for piece in pieces:
        collector.feed(piece)
    assert collector.text == "".join(pieces)
    assert collector.finish() == recover("".join(pieces))


@given(objects, spellings)
def test_every_json_object_is_strict_and_equal(
    value: dict[str, Any], spelling: Callable[[Any], str]
) -> None:
    text = spelling(value)
    found = recover(text)
    assert found.mode == "strict"
    assert same(found.input, value)
    assert recover(text.encode()) == found
    assert spelled(text, value)


@given(objects, spellings, st.data())
def test_every_prefix_of_an_object_closes_to_a_part_of_it(
    value: dict[str, Any], spelling: Callable[[Any], str], data: st.DataObject
) -> None:
    text = spelling(value)
    prefix = text[: data.draw(st.integers(0, len(text)))]
    found = recover(prefix)
    if not prefix.strip():
        assert found == Recovered({}, "strict")
    elif prefix.strip() == text.strip():
        assert found.mode == "strict"
    else:
        assert found.mode == "closed"
    assert found.input.keys() <= value.keys()
    # Only the last value can be the cut one.
    for key in list(found.input)[:-1]:
        assert same(found.input[key], value[key])


def _assert_sane(text: str | bytes) -> None:
    found = recover(text)
    assert isinstance(found.input, dict)
    assert spelled(to_text(found.input), found.input)
    if found.mode == "invalid":
        assert found.input == {}
    if found.mode == "strict" and text.strip():
        assert same(json.loads(text), found.input)


@given(st.text() | jsonish | jsonish.map('{"'.__add__) | st.binary())
def test_any_text_gives_an_object_that_can_be_written(text: str | bytes) -> None:
    _assert_sane(text)


@given(jsonish)
def test_closing_the_text_before_its_repair_would_give_no_more(tail: str) -> None:
    text = '{"a":"' + tail.translate(dict.fromkeys(map(ord, "eE\ud83d")))
    try:
        jiter.from_json(text.encode())
    except ValueError as error:
        if str(error).startswith("EOF while parsing"):
            closed = jiter.from_json(text.encode(), partial_mode="trailing-strings")
            found = recover(text)
            assert found.mode == "closed"
            assert len(to_text(found.input)) >= len(to_text(closed))


def test_mutated_objects_give_an_object_that_can_be_written() -> None:
    # INTERLINGUA_MUTATIONS=200000 is the long run.
    chance = random.Random(20260)
    seeds = [
        r'{"path":"C:\\dir\\x","text":"a \"b\" \u00e9 \ud83d\ude00\n","n":[1,-2.5e+3,1e30]}',
        '{"city":"Zürich 😀","days":12345678901234567890,"deep":{"a":[{"b":[null,true,false]}]}}',
        '{"a":{},"b":[],"c":"","d":[[],{}],"e":0.1}',
    ]
    spice = [
        *'{}[]",:\\',
        "\\u",
        "\\ud83d",
        "\n",
        "\0",
        "NaN",
        "1e400",
        "-",
        "\ufeff",
        "\ud83d",
        "é",
    ]
    for _ in range(MUTATIONS):
        text = chance.choice(seeds)
        for _ in range(chance.randint(1, 4)):
            start = chance.randint(0, len(text))
            match chance.randrange(5):
                case 0:
                    text = text[:start] + chance.choice(spice) + text[start:]
                case 1:
                    text = text[:start] + text[start + chance.randint(1, 5) :]
                case 2:
                    text = text[:start]
                case 3:
                    text = text + text[start:]
                case 4:
                    text = text[:start] + chr(chance.randrange(0x3000)) + text[start + 1 :]
        _assert_sane(text)
        _assert_sane(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ('{"a": 1}', {"a": 1}, True),
        ('{"a": 1, "b": [null]}', {"b": [None], "a": 1.0}, True),
        ('{"a": 1.0}', {"a": 1}, True),
        ('{"a": [1, {"b": 2}]}', {"a": (1, {"b": 2})}, True),
        ('{"a": 0, "a": 1}', {"a": 1}, True),
        ("", {}, True),
        ('{"a": 1}', {"a": True}, False),
        ('{"a": true}', {"a": 1}, False),
        ('{"a": false}', {"a": 0.0}, False),
        ('{"a": null}', {}, False),
        ('{"a": null}', {"a": False}, False),
        ('{"a": 9007199254740993}', {"a": 9007199254740992.0}, False),
        ('{"a": [1]}', {"a": [1, 1]}, False),
        ('{"a": [1]}', {"a": 1}, False),
        ('{"a": []}', {"a": {}}, False),
        ('{"a": "1"}', {"a": 1}, False),
        ('{"a": {"b": 1}}', {"a": {"b": 2}}, False),
        ('{"a": 1', {"a": 1}, False),
        ('{"a": "\n"}', {"a": "\n"}, False),
        ("[]", {}, False),
    ],
)
def test_a_text_spells_an_input_only_strictly_and_by_json_equality(
    text: str, value: dict[str, Any], expected: bool
) -> None:
    assert spelled(text, value) is expected


def test_input_is_written_compact_and_without_escaping_more_than_needed() -> None:
    assert to_text({}) == "{}"
    value = {"a": [1, 2.5, None, True], "é": 'x"\n😀', "n": 2**70}
    assert to_text(value) == '{"a":[1,2.5,null,true],"é":"x\\"\\n😀","n":1180591620717411303424}'


class Odd(Enum):
    ONE = object()


def _itself() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["b"] = {"c": value, "d": value}
    return value


def _deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ({"a": [0, {"b": float("nan")}]}, "$.a[1].b", "nan is not a JSON number"),
        ({"a": float("inf")}, "$.a", "inf is not a JSON number"),
        ({"a": -float("inf")}, "$.a", "-inf is not a JSON number"),
        ({"a": "\ud800"}, "$.a", "a string with half a surrogate pair"),
        ({"a": {"\ud800": 1}}, "$.a", "a key that is not a Unicode string"),
        ({1: 2}, "$", "a key that is not a Unicode string"),
        ({"a": 10**MAX_DIGITS}, "$.a", f"an integer of more than {MAX_DIGITS} digits"),
        ({"a": -(10 ** (MAX_DIGITS - 1))}, "$.a", f"an integer of more than {MAX_DIGITS} digits"),
        ({"a": b"x"}, "$.a", "a bytes is not a JSON value"),
        ({"a": {1}}, "$.a", "a set is not a JSON value"),
        ({"a": Odd.ONE}, "$.a", "a Odd is not a JSON value"),
        (_itself(), "$" + ".b.d" * (MAX_DEPTH // 2), f"nested deeper than {MAX_DEPTH} levels"),
        (_deep(100_000), "$" + ".a" * MAX_DEPTH, f"nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(
    value: dict[str, Any], path: str, problem: str
) -> None:
    with pytest.raises(WriteError) as raised:
        to_text(value)
    assert (raised.value.path, raised.value.problem) == (path, problem)


def test_the_deepest_and_the_largest_that_can_be_read_can_be_written() -> None:
    value = {"a": _deep(MAX_DEPTH - 1), "b": 10**MAX_DIGITS - 1, "c": 1 - 10 ** (MAX_DIGITS - 1)}
    assert spelled(to_text(value), value)
