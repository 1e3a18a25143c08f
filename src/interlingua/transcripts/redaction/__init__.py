"""Removes secrets and personal data from conversations before others see them.

    from interlingua.transcripts.redaction import redact

    value, findings = redact(messages)

Keys and tokens of known shapes, passwords in URLs and behind names that promise them, e-mail and
IP addresses, home folders, and own patterns become placeholders such as `[redacted:openai-key:1]`.
The structure stays as it is; what was found is told by kind and place, never by itself.
"""

from interlingua.transcripts.redaction.redactor import (
    ALL,
    KINDS,
    Finding,
    OwnPattern,
    PatternError,
    Redacted,
    Redactor,
    Rules,
    redact,
    redact_lines,
)

__all__ = [
    "ALL",
    "KINDS",
    "Finding",
    "OwnPattern",
    "PatternError",
    "Redacted",
    "Redactor",
    "Rules",
    "redact",
    "redact_lines",
]
