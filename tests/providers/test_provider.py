"""Nothing that prints, logs, stores or fails shows a key."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from typing import Any

import msgspec
import pytest

from interlingua.errors import InterlinguaError
from interlingua.providers import (
    Secret,
    authorise,
    compatible,
    credentials,
    endpoint,
    provider,
    providers,
)

CANARY = "sk-canary-0123456789"


def shown(value: Any) -> str:
    return f"{value} {value!r} {value:>20} {[value]}"


def test_a_secret_is_shown_by_nothing_but_reveal() -> None:
    secret = Secret(CANARY)
    assert CANARY not in shown(secret) + ascii(secret) + "%s %r" % (secret, secret)  # noqa: UP031  the form of logging
    assert secret.reveal() == CANARY
    assert secret == Secret(CANARY)
    assert secret != Secret("other")
    assert secret != CANARY
    assert copy.deepcopy([secret]) == [secret]
    assert len({secret, Secret(CANARY)}) == 1
    for store in (pickle.dumps, json.dumps, msgspec.json.encode, copy_state):
        with pytest.raises(TypeError) as refused:
            store(secret)
        assert CANARY not in str(refused.value)


def copy_state(secret: Secret) -> Any:
    return vars(secret)


@pytest.mark.parametrize("key", list(providers()))
def test_no_value_on_the_way_to_a_request_shows_the_key(
    key: str, caplog: pytest.LogCaptureFixture
) -> None:
    environ = {name: CANARY for auth in provider(key).auth for name in auth.env}
    environ |= {"AWS_REGION": "us-east-1", "GOOGLE_CLOUD_PROJECT": "p", "AWS_ACCESS_KEY_ID": "AK"}
    environ |= {"AZURE_OPENAI_ENDPOINT": "https://x.test", "INTERLINGUA_LOCAL_URL": "http://[::1]"}
    found = credentials(provider(key), environ)
    place = endpoint(f"{key}:m", environ=environ)
    ready = authorise(place, provider(key), found, b"{}")
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").debug("%s %r", ready, found, extra={"found": found})
    text = repr(found) + repr(ready) + repr(place) + caplog.text
    assert CANARY not in text
    for value in (found, ready):
        with pytest.raises(TypeError):
            pickle.dumps(value)
    assert any(CANARY in header for header in ready.headers.values()), "and yet it is sent"


def test_a_key_in_the_address_is_not_shown_either() -> None:
    asked = compatible("acme", "https://a.test/v1", auth=[{"style": "query", "env": ["K"]}])
    ready = authorise(endpoint("acme:m", provider=asked), asked, credentials(asked, {"K": CANARY}))
    assert ready.url == f"https://a.test/v1/chat/completions?key={CANARY}"
    assert CANARY not in repr(ready)


@pytest.mark.parametrize("odd", [CANARY + "\r\nx: y", CANARY + "é", CANARY + " " + CANARY])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(odd: str) -> None:
    for value in ({"environ": {"OPENAI_API_KEY": odd}}, {"environ": {}, "token": lambda: odd}):
        with pytest.raises(InterlinguaError, match="has invalid characters") as refused:
            credentials(provider("openai"), **value)
        assert CANARY not in "".join(traceback.format_exception(refused.value))
