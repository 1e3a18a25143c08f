"""Words of Claude Code's files (seen in 2.1.325 and older ones, 2026-11-17)."""

from __future__ import annotations

NODES = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""Lines of these types have a `uuid` and stand in the tree; all others are bookkeeping."""

NOISE = (
    b'{"type":"api-request',
    b'{"type":"file-history-snapshot"',
    b'{"type":"queue-operation"',
    b'{"type":"last-prompt"',
    b'{"type":"cost-state"',
    b'{"type":"atis-latch"',
    b'{"type":"tools-used"',
    b'{"type":"mode"',
)
"""How lines begin that say nothing about the conversation: requests once more, state of the
screen. They are often three quarters of a file, and are not looked into."""

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that name the session, the most telling kind first, and the key of the name."""

NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
)
"""How user lines begin that no person typed as a prompt."""

SYNTHETIC = "<synthetic>"
"""The model of answers that the client made up: errors, and what it says to itself."""
