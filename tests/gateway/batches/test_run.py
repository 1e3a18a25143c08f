"""What one request of a batch becomes: a line of a file in, a line of results out."""

from __future__ import annotations

import json

import pytest

from interlingua.gateway.batches.run import TRIES, WholeAnswer, _wait, item_of, on_one_line
from interlingua.gateway.batches.state import Counts, Item, Result
from interlingua.gateway.shared.state import CODE_HEADER

CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("status", "headers", "tries", "wait"),
    [
        (429, {"retry-after": "9000", CODE_HEADER: "quota_exceeded"}, 1, 300.0),
        (429, {"retry-after": "90000", CODE_HEADER: "quota_exceeded"}, 1, None),
        (429, {"retry-after": "90000"}, 1, 30.0),
        (200, {}, 1, None),
        (400, {}, 1, None),
        (403, {}, 1, None),
        (429, {"retry-after": "7"}, 1, 7.0),
        (429, {"retry-after": "7"}, 99, 7.0),
        (429, {"retry-after": "3600"}, 1, 30.0),
        (429, {"retry-after": "soon"}, 1, 1.0),
        (429, {"retry-after": "7", "x-should-retry": "false"}, 1, None),
        (503, {}, 1, 1.0),
        (503, {}, 2, 2.0),
        (503, {}, TRIES, None),
    ],
)
def test_limits_are_waited_for_if_they_are_renewed_in_time(
    status: int, headers: dict[str, str], tries: int, wait: float | None
) -> None:
    assert _wait(WholeAnswer(status, headers, b"{}"), tries, 86400.0) == wait


@pytest.mark.parametrize(
    "body",
    [b'{\n  "a": 1.0,\n  "b": "x\\ny"\n}', b"<html>\n502\n</html>", b"", b"\xff\n", b"[" * 5000],
)
def test_a_result_is_one_line_whatever_the_answer_was(body: bytes) -> None:
    line = on_one_line(body)
    assert b"\n" not in line
    found = json.loads(line)
    assert found == {"a": 1.0, "b": "x\ny"} or found["error"]["code"] == "not_json"


def test_a_request_is_read_from_its_line() -> None:
    seen: set[str] = set()
    line = b'{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"n": 1}}'
    item = item_of(line, CHAT, seen, 1000)
    assert isinstance(item, Item)
    assert (item.custom_id, bytes(item.body)) == ("a", b'{"n":1}')
    again = item_of(line, CHAT, seen, 1000)
    assert not isinstance(again, Item)
    assert again[0] == "duplicate_custom_id"
    assert item_of(line, CHAT, set(), 10) == ("request_too_large", "more than 10 bytes")


def test_requests_that_did_not_run_are_listed_in_both_apis() -> None:
    result = Result("a", "expired")
    shown = result.openai("batch_x", 3)
    assert (shown["response"], shown["error"]["code"]) == (None, "batch_expired")
    assert result.anthropic() == {"custom_id": "a", "result": {"type": "expired"}}
    counts = Counts(total=3)
    counts.add("succeeded")
    counts.add("expired")
    assert counts.left == 1
