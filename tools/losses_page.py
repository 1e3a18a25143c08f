"""The tables of the page of losses and notes, made from the reasons: `make docs`."""

from __future__ import annotations

from interlingua.model.reasons import NOTED, PRIVATE, REASONS

START = "<!-- reasons -->\n"
PARTS = {"error": "Losses of severity error", "warning": "Losses", "info": "Notes"}
SETTINGS = """## Settings of one service

A key of a request that only one service has is a loss (`vendor_setting`), and one of an answer a
note (`vendor_field`). Some are explained:

| key | means |
| --- | --- |
"""


def page(text: str) -> str:
    """The page with its tables made anew."""
    parts = [text.partition(START)[0] + START]
    for severity, title in PARTS.items():
        rows = [
            f"| `{code}` | {reason} |\n"
            for code, (found, reason) in REASONS.items()
            if found == severity and not code.startswith("unsupported")
        ]
        parts.append(f"## {title}\n\n| code | reason |\n| --- | --- |\n" + "".join(rows))
    keys = [f"| `{key}` | {meaning} |\n" for key, meaning in PRIVATE.items()]
    parts.append(SETTINGS + "".join(keys))
    listed = ", ".join(f"`{key}`" for key in sorted(NOTED))
    parts.append(f"Keys of requests that change no answer are notes: {listed}.\n")
    return "\n".join(parts)
