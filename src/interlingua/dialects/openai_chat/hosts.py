"""Services that speak Chat Completions with words of their own, as data.

Reading takes all of their shapes at once. Writing follows one host: `write_request(…, host=…)`, and
the providers built on it. A host says little about home: what a wire said in another way still goes
back in that way, but for thinking to a host that takes none."""

from __future__ import annotations

from typing import Literal, NamedTuple

from interlingua.ids import IdGrammar

Replay = Literal["never", "calls", "always", "own"]
"""When thinking is sent back: never; with calls, where the host insists on it; always; or, at a
host of which nothing is known, what it said itself, in the form in which it said it."""


class Host(NamedTuple):
    """How one service differs from OpenAI's own."""

    ids: IdGrammar | None = None
    """Tool ids that it accepts; others are fitted. None leaves that to retelling."""
    max_tokens: str = "max_completion_tokens"
    seed: str = "seed"
    user: str | None = "safety_identifier"
    """The key for the end user's id; None where there is none."""
    developer: bool = True
    """Knows the role developer; else it is written as system."""
    thinking: str | None = None
    """Where thinking stands in a message: a key, or `content` for chunks among the text."""
    replay: Replay = "never"
    switch: str | None = None
    """The key that turns thinking on and off, where it is not done by the effort."""


OPENAI_IDS = IdGrammar(r"[a-zA-Z0-9_.:|-]", 1, 40)
"""40 is the safe limit: longer ids were refused as `string_above_max_length` (through 2026-01)."""
LONG_IDS = IdGrammar(r"[a-zA-Z0-9_.:|-]", 1, 128)
"""Hosts that make longer ids themselves (DeepSeek 43, vLLM 46) take them back."""

HOSTS: dict[str, Host] = {
    "openai": Host(OPENAI_IDS),
    "azure": Host(OPENAI_IDS, user="user"),
    # Exactly nine letters and digits, else a 400 of code 3280.
    "mistral": Host(
        IdGrammar(r"[a-zA-Z0-9]", 9, 9),
        max_tokens="max_tokens",
        seed="random_seed",
        user=None,
        developer=False,
        thinking="content",
        replay="always",
    ),
    "groq": Host(LONG_IDS, user="user", thinking="reasoning", replay="always"),
    # Turns with tool calls without their reasoning_content are refused; on others it is ignored.
    "deepseek": Host(
        LONG_IDS,
        max_tokens="max_tokens",
        user=None,
        developer=False,
        thinking="reasoning_content",
        replay="calls",
        switch="thinking",
    ),
    "xai": Host(LONG_IDS, user="user", thinking="reasoning_content", replay="always"),
}
