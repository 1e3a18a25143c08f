"""No secret stays on a cassette, wherever it was said."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest

import interlingua as il
from interlingua.dialects.kernel.wire import encode
from interlingua.streams import aws
from tests.cassettes import audit, cases, cassette
from tests.cassettes.record import record
from tests.cassettes.scrub import MASK, Scrubber, SecretFoundError
from tests.replay.answers import Header
from tests.replay.exchanges import Exchange
from tests.replay.server import ReplayServer

ALPHABET = string.ascii_letters + string.digits


def _word(chance: random.Random, length: int, alphabet: str = ALPHABET) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


KEYS: dict[str, Callable[[random.Random], str]] = {
    "openai": lambda chance: f"sk-proj-{_word(chance, 40)}",
    "anthropic": lambda chance: f"sk-ant-api03-{_word(chance, 60, ALPHABET + '-_')}A",
    "openrouter": lambda chance: f"sk-or-v1-{_word(chance, 64, '0123456789abcdef')}",
    "google": lambda chance: f"AIza{_word(chance, 35)}",
    "google token": lambda chance: f"ya29.{_word(chance, 60)}",
    "aws": lambda chance: f"AKIA{_word(chance, 16, string.ascii_uppercase + string.digits)}",
    "groq": lambda chance: f"gsk_{_word(chance, 52)}",
    "xai": lambda chance: f"xai-{_word(chance, 80)}",
    "hugging face": lambda chance: f"hf_{_word(chance, 34)}",
    "github": lambda chance: f"ghp_{_word(chance, 36)}",
    "signed": lambda chance: ".".join(
        ["eyJ" + _word(chance, 20), _word(chance, 40), _word(chance, 43)]
    ),
    "bearer": lambda chance: f"Bearer {_word(chance, 30)}7",
    "pem": lambda chance: (
        f"-----BEGIN RSA PRIVATE KEY-----\n{_word(chance, 64)}\n-----END RSA PRIVATE KEY-----"
    ),
}
"""Canaries that patterns know. The secrets of a recording need no pattern."""


def canaries(count: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(6)
    kinds = list(KEYS)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield kind, KEYS[kind](chance)


def secret_part(canary: str) -> str:
    """What may not be found afterwards, however it is spelled: the key's own letters."""
    return max(canary.replace("\n", " ").replace("-", " ").replace(".", " ").split(), key=len)


# -- by pattern -----------------------------------------------------------------------------------


def test_a_thousand_canaries_in_every_place_leave_nothing_behind() -> None:
    scrubber = Scrubber()
    for kind, canary in canaries(1000):
        part = secret_part(canary)
        inner = encode({"note": canary}).decode()
        places = {
            "text": encode({"messages": [{"role": "user", "content": f"use {canary} now"}]}),
            "json in text": encode({"arguments": inner}),
            "frame": b'data: {"delta":' + encode(canary) + b"}\n\n",
            "error": encode({"error": {"message": f"Incorrect API key provided: {canary}."}}),
        }
        for place, body in places.items():
            assert scrubber.leaks(body.decode()), (kind, place, "was not seen")
            stored = scrubber.body(body).decode()
            assert part not in stored, (kind, place)
            assert scrubber.leaks(stored) == [], (kind, place)


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "x-api-key", "Authorization", "password", "client_secret"]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_what_is_called_a_secret_is_one(name: str, depth: int) -> None:
    body = {name: 'hunter "2"', "other": "kept", "n": 1}
    text = encode(body).decode()
    for _ in range(depth):
        text = encode({"arguments": text}).decode()
    assert Scrubber().leaks(text) == ["a value under a secret's name"]
    stored = Scrubber().text(text)
    assert "hunter" not in stored
    assert "kept" in stored
    assert Scrubber().leaks(stored) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"object","properties":{"password":{"type":"string"}}}',
        '{"logprobs":[{"token":"Hello","logprob":-0.1}]}',
        '{"signature":"EqoBCkgIARABGAIiQL2UoU0b1OHYi+yCHpBY7U6FQW8/FcoLewocJQPa2HnmLM+NECy"}',
        '{"text":"A bearer of good news; Basic understanding of task-oriented risk-taking"}',
        '{"id":"chatcmpl-9x8y7z6w5v4u3t2s1r","tool_call_id":"call_abcdefghijklmnopqrst"}',
        '{"max_tokens":100,"total_tokens":34}',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Scrubber().text(text) == text
    assert Scrubber().leaks(text) == []


def test_headers_stay_by_name_alone() -> None:
    sent: list[Header] = [
        ("Authorization", "Bearer abc"),
        ("X-Api-Key", "abc"),
        ("Content-Type", "application/json"),
        ("Cookie", "session=1"),
        ("User-Agent", "me/1.0 on my-machine"),
        ("x-something-new", "abc"),
    ]
    assert Scrubber().request_headers(sent) == [
        ("authorization", MASK),
        ("content-type", "application/json"),
        ("x-api-key", MASK),
    ]
    received: list[Header] = [
        ("Content-Type", "text/plain"),
        ("Set-Cookie", "a=b"),
        ("OpenAI-Organization", "org-abc"),
        ("x-ratelimit-reset-requests", "1s"),
        ("Retry-After", "3"),
    ]
    assert [name for name, _ in Scrubber().response_headers(received)] == [
        "content-type",
        "x-ratelimit-reset-requests",
        "retry-after",
    ]


def test_parameters_of_a_query_stay_by_name_alone() -> None:
    path = "/v1beta/models/m:streamGenerateContent?alt=sse&key=abcdef&trace=1"
    assert Scrubber().path(path) == (
        f"/v1beta/models/m:streamGenerateContent?alt=sse&key={MASK}&trace={MASK}"
    )


# -- by the secret itself -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelled", [str, lambda s: quote(s, safe=""), lambda s: encode(s).decode()]
)
def test_the_secret_of_a_recording_goes_however_it_is_spelled(
    spelled: Callable[[str], str],
) -> None:
    secret = 'no pattern/knows "this" one'
    stored = Scrubber([secret]).text(f"before {spelled(secret)} after")
    assert MASK in stored
    assert "pattern" not in stored
    packed = base64.b64encode(secret.encode()).decode()
    assert Scrubber([secret]).text(packed) == MASK


def test_a_secret_across_two_chunks_is_found() -> None:
    secret = "no-pattern-knows-this-one"
    chunks = [b"data: {no-pattern-", b"knows-this-one}\n\n"]
    assert Scrubber([secret]).chunks(chunks) == [b"data: {[scrubbed]}\n\n"]
    assert Scrubber([secret]).chunks([b"a", b"b"]) == [b"a", b"b"]


def test_a_secret_inside_a_frame_with_checksums_leaves_a_frame_that_is_sound() -> None:
    secret = "no-pattern-knows-this-one"
    chunk = aws.encode(il.Frame("contentBlockDelta", encode({"delta": {"text": secret}}).decode()))
    (stored,) = Scrubber([secret]).chunks([chunk], is_aws=True)
    (frame,) = aws.Decoder().feed(stored)
    assert frame.data == '{"delta":{"text":"[scrubbed]"}}'


# -- on the way to a cassette ---------------------------------------------------------------------


@pytest.mark.parametrize("dialect", il.dialects())
def test_a_key_that_is_told_everywhere_is_nowhere_on_the_cassette(dialect: str) -> None:
    """In headers both ways, in the query, in the request, in the answer, whole and streamed."""
    key = f"canary-{dialect}-0123456789"
    asked: list[Exchange] = []
    for each in cases.exchanges(dialect)[:2]:
        request = (each.request or b"").replace(b"hello", key.encode())
        mark = "&" if "?" in each.path else "?"
        headers = (*each.answer().headers, ("x-echo", key), ("retry-after", key))
        body = each.body.replace("Grüße".encode(), key.encode())
        frames = each.frames and tuple(
            il.Frame(frame.event, frame.data.replace("Grüße", key)) for frame in each.frames
        )
        asked.append(
            replace(
                each,
                request=request,
                path=f"{each.path}{mark}key={key}",
                headers=headers,
                body=body,
                frames=frames,
            )
        )
    with ReplayServer(asked) as server:
        tape = record(server.url, asked, "s", "c", [("authorization", f"Bearer {key}")], [key])
        assert all(each.header("authorization") for each in server.received)
    text = cassette.to_bytes(tape).decode()
    assert len(tape.exchanges) == 2
    assert all(taped.status == 200 for taped in tape.exchanges)
    assert MASK in text
    assert key not in text
    assert all(key.encode() not in taped.answered + taped.asked for taped in tape.exchanges)
    assert audit.secrets(tape) == []


def test_a_secret_that_is_written_in_pieces_stops_the_recording() -> None:
    key = "Grüße, 世界"  # which the stream says in several deltas
    exchange = cases.exchanges("anthropic")[1]
    with (
        ReplayServer([exchange]) as server,
        pytest.raises(SecretFoundError, match="the stream spells a secret") as caught,
    ):
        record(server.url, [exchange], "s", "c", secrets=[key])
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"request_headers": {"authorization": "Bearer x"}}, "authorization is not scrubbed"),
        ({"request_headers": {"cookie": "x"}}, "cookie may not stay"),
        ({"headers": {"set-cookie": "x"}}, "set-cookie may not stay"),
        ({"path": "/v1/messages?key=abc"}, "key is not scrubbed"),
        ({"response": "sk-ant-0123456789abcdefgh"}, "begins with sk-"),
        ({"request": {"base64": "c2stYW50LTAxMjM0NTY3ODlhYmNkZWZnaA=="}}, "begins with sk-"),
    ],
    ids=str,
)
def test_a_secret_that_somebody_committed_is_found(change: dict[str, object], problem: str) -> None:
    tape = cassette.load(cassette.FOLDER / "generated" / "anthropic" / "text.json")
    fields = {
        name: getattr(tape.exchanges[0], name) for name in tape.exchanges[0].__struct_fields__
    }
    spoiled = cassette.Taped(**{**fields, **change})
    found = audit.secrets(cassette.Cassette(1, tape.source, tape.dialect, tape.case, [spoiled]))
    assert found
    assert all("0123456789abcdefgh" not in each for each in found)
    assert problem in found[-1]
