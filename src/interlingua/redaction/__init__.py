"""Taking secrets and addresses out of conversations before others see them.

    from interlingua.redaction import redact

    value, findings = redact(messages)

Keys and tokens of known shapes, passwords in URLs and behind names that promise them, e-mail and
IP addresses, home folders, and own patterns become placeholders such as `[redacted:openai-key:1]`.
The structure stays as it is; what was found is told by kind and place, never by itself.
"""

from interlingua.redaction.lines import redact_lines
from interlingua.redaction.machine import PatternError
from interlingua.redaction.redactor import Redactor, redact
from interlingua.redaction.rules import ALL, KINDS, Finding, OwnPattern, Redacted, Rules

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
