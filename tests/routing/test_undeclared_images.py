"""A model that nobody has described, and a conversation with images."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.profiles.capabilities import expected_capabilities
from interlingua.routing.swap import check_swap
from interlingua.sessions.setting import default_router

PICTURE = il.ImageBlock(il.Source("base64", "aGk="), "image/png")


@pytest.mark.requirement("S002-92")
@pytest.mark.parametrize(
    "model", ["anthropic:claude-haiku-4-5-text-only", "ollama:nobody-has-described-this"]
)
def test_a_conversation_with_images_does_not_move_to_an_undeclared_model(model: str) -> None:
    router = default_router(None)
    names = router.config().names
    refusal = check_swap(model, [il.Message.user([PICTURE])], names, expected_capabilities)
    assert refusal is not None
    assert "the conversation contains an image" in refusal.text
    assert check_swap(model, [il.Message.user("Hi")], names, expected_capabilities) is None
    assert (
        check_swap(
            "anthropic:claude-sonnet-4-6",
            [il.Message.user([PICTURE])],
            names,
            expected_capabilities,
        )
        is None
    )
