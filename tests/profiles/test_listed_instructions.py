"""Models that take system turns in the list say so."""

from __future__ import annotations

import pytest

from interlingua.profiles.capabilities import capabilities


@pytest.mark.requirement("S002-83")
def test_a_model_that_is_sent_system_turns_declares_them() -> None:
    assert capabilities("anthropic:claude-opus-4-8").supports_system_messages_in_list
    assert not capabilities("anthropic:claude-sonnet-4-6").supports_system_messages_in_list
