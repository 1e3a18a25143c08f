"""`client.embed`: vectors, what they cost, and what is tried again."""

from __future__ import annotations

from decimal import Decimal

import pytest

import interlingua as il
from interlingua.client.retry import RetryPolicy
from tests.gateway.endpoints.vendors import BASES, Reply, Seen, Vendors, vector

SMALL = "text-embedding-3-small"


def client_of(vendors: Vendors) -> il.Client:
    places = {name: f"{vendors.url}{base}" for name, base in BASES.items()}
    keys = dict.fromkeys(BASES, "any")
    retry = RetryPolicy(first=0.01, longest=0.02)
    return il.Client(base_urls=places, keys=keys, environ={"AWS_REGION": "eu-1"}, retry=retry)


def test_vectors_come_in_order_with_usage_cost_and_report() -> None:
    with Vendors() as vendors, client_of(vendors) as client:
        made = client.embed(SMALL, ["a first text", "second"], dimensions=3, input_type="query")
        assert made.vectors == (tuple(vector("a first text", 3)), tuple(vector("second", 3)))
        assert made.model == f"openai:{SMALL}"
        assert made.usage is not None
        assert (made.usage.input_tokens, made.usage.cost_usd) == (4, Decimal("0.00000008"))
        assert [loss.code for loss in made.report.losses] == ["input_type_unsupported"]
        one = client.embed("embed-v4.0", "alone", input_type="document")
        assert one.vectors == (tuple(vector("alone")),)
        assert not one.report


def test_a_failure_is_tried_again_and_then_told() -> None:
    failing = [1]

    def extra(seen: Seen) -> Reply | None:
        if "fails" in seen.path or failing:
            failing.clear()
            return Reply({"error": {"message": "not now"}, "message": "not now"}, 500)
        return None

    with Vendors(extra) as vendors, client_of(vendors) as client:
        made = client.embed(SMALL, "text")
        assert [attempt.status for attempt in made.attempts] == [500, None]
        with pytest.raises(il.ServerError, match="not now"):
            client.embed("bedrock:amazon.titan-embed-fails", "text")


def test_what_cannot_be_asked_is_refused_before_anything_is_sent() -> None:
    with Vendors() as vendors, client_of(vendors) as client:
        with pytest.raises(il.InterlinguaError, match="nothing to embed"):
            client.embed(SMALL, [])
        with pytest.raises(il.InterlinguaError, match="has no embeddings API"):
            client.embed("anthropic:claude-sonnet-4-6", "text")
        with pytest.raises(il.WriteError, match="the input is tokens"):
            client.embed("ollama:nomic-embed-text", [(1, 2, 3)])
        assert vendors.seen == []
