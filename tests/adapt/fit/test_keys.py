"""Whether a body may have to be fitted, told from its keys."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.adapt.fit import keys, sampling
from interlingua.adapt.fit.keys import touches
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message
from interlingua.profiles.profile import profile_of


@pytest.mark.parametrize(
    ("model", "body", "read"),
    [
        ("anthropic:claude-opus-4-8", b'{"messages":[{"role":"user","content":"hi"}]}', False),
        ("anthropic:claude-opus-4-8", b'{"messages":[{"cache_control":{"ttl":"1h"}}]}', True),
        (
            "anthropic:claude-opus-4-8",
            b'{"messages":[' + b'{"type":"image"},' * 600 + b'{"type":"image"}]}',
            True,
        ),
        (
            "anthropic:claude-opus-4-8",
            b'{"messages":[{"type":"image","x":"' + b"x" * 70_000 + b'"}]}',
            True,
        ),
        ("mistral:mistral-large-latest", b'{"messages":[{"role":"user"},{"role":"system"}]}', True),
        ("openai:gpt-4o", b'{"messages":[{"prompt_cache_breakpoint":{}}]}', True),
    ],
)
def test_a_body_is_read_where_a_limit_may_touch_it(model: str, body: bytes, read: bool) -> None:
    provider, _, name = model.partition(":")
    dialect = "anthropic" if provider == "anthropic" else "openai-chat"
    assert touches(profile_of(name, provider, dialect), dialect, body) is read


VALUES = {"logprobs": 2, "logit_bias": {"1": 2.0}, "seed": 7, "top_k": 5}


@pytest.mark.parametrize("dialect", keys._KEYS)
def test_every_option_that_a_rule_may_be_about_is_watched(dialect: str) -> None:
    for option, field in sampling._PLAIN:
        options = Options(**{option: VALUES.get(option, 0.5)})
        request = Request((Message.user("hi"),), "m", options=options)
        report = il.dialect(dialect).write_request(request).report
        if not any(entry.path.startswith(f"$.options.{option}") for entry in report.entries):
            assert f"sampling.{field}" in keys._KEYS[dialect]
