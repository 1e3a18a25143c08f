"""What a name means at the gateway: the same at every front."""

from __future__ import annotations

import pytest

from interlingua.client.targets import Targets
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from interlingua.gateway.shared.state import Arrival, Principal, Refusal

FRONTS = [CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA]
MEANT = {
    "claude-sonnet-4-6": "anthropic:claude-sonnet-4-6",
    "gpt-5": "openai:gpt-5",
    "openai/gpt-5": "openai:gpt-5",
    "gemini-2.5-pro": "gemini:gemini-2.5-pro",
    "llama3.2:1b": "ollama:llama3.2:1b",
    "sonnet": "anthropic:claude-sonnet-5-5",
    "ft:gpt-4o-mini:acme::1": "openai:ft:gpt-4o-mini:acme::1",
}


@pytest.fixture
def gateway() -> Gateway:
    settings = Settings(routes={"claude-opus-5": RouteSettings("openai:gpt-5")})
    return Gateway(settings, targets=Targets(environ={}))


@pytest.mark.parametrize("front", FRONTS, ids=lambda front: front.dialect)
@pytest.mark.parametrize("name", MEANT)
def test_a_model_is_its_makers_whatever_the_client_speaks(
    gateway: Gateway, front: object, name: str
) -> None:
    assert gateway.route(name, front).models == (MEANT[name],)  # type: ignore[arg-type]


def test_a_route_comes_before_everything(gateway: Gateway) -> None:
    assert gateway.route("claude-opus-5", ANTHROPIC).models == ("openai:gpt-5",)


@pytest.mark.parametrize("front", FRONTS[:4], ids=lambda front: front.dialect)
def test_a_name_that_nobody_has_is_refused_with_the_nearest(
    gateway: Gateway, front: object
) -> None:
    with pytest.raises(Refusal, match="anthropic:claude-sonnet-4-6") as caught:
        gateway.route("claude-sonet-4-6", front)  # type: ignore[arg-type]
    assert (caught.value.status, caught.value.error.code) == (404, "model_not_found")


def test_a_name_that_several_have_says_so(gateway: Gateway) -> None:
    with pytest.raises(Refusal, match="several providers have"):
        gateway.route("gpt-oss-120b", CHAT)


@pytest.mark.parametrize("name", ["of-my-own", "of-my-own:7b", "mistral-small", "mistral:7b"])
def test_names_of_ollamas_clients_are_ollamas(gateway: Gateway, name: str) -> None:
    assert gateway.route(name, OLLAMA).models == (f"ollama:{name}",)


def test_a_key_may_be_for_a_route_wherever_that_leads(gateway: Gateway) -> None:
    who = Principal("gk_1", allowed_models=frozenset({"route:claude-opus-5"}))
    asked = Arrival("r", CHAT.dialect, who, client_model="claude-opus-5")
    route = gateway.route("claude-opus-5", CHAT)
    assert gateway.allow(asked, route) is route
    direct = Arrival("r", CHAT.dialect, who, client_model="gpt-5")
    with pytest.raises(Refusal, match="not allowed to use openai:gpt-5"):
        gateway.allow(direct, gateway.route("gpt-5", CHAT))
    gone = Gateway(Settings(), targets=Targets(environ={}))
    with pytest.raises(Refusal, match="not allowed to use"):
        gone.allow(asked, gone.route("claude-opus-5", CHAT))


def test_a_wildcard_comes_before_a_known_name_and_a_key_may_be_for_it() -> None:
    routes = {"gpt-*": RouteSettings("openrouter:openai/*"), "gpt-5": RouteSettings("azure:gpt-5")}
    gateway = Gateway(Settings(routes=routes), targets=Targets(environ={}))
    assert gateway.route("gpt-5-mini", CHAT).models == ("openrouter:openai/gpt-5-mini",)
    assert gateway.route("gpt-5", CHAT).models == ("azure:gpt-5",)
    who = Principal("gk_1", allowed_models=frozenset({"route:gpt-*"}))
    route = gateway.route("gpt-5-mini", CHAT)
    arrival = Arrival("r", CHAT.dialect, who, client_model="gpt-5-mini")
    assert gateway.allow(arrival, route) is route
    other = Arrival("r", CHAT.dialect, who, client_model="gpt-5")
    with pytest.raises(Refusal, match="not allowed to use azure:gpt-5"):
        gateway.allow(other, gateway.route("gpt-5", CHAT))
    assert gateway.leads_to("openrouter:openai/gpt-5-mini", frozenset({"route:gpt-*"}))
    assert not gateway.leads_to("azure:gpt-5", frozenset({"route:gpt-*"}))
    assert gateway.leads_to("azure:gpt-5", frozenset({"route:gpt-5"}))
    assert not gateway.leads_to("azure:gpt-5", frozenset({"route:gone"}))


def test_timeouts_of_a_route_are_those_of_its_fallbacks_too() -> None:
    fallbacks = ("anthropic:claude-sonnet-4-6",)
    route = RouteSettings("openai:gpt-5", fallbacks, timeout=7.0, first_byte_timeout=3.0)
    gateway = Gateway(Settings(routes={"quick": route}), targets=Targets(environ={}))
    found = [target.provider.timeouts for target in gateway.route("quick", CHAT).targets]
    assert [(each.total, each.idle, each.first_byte) for each in found] == [(7.0, 7.0, 3.0)] * 2
    assert gateway.route("quick", CHAT).models == ("openai:gpt-5", *fallbacks)
