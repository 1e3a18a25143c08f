"""Runs of OpenAI's own tools, which are billed, where only the items of an answer name them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

import interlingua as il

DIALECT = il.dialect("openai-responses")
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}


def answer(*items: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "output": list(items),
        "usage": USAGE,
        **more,
    }


def search(kind: str = "search", status: str = "completed") -> dict[str, Any]:
    action = {"type": kind, "query": "rye"} if kind == "search" else {"type": kind, "url": "u"}
    return {"type": "web_search_call", "id": f"ws_{kind}", "status": status, "action": action}


CODE = {
    "type": "code_interpreter_call",
    "id": "ci_1",
    "status": "completed",
    "code": "1",
    "container_id": "c",
    "outputs": [],
}


def uses(wire: dict[str, Any]) -> dict[str, int] | None:
    response = DIALECT.read_response(wire)
    assert DIALECT.write_response(response).wire == wire
    usage = response.message.metadata.usage
    assert usage is not None
    return usage.tool_uses


def test_items_are_counted_and_the_body_stays_as_it_was() -> None:
    wire = answer(search(), search("open_page"), search(status="failed"), search(), CODE)
    assert uses(wire) == {"code_execution": 1, "web_search": 2}
    assert uses(answer(search("open_page"))) is None
    assert uses(answer()) is None


def test_items_are_counted_beside_searches_that_the_provider_counts() -> None:
    images = {
        "input_tokens": 0,
        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
        "output_tokens": 0,
        "total_tokens": 0,
    }
    for number, expected in (
        (2, {"code_execution": 1, "web_search": 2}),
        (0, {"code_execution": 1}),
    ):
        counted = {"image_gen": images, "web_search": {"num_requests": number}}
        assert uses(answer(search(), CODE, tool_usage=counted)) == expected
        assert uses(answer(search(), CODE, tool_usage={"web_search": counted["web_search"]})) == (
            expected
        )


@pytest.mark.parametrize("more", [{}, {"x": {"a": 1}}])
def test_searches_are_counted_without_images_beside_them(more: Any) -> None:
    wire = answer(tool_usage={"web_search": {"num_requests": 3}, **more})
    response = il.dialect("openai-responses").read_response(wire)
    assert uses(wire) == {"web_search": 3}
    assert il.dialect("openai-responses").write_response(response).wire == wire
    entries = il.convert(wire, to="anthropic").report.entries
    reported = [entry for entry in entries if "tool_usage" in entry.path]
    assert bool(reported) == bool(more)


@pytest.mark.parametrize("odd", [[["a"]], [{"type": ["web_search_call"]}], [{"type": None}], [7]])
def test_odd_items_are_no_runs(odd: list[Any]) -> None:
    from interlingua.dialects.openai_responses.response import runs_of

    assert runs_of(odd) == {}


def test_a_search_is_in_the_cost_and_in_the_count_of_another_vendor() -> None:
    response = DIALECT.read_response(answer(search(), search()))
    usage = response.message.metadata.usage
    assert usage is not None
    priced = il.priced(usage, "openai:gpt-5")
    assert priced.cost_usd == Decimal("0.0200625")
    wire = il.convert(answer(search()), "openai-responses", "anthropic", kind="response").wire
    assert wire["usage"]["server_tool_use"]["web_search_requests"] == 1


@pytest.mark.parametrize("items", [[], [search()]], ids=["plain", "counted"])
def test_a_loss_of_the_usage_is_reported_at_its_place(items: list[dict[str, Any]]) -> None:
    response = DIALECT.read_response(answer(*items))
    message = response.message
    assert message.metadata.usage is not None
    usage = message.metadata.usage.replace(service_tier="odd")
    metadata = message.metadata.replace(usage=usage)
    report = DIALECT.write_response(
        response.replace(message=message.replace(metadata=metadata))
    ).report
    assert [loss.path for loss in report.entries] == ["$.message.metadata.usage.service_tier"]
