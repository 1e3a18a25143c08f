"""What a turn needs, what a model declares, and whether a session can move to a model."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua.events import Bus
from interlingua.model.blocks import ImageBlock, Source
from interlingua.model.message import Message
from interlingua.model.tools import SideEffects
from interlingua.routing import (
    Availability,
    Config,
    FailureCode,
    Needs,
    Registry,
    SwapError,
    Turn,
    check_swap,
    decide,
    needs_of,
    turn_of,
)
from interlingua.routing.swap import failure_of, shortcoming_of
from tests.routing.needs import CALL, PNG

WEBP = ImageBlock(Source("base64", "aGk="), "image/webp")
REGISTRY = Registry.of(["a:vision", "b:text"])


class Record(msgspec.Struct, frozen=True):
    supports_images: bool | None = None
    supports_tools: bool | None = None
    supports_system_prompt: bool | None = None
    supports_structured_output: bool | None = None
    max_context_tokens: int | None = None
    accepted_image_media_types: tuple[str, ...] | None = None


EVERYTHING = Needs(
    image_media_types=("image/png",),
    input_tokens=11,
    tools=True,
    system_prompt=True,
    structured_output=True,
)
NOTHING = Record(False, False, False, False, 10)


def test_the_first_failure_in_the_fixed_order_is_reported() -> None:
    """Each step repairs the failure that was told, and the next one in the order appears."""
    repairs: list[dict[str, Any]] = [
        {},
        {"supports_images": True},
        {"max_context_tokens": 11},
        {"supports_tools": True},
        {"supports_system_prompt": True},
        {"supports_structured_output": True},
    ]
    record, codes = NOTHING, []
    assert failure_of("x:y", EVERYTHING, REGISTRY, lambda m: NOTHING, lambda m: "down") == (
        FailureCode.NOT_CONFIGURED,
        "it is not configured",
    )
    down = failure_of("b:text", EVERYTHING, REGISTRY, lambda m: NOTHING, lambda m: "down")
    assert down == (FailureCode.PROVIDER_UNAVAILABLE, "down")
    distrusted = REGISTRY.trusting({"b": frozenset()})
    needs = msgspec.structs.replace(EVERYTHING, side_effects=(SideEffects.WRITE,))
    for repair in repairs:
        record = msgspec.structs.replace(record, **repair)
        failure = failure_of("b:text", needs, distrusted, lambda m, r=record: r)
        codes.append(failure and failure.code)
    assert failure_of("b:text", needs, REGISTRY, lambda m: record) is None
    assert codes == list(FailureCode)[2:]
    assert list(FailureCode) == [
        "not_configured",
        "provider_unavailable",
        "no_vision_support",
        "exceeds_context_window",
        "no_tool_support",
        "no_system_prompt_support",
        "no_structured_output_support",
        "side_effects_not_allowed",
    ]


def test_only_what_the_turn_needs_is_checked() -> None:
    assert shortcoming_of(Needs(input_tokens=10), NOTHING) is None


@pytest.mark.parametrize("record", [None, Record()], ids=["no record", "nothing declared"])
def test_missing_declarations_are_yes_for_tools_and_system_and_no_for_the_rest(
    record: Record | None,
) -> None:
    assert shortcoming_of(Needs(tools=True, system_prompt=True, input_tokens=10**9), record) is None
    structured = shortcoming_of(Needs(structured_output=True), record)
    images = shortcoming_of(Needs(image_media_types=("",)), record)
    assert structured is not None
    assert images is not None
    assert structured.code is FailureCode.NO_STRUCTURED_OUTPUT_SUPPORT
    assert images.code is FailureCode.NO_VISION_SUPPORT


def test_the_window_has_to_hold_the_prompt_and_the_answer_that_was_asked_for() -> None:
    record = Record(max_context_tokens=1000)
    assert shortcoming_of(Needs(input_tokens=900, output_tokens=100), record) is None
    failure = shortcoming_of(Needs(input_tokens=900, output_tokens=101), record)
    assert failure == (
        FailureCode.EXCEEDS_CONTEXT_WINDOW,
        "about 1,001 tokens do not fit into its window of 1,000",
    )


def test_media_types_are_compared_without_regard_to_case() -> None:
    record = Record(supports_images=True, accepted_image_media_types=("image/PNG",))
    odd = ImageBlock(Source("base64", "aGk="), "Image/Png")
    assert shortcoming_of(needs_of([Message.user([odd])]), record) is None
    failure = shortcoming_of(needs_of([Message.user([WEBP])]), record)
    assert failure is not None
    assert failure.reason == "it does not accept image/webp"
    unknown = ImageBlock(Source("url", "https://example.com/a"))
    assert shortcoming_of(needs_of([Message.user([unknown])]), record) is None


def records(model: str) -> Record:
    if model == "a:vision":
        return Record(supports_images=True, accepted_image_media_types=("image/png",))
    return Record(supports_images=False)


def test_images_in_history_keep_a_rule_from_choosing_a_text_model() -> None:
    history = [Message.user([PNG]), Message.assistant("a cat")]
    turn = turn_of(history, Message.user("thanks"), needs_of(history), sticky="b:text")
    decision = decide(turn, Config(REGISTRY, global_default="a:vision"), records)
    assert decision.chosen_model == "a:vision"
    assert decision.chain[1].validation_failure is FailureCode.NO_VISION_SUPPORT


@pytest.mark.requirement("S002-92")
def test_a_swap_that_the_history_forbids_is_refused_in_words_and_as_an_event() -> None:
    history = [Message.user(["what is this?", PNG]), Message.assistant("a cat")]
    refusal = check_swap("b:text", history, REGISTRY, records, active_model="a:vision")
    assert refusal is not None
    assert refusal.text == (
        "Cannot switch to b:text: the conversation contains an image, and the model does not"
        " support images. The active model is unchanged: a:vision."
    )
    assert str(SwapError(refusal)) == refusal.text
    event = Bus(strict=True).emit("routing_constraint_failure", refusal.event(), session_id="s")
    assert event is not None
    assert event.type == "routing.constraint_failure"
    assert (event.payload.model, event.payload.active_model) == ("b:text", "a:vision")
    assert event.payload.code == "no_vision_support"


@pytest.mark.requirement("S002-92")
def test_a_swap_looks_at_media_types_tools_and_window_too() -> None:
    assert check_swap("a:vision", [Message.user([PNG])], REGISTRY, records) is None
    refusal = check_swap("a:vision", [Message.user([PNG, WEBP])], REGISTRY, records)
    assert refusal is not None
    assert "contains 2 images, and the model does not accept image/webp" in refusal.text
    no_tools = Record(supports_tools=False, max_context_tokens=10)
    by_tools = check_swap("b:text", [Message.assistant([CALL])], REGISTRY, lambda m: no_tools)
    assert by_tools is not None
    assert by_tools.failure.code is FailureCode.NO_TOOL_SUPPORT
    by_size = check_swap("b:text", [], REGISTRY, lambda m: no_tools, input_tokens=11)
    assert by_size is not None
    assert by_size.failure.code is FailureCode.EXCEEDS_CONTEXT_WINDOW
    unknown = check_swap("x:y", [], REGISTRY, records)
    assert unknown is not None
    assert unknown.failure.code is FailureCode.NOT_CONFIGURED


def test_a_swap_is_not_refused_because_a_provider_is_down_now() -> None:
    availability = Availability(lambda: 0.0)
    availability.mark("a:vision", "down")
    turn = Turn(sticky="a:vision")
    assert decide(turn, Config(REGISTRY), records, availability.why_not).chosen_model is None
    assert check_swap("a:vision", [Message.user([PNG])], REGISTRY, records) is None
