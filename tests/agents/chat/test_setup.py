"""Who can be talked to, and the parts around a chat: files, attachments, forks, dry requests."""

from __future__ import annotations

from pathlib import Path

from interlingua.agents.chat.setup import Setup
from interlingua.sessions.setting import LOCAL


def test_with_nothing_configured_the_model_in_the_box_is_the_default() -> None:
    setup = Setup(environ={})
    assert setup.default_model("/somewhere") == LOCAL
    assert {model.partition(":")[0] for model in setup.usable()} <= {"local", "ollama"}


def test_a_key_makes_its_provider_the_default_and_rules_come_before_it(home: Path) -> None:
    setup = Setup(environ={"OPENAI_API_KEY": "sk-1234567890"})
    assert setup.default_model("/somewhere").startswith("openai:")
    (home / "rules.toml").write_text(
        'schema_version = 1\ndefault = "gemini:gemini-2.5-flash"\n'
        '[workspaces."/here"]\ndefault = "anthropic:claude-sonnet-4-6"\n'
    )
    setup = Setup(environ={"OPENAI_API_KEY": "sk-1234567890"})
    assert setup.default_model("/somewhere") == "gemini:gemini-2.5-flash"
    assert setup.default_model("/here") == "anthropic:claude-sonnet-4-6"


def test_models_of_the_users_own_providers_are_known_also_beside_own_aliases(home: Path) -> None:
    (home / "providers.toml").write_text('[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\n')
    (home / "rules.toml").write_text('schema_version = 1\n[aliases]\nfast = "mine:small"\n')
    names = Setup(environ={}).router.config().names
    assert names.require("mine:large") == "mine:large"
    assert names.require("fast") == "mine:small"
    assert names.resolve("nobody:large") is None


def test_a_missing_key_is_told_with_its_variables() -> None:
    problem = Setup(environ={}).problem("anthropic:claude-sonnet-4-6")
    assert problem is not None
    assert "ANTHROPIC_API_KEY" in problem
    assert Setup(environ={}).problem(LOCAL) is None


# Attachments


# Files of the workspace


# Forks
