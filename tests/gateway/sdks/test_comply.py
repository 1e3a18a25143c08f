"""An outside tester judges the gateway; `python -m tests.gateway.sdks.comply` runs all of it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.gateway.sdks.comply import FORMATS, verdicts

pytest.importorskip("llm_comply", reason="the tester llm-comply is not installed")

CHECKS = {"openai-chat": 9, "open-responses": 13, "anthropic": 9, "google-genai": 9}
"""How many it has for each format."""


@pytest.mark.parametrize("format", FORMATS)
def test_every_check_passes_with_a_scripted_provider_behind(format: str) -> None:
    backs = ["anthropic", "openai-responses", "bedrock"]
    found = list(verdicts([format], backs))
    assert [str(each) for each in found if each.status != "passed"] == []
    assert Counter(each.back for each in found) == dict.fromkeys(backs, CHECKS[format])
