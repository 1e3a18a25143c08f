"""Words of Codex's rollouts (seen in 0.166.0 and 0.144.4, 2026-11-17)."""

from __future__ import annotations

NOT_TYPED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
)
"""How messages of the user begin that no person typed."""

MODEL_MADE = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
    }
)
"""Items that the model makes, beside its messages."""

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
