"""What models refuse: the checker agrees with recorded answers, and sees what it should."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.laws import fits
from tests.laws.corpus import corpus_or_skip
from tests.laws.fits import model_of, recorded, refusals


def test_the_checker_imports_nothing_of_the_package() -> None:
    for path in Path(fits.__file__).parent.glob("*.py"):
        if path.name in ("recorded.py", "run.py", "agents.py", "capture.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "interlingua"], path


def test_l11_what_was_answered_is_not_refused() -> None:
    corpus_or_skip()
    every = {r.id: found for r in recorded.asked(200) if (found := recorded.judged(r))}
    assert every == {}


def test_l12_what_was_refused_is_refused_or_about_something_else() -> None:
    corpus_or_skip()
    elsewhere = recorded.not_about_fit()
    refused = list(recorded.asked(400))
    missed = [r.id for r in refused if not recorded.judged(r) and r.id not in elsewhere]
    assert missed == []
    assert elsewhere.keys() <= {r.id for r in refused if not recorded.judged(r)}


@pytest.mark.parametrize(
    ("name", "family", "version"),
    [
        ("claude-opus-4-6", "claude", (4, 6)),
        ("claude-sonnet-4-20250514", "claude", (4, 0)),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude", (4, 5)),
        ("claude-3-5-sonnet@20241022", "claude", (3, 5)),
        ("anthropic/claude-haiku-4.5", "claude", (4, 5)),
        ("gpt-4o-2024-08-06", "gpt", (4, 0)),
        ("gpt-6.1-sol", "gpt", (6, 1)),
        ("o4-mini", "o", (4, 0)),
        ("models/gemini-2.5-flash-lite", "gemini", (2, 5)),
        ("gemini-2.0-flash-001", "gemini", (2, 0)),
        ("deepseek-v4-pro", "deepseek", (4, 0)),
        ("us.amazon.nova-2-lite-v1:0", "nova", (2, 0)),
        ("openai/gpt-oss-120b", "gpt-oss", (0, 0)),
    ],
)
def test_names_say_family_and_version(name: str, family: str, version: Any) -> None:
    found = model_of(name)
    assert (found.family, found.version) == (family, version)


HELLO = [{"role": "user", "content": "Hello"}]
FUNCTION = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
BREAKS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("ANT-SAMPLING", "anthropic", "claude-opus-4-7", {"temperature": 0.5}),
    ("ANT-TEMP-RANGE", "anthropic", "claude-opus-4-6", {"temperature": 1.5}),
    ("ANT-TEMP-XOR-TOPP", "anthropic", "claude-opus-4-6", {"temperature": 0.5, "top_p": 0.5}),
    ("ANT-EFFORT", "anthropic", "claude-opus-4-6", {"output_config": {"effort": "xhigh"}}),
    ("ANT-EFFORT", "anthropic", "claude-haiku-4-5", {"output_config": {"effort": "low"}}),
    ("ANT-ADAPTIVE", "anthropic", "claude-opus-4-5", {"thinking": {"type": "adaptive"}}),
    ("ANT-CANNOT-DISABLE", "anthropic", "claude-opus-5-5", {"thinking": {"type": "disabled"}}),
    ("ANT-FORCED", "anthropic", "claude-sonnet-5-5", {"tool_choice": {"type": "any"}}),
    ("ANT-MAX", "anthropic", "claude-sonnet-4-5", {"max_tokens": 100_000}),
    (
        "ANT-MIDSYS",
        "anthropic",
        "claude-opus-4-6",
        {"messages": [*HELLO, {"role": "system", "content": "Be brief."}]},
    ),
    (
        "ANT-PREFILL",
        "anthropic",
        "claude-opus-4-6",
        {"messages": [*HELLO, {"role": "assistant", "content": "Hi"}]},
    ),
    ("OAI-SAMPLING", "openai-chat", "gpt-5", {"temperature": 0}),
    ("OAI-EFFORT", "openai-chat", "gpt-4o", {"reasoning_effort": "low"}),
    ("OAI-TOOLS-CHAT", "openai-chat", "gpt-6.1-sol", {"tools": [FUNCTION]}),
    ("OAI-STOP", "openai-chat", "gpt-5", {"stop": ["a"]}),
    ("OAI-MAX-NAME", "openai-chat", "o3", {"max_tokens": 9}),
    ("OAI-EFFORT", "openai-responses", "gpt-4.1", {"reasoning": {"effort": "low"}}),
    (
        "GEM-LEVEL",
        "gemini",
        "gemini-2.5-pro",
        {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}},
    ),
    (
        "GEM-BUDGET",
        "gemini",
        "gemini-2.5-pro",
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    ),
]
HOMES = {"anthropic": "anthropic", "gemini": "gemini"}


@pytest.mark.parametrize(("rule", "dialect", "name", "more"), BREAKS)
def test_what_a_model_does_not_take_is_seen(
    rule: str, dialect: str, name: str, more: dict[str, Any]
) -> None:
    provider = HOMES.get(dialect, "openai")
    wire = {"model": name, "messages": HELLO, **more}
    assert rule in [each.rule for each in refusals(provider, dialect, name, wire)]
    plain = {"model": name, "messages": HELLO}
    assert refusals(provider, dialect, name, plain) == []
