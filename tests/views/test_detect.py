"""Which view some JSON is in."""

from __future__ import annotations

import pytest

from interlingua.views import detect


@pytest.mark.parametrize("odd", [{}, [], 7, None, {"type": "text"}])
def test_a_part_whose_type_is_no_text_is_no_reason_to_fail(odd: object) -> None:
    messages = [{"role": "user", "content": [{"type": odd, "text": "Hi"}]}]
    assert isinstance(detect.guesses(messages), list)
