"""What goes wrong is told in the client's dialect, and its SDK raises its own kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import anthropic
import openai
import pytest

import interlingua as il
from interlingua.gateway.keys.key_admin import Terms, issue
from tests.gateway.sdks.clients import CLIENTS, Client
from tests.gateway.sdks.hosts import ALL
from tests.gateway.sdks.provider import ANSWER, BACKS, ROUTES, Upstream, settings, targets
from tests.gateway.sdks.standing import standing
from tests.replay import faults
from tests.replay.fault import Fault

PAIRS = [(front, back) for front in ALL for back in BACKS]


class Place(NamedTuple):
    url: str
    upstream: Upstream


class Odd(NamedTuple):
    fault: Callable[[], Fault]
    raised: Callable[[Client], type[Exception]]
    statuses: tuple[int, ...]
    says: str = ""


ODD = {
    "not-known": Odd(lambda: faults.failing(401, "who?"), lambda c: c.Server, (502,)),
    "limited": Odd(lambda: faults.rate_limited(7), lambda c: c.Limit, (429,)),
    "invalid": Odd(
        lambda: faults.failing(400, "the prompt is odd"), lambda c: c.Invalid, (400,), "is odd"
    ),
    "overloaded": Odd(lambda: faults.overloaded(), lambda c: c.Server, (502, 503, 529)),
    "page": Odd(lambda: faults.html_error(500), lambda c: c.Server, (500, 502)),
    "dropped": Odd(lambda: faults.dropped("rst"), lambda c: c.Server, (502,)),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = str(tmp_path_factory.mktemp("errors") / "gateway.db")
    with (
        Upstream() as upstream,
        standing(settings(store=store), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream)


def client_of(place: Place, front: str, back: str) -> Client:
    place.upstream.clear()
    client = ALL[front](place.url, f"back-{back}")
    client.say("Hello")
    return client


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_an_error_of_the_provider_is_one_of_the_sdk(
    place: Place, front: str, back: str, odd: str, stream: bool
) -> None:
    client = client_of(place, front, back)
    expected = ODD[odd]
    place.upstream.stage(expected.fault())
    with pytest.raises(expected.raised(client)) as raised:
        client.hear(stream)
    client.close()
    error: Any = raised.value
    assert client.status_of(error) in expected.statuses
    assert expected.says in str(error)
    assert "k-up" not in str(error)
    if odd == "limited" and front != "ollama":  # whose SDK keeps no headers
        assert client.headers_of(error)["retry-after"] == "7"
    assert len(place.upstream.received) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_noise_in_place_of_an_answer_is_an_error(
    place: Place, front: str, back: str, stream: bool
) -> None:
    client = client_of(place, front, back)
    place.upstream.stage(faults.garbage())
    with pytest.raises(client.Server) as raised:
        client.hear(stream)
    client.close()
    assert client.status_of(raised.value) == 502


BREAKS = {
    "early": lambda: faults.cut(-450, "rst"),
    "late": lambda: faults.cut(-40, "rst"),
    "ended": lambda: faults.cut(-450, "end"),
    "told": lambda: faults.error_event(3),
}


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_a_stream_that_breaks_is_no_whole_answer(
    place: Place, front: str, back: str, how: str
) -> None:
    if how == "late" and back in ("bedrock", "openai-chat", "openrouter"):
        pytest.skip("the answer has its reason to end; all that is missing is what it cost")
    client = client_of(place, front, back)
    place.upstream.stage(BREAKS[how]())
    with pytest.raises(client.Broken):
        client.hear(stream=True)
    client.close()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A gateway whose routes wait for a short time."""
    store = str(tmp_path_factory.mktemp("hasty") / "gateway.db")
    routes = {name: replace(route, timeout=1.0) for name, route in ROUTES.items()}
    with (
        Upstream() as upstream,
        standing(settings(store=store, routes=routes), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream)


SILENT = [(front, back) for front in ALL for back in dict.fromkeys([front, "anthropic"])]


@pytest.mark.parametrize(("front", "back"), [pair for pair in SILENT if pair[1] in BACKS])
def test_a_stream_that_falls_silent_ends_with_an_error_of_the_sdk(
    hasty: Place, front: str, back: str
) -> None:
    """In the provider's own dialect, where bytes are passed on, and in another."""
    client = client_of(hasty, front, back)
    hasty.upstream.stage(faults.silence(400))
    with pytest.raises(client.Broken) as raised:
        client.hear(stream=True)
    client.close()
    words = ("no data", "timed out", "response.failed")
    assert any(each in str(raised.value) for each in words)


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, str]]:
    """A gateway with a key, and its token."""
    address = str(tmp_path_factory.mktemp("locked") / "gateway.db")
    with il.open_store(address) as store:
        token = issue(store, "test", ".", Terms()).token
    with (
        Upstream() as upstream,
        standing(settings(store=address), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream), token


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("front", ALL)
def test_a_token_that_opens_nothing_is_an_authentication_error(
    locked: tuple[Place, str], front: str, stream: bool
) -> None:
    place, token = locked
    place.upstream.clear()
    stranger = ALL[front](place.url, "back-anthropic", "wrong")
    stranger.say("Hello")
    with pytest.raises(stranger.Auth) as raised:
        stranger.hear(stream)
    assert stranger.status_of(raised.value) == (403 if "bedrock" in front else 401)
    assert not place.upstream.received
    friend = ALL[front](place.url, "back-anthropic", token)
    friend.say("Hello")
    assert friend.hear(stream).text == ANSWER
    result = place.upstream.received[0]
    assert not any(token in value for _, value in result.headers)
    stranger.close()
    friend.close()


MISSING: dict[str, type[Exception]] = {
    "openai-chat": openai.NotFoundError,
    "openai-responses": openai.NotFoundError,
    "anthropic": anthropic.NotFoundError,
    "gemini": CLIENTS["gemini"].Invalid,
}


@pytest.mark.parametrize("front", MISSING)
def test_a_model_that_nobody_has_is_not_found(place: Place, front: str) -> None:
    client = CLIENTS[front](place.url, "nobody:nothing")
    client.say("Hello")
    with pytest.raises(MISSING[front], match="nobody") as raised:
        client.hear(stream=False)
    client.close()
    assert client.status_of(raised.value) == 404


@pytest.mark.parametrize(
    ("front", "name"), [("ollama", "some:tag"), ("openai-chat", "ft:gpt-4o-mini:me::1")]
)
def test_a_colon_in_a_name_of_the_front_s_own_provider_names_no_other(
    place: Place, front: str, name: str
) -> None:
    place.upstream.clear()
    client = CLIENTS[front](place.url, name)
    client.say("Hello")
    assert client.hear(stream=False).text == ANSWER
    client.close()
    assert json.loads(place.upstream.received[0].body)["model"] == name
