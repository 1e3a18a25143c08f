"""Decisions through the gateway: with the SDKs that know them, from models that have an API for
them and from chat models."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import openai
import openrouter
import pytest
from google import genai
from google.genai import types
from openrouter.utils import RetryConfig

import interlingua as il
from interlingua.gateway.keys.key_admin import Terms, issue
from tests.gateway.sdks.judge import Judge
from tests.gateway.sdks.provider import settings, targets
from tests.gateway.sdks.standing import standing
from tests.replay import faults
from tests.replay.exchanges import Exchange

TEXT = "My parcel is late!"
OPENAI: Any = [
    {"type": "predicate", "name": "angry", "instructions": "The customer is angry."},
    {
        "type": "choice",
        "name": "team",
        "instructions": "Who handles it?",
        "choices": [{"value": "billing"}, {"value": "shipping"}, {"value": True}],
    },
    {
        "type": "score",
        "name": "urgency",
        "instructions": "How urgent is it?",
        "levels": [{"label": "low"}, {"label": "middle"}, {"label": "high"}],
    },
]
NOUL: Any = {
    "angry": {"type": "noul", "instructions": "The customer is angry."},
    "team": {
        "type": "choice",
        "instructions": "Who handles it?",
        "criteria": {"billing": "money", "shipping": "parcels"},
    },
    "urgency": {"type": "score", "instructions": "How urgent?", "criteria": ["low", "high"]},
}
NATIVE: Any = {
    "answers": [
        {"type": "predicate", "name": "angry", "probability": 0.9},
        {
            "type": "choice",
            "name": "team",
            "choice": True,
            "confidence": 0.5,
            "probabilities": [
                {"value": "billing", "probability": 0.25},
                {"value": "shipping", "probability": 0.25},
                {"value": True, "probability": 0.5},
            ],
        },
        {"type": "refusal", "name": "urgency"},
    ],
    "model": "gpt-6-luna",
    "usage": {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 7,
    },
}


class Place(NamedTuple):
    url: str
    upstream: Judge
    token: str

    def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, Any, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        headers = {"authorization": f"Bearer {self.token}", **headers}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        parsed = (reply.status, reply.headers, json.loads(reply.read()))
        connection.close()
        return parsed

    def losses(self, headers: Any) -> list[str]:
        report = self.send("GET", f"/losses/{headers['x-request-id']}")[2]
        return [each["code"] for each in report["losses"]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    address = str(tmp_path_factory.mktemp("deciding") / "gateway.db")
    with il.open_store(address) as store:
        token = issue(
            store, "test", ".", Terms(daily_cap_usd=Decimal(1), allow_unpriced=True)
        ).token
    with (
        Judge() as upstream,
        standing(settings(store=address), targets(upstream.url)) as here,
    ):
        yield Place(here.url, upstream, token)


@pytest.fixture(autouse=True)
def _fresh(place: Place) -> None:
    place.upstream.clear()
    place.upstream.asked.clear()
    place.upstream.refuses = False


def test_openai_s_sdk_and_a_model_of_its_own(place: Place) -> None:
    place.upstream.answers = [
        Exchange("native", "openai-chat", "", body=json.dumps(NATIVE).encode())
    ]
    with openai.OpenAI(base_url=f"{place.url}/v1", api_key=place.token, max_retries=0) as client:
        done = client.decisions.create(model="gpt-6-luna", input=TEXT, questions=OPENAI)
    received = place.upstream.received[0]
    assert received.path.endswith("/decisions")
    assert json.loads(received.body) == {
        "model": "gpt-6-luna",
        "input": TEXT,
        "questions": OPENAI,
    }
    assert [answer.type for answer in done.answers] == ["predicate", "choice", "refusal"]
    assert done.model_dump(exclude_none=True)["answers"] == NATIVE["answers"]
    assert done.usage.input_tokens == 7


@pytest.mark.parametrize("model", ["back-anthropic", "back-gemini", "back-cohere", "back-ollama"])
def test_openai_s_sdk_and_a_chat_model(place: Place, model: str) -> None:
    with openai.OpenAI(base_url=f"{place.url}/v1", api_key=place.token, max_retries=0) as client:
        raw = client.decisions.with_raw_response.create(model=model, input=TEXT, questions=OPENAI)
    angry, team, urgency = answers = raw.parse().answers
    assert [answer.type for answer in answers] == ["predicate", "choice", "score"]
    assert angry.type == "predicate"
    assert angry.probability == pytest.approx(0.75)
    assert team.type == "choice"
    assert (team.choice, team.name) == ("billing", "team")
    assert sum(each.probability for each in team.probabilities) == pytest.approx(1)
    assert team.probabilities[2].value is True
    assert urgency.type == "score"
    by_tokens = model == "back-ollama"
    assert urgency.score == pytest.approx(0.25 if by_tokens else 0.125 + 0.25)
    word = "decision_by_logprobs" if by_tokens else "decision_by_chat"
    assert word in place.losses(raw.headers)
    assert TEXT in place.upstream.asked[0].messages[-1].text


def test_a_chat_model_that_reports_the_probabilities_of_its_tokens(place: Place) -> None:
    body = {"model": "openai:gpt-4.1", "input": TEXT, "questions": OPENAI}
    status, headers, reply = place.send("POST", "/v1/decisions", body)
    assert status == 200, reply
    assert reply["answers"][0]["probability"] == pytest.approx(0.75)
    assert [each["probability"] for each in reply["answers"][1]["probabilities"]] == pytest.approx(
        [0.75, 0.25, 0]
    )
    assert place.losses(headers) == ["decision_by_logprobs"]
    assert place.upstream.asked[0].options.logprobs == 20


def test_google_s_sdk_and_a_chat_model(place: Place) -> None:
    options = types.HttpOptions(base_url=place.url)
    client = genai.Client(api_key=place.token, vertexai=False, http_options=options)
    done = client.decisions.create(model="back-anthropic", input=TEXT, questions=NOUL)
    client.close()
    assert done.answers is not None
    angry: Any = done.answers["angry"]
    team: Any = done.answers["team"]
    urgency: Any = done.answers["urgency"]
    assert (angry.noul, angry.confidence) == (pytest.approx(0.75), pytest.approx(0.75))
    assert (team.choice, sum(team.probabilities.values())) == ("billing", pytest.approx(1))
    assert (urgency.score, urgency.legend) == (pytest.approx(0.25), {"0": "low", "1": "high"})


def test_openrouter_s_sdk_and_a_chat_model(place: Place) -> None:
    with openrouter.OpenRouter(api_key=place.token, server_url=place.url) as client:
        asked: Any = {"model": "back-gemini", "state": {"text": TEXT}, "questions": NOUL}
        asked |= {"server_url": place.url, "retries": RetryConfig("none", None, False)}  # type: ignore[arg-type]
        for done in (client.alpha.decisions.create(**asked), client.system_one.create(**asked)):
            angry: Any = done.answers["angry"]
            assert angry.noul == pytest.approx(0.75)
            assert done.model == "back-gemini"


def test_vercel_s_form_names_the_model_in_a_header(place: Place) -> None:
    questions = {**NOUL, "angry": {"type": "boolean", "instructions": "Angry?"}}
    body = {"stateParts": [{"type": "text", "text": TEXT}], "questions": questions}
    path = "/v4/ai/decision-model"
    status, _, reply = place.send("POST", path, body, **{"ai-model-id": "back-gemini"})
    assert status == 200
    assert reply["answers"]["angry"] == {"type": "boolean", "probability": pytest.approx(0.75)}
    assert reply["answers"]["team"]["choice"] == "billing"


def test_a_model_of_another_vendor_s_form(place: Place) -> None:
    answers = {
        "angry": {"type": "noul", "noul": 0.2, "confidence": 0.8},
        "team": {
            "type": "choice",
            "choice": "true",
            "confidence": 0.5,
            "probabilities": {"billing": 0.25, "shipping": 0.25, "true": 0.5},
        },
        "urgency": {
            "type": "score",
            "score": 1.5,
            "confidence": 0.5,
            "legend": {"0": "low", "1": "middle", "2": "high"},
            "probabilities": {"0": 0, "1": 0.5, "2": 0.5},
        },
    }
    body = json.dumps({"answers": answers}).encode()
    place.upstream.answers = [Exchange("gemini", "gemini", "", body=body)]
    asked = {"model": "gemini:gemini-decision-1", "input": TEXT, "questions": OPENAI}
    status, headers, reply = place.send("POST", "/v1/decisions", asked)
    assert status == 200, reply
    received = place.upstream.received[0]
    assert received.path == "/v1beta/decisions"
    assert json.loads(received.body)["input"] == [{"type": "text", "text": TEXT}]
    assert reply["answers"][1]["choice"] is True
    assert reply["answers"][2]["probabilities"][1] == {
        "label": "middle",
        "value": 1,
        "probability": 0.5,
    }
    report = place.send("GET", f"/losses/{headers['x-request-id']}")[2]
    assert [(each["code"], each["at"]) for each in report["losses"]] == [
        ("decision_booleans", ["$.questions[1]"])
    ]


def test_a_model_that_refuses(place: Place) -> None:
    place.upstream.refuses = True
    body = {"model": "back-anthropic", "input": TEXT, "questions": OPENAI}
    _, _, reply = place.send("POST", "/v1/decisions", body)
    assert [each["type"] for each in reply["answers"]] == ["refusal"] * 3


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/decisions", {"model": "back-gemini", "input": TEXT, "questions": []}),
        ("/v1/decisions", {"model": "back-gemini", "questions": OPENAI}),
        ("/v1beta/decisions", {"model": "back-gemini", "input": TEXT, "questions": {"a": 1}}),
        ("/systemone", {"model": "back-gemini", "state": TEXT, "questions": OPENAI}),
        ("/v1/api/alpha/decisions", {"model": "back-gemini", "state": {"text": TEXT}}),
        ("/openai/v1/decisions", {"model": "back-gemini", "questions": OPENAI}),
    ],
)
def test_what_asks_nothing_is_refused(place: Place, path: str, body: Any) -> None:
    status, _, reply = place.send("POST", path, body)
    assert status == 400
    assert reply["error"]["message"]
    assert not place.upstream.received


def test_an_error_of_the_provider_is_the_client_s(place: Place) -> None:
    place.upstream.stage(faults.rate_limited(7))
    with (
        openai.OpenAI(base_url=f"{place.url}/v1", api_key=place.token, max_retries=0) as client,
        pytest.raises(openai.RateLimitError),
    ):
        client.decisions.create(model="back-anthropic", input=TEXT, questions=OPENAI)


def test_a_stranger_decides_nothing(place: Place) -> None:
    body = {"model": "back-gemini", "input": TEXT, "questions": OPENAI}
    status, _, _ = place.send("POST", "/v1/decisions", body, authorization="Bearer gw_wrong")
    assert status == 401


def test_a_repeated_request_is_decided_once(place: Place) -> None:
    body = {"model": "back-anthropic", "input": TEXT, "questions": OPENAI}
    first, again = (
        place.send("POST", "/v1/decisions", body, **{"idempotency-key": "once"}) for _ in range(2)
    )
    assert (first[0], again[0]) == (200, 200)
    assert first[2] == again[2]
    assert len(place.upstream.received) == 1
    other = {**body, "input": "Another text."}
    status, _, _ = place.send("POST", "/v1/decisions", other, **{"idempotency-key": "once"})
    assert status in (409, 422)


def test_a_refusal_that_a_form_has_no_word_for_is_in_the_report(place: Place) -> None:
    place.upstream.refuses = True
    body = {"model": "back-anthropic", "state": TEXT, "questions": NOUL}
    status, headers, reply = place.send("POST", "/v1/systemone", body)
    assert (status, reply["answers"]) == (200, {})
    report = place.send("GET", f"/losses/{headers['x-request-id']}")[2]
    refused = [each["at"] for each in report["losses"] if each["code"] == "decision_refused"]
    assert refused == [[f"$.questions.{name}"] for name in NOUL]
