"""Removes secrets and personal data from conversations before others see them.

    from interlingua.transcripts.redaction import redact

    value, findings = redact(messages)

Keys and tokens of known shapes, passwords in URLs and behind names that promise them, e-mail and IP
addresses, home folders, and user-defined patterns become placeholders such as
`[redacted:openai-key:1]`. The structure stays unchanged; findings are reported by kind and place,
never by value.
"""

from interlingua.transcripts.redaction.redactor import ALL as ALL
from interlingua.transcripts.redaction.redactor import KINDS as KINDS
from interlingua.transcripts.redaction.redactor import Finding as Finding
from interlingua.transcripts.redaction.redactor import OwnPattern as OwnPattern
from interlingua.transcripts.redaction.redactor import PatternError as PatternError
from interlingua.transcripts.redaction.redactor import Redacted as Redacted
from interlingua.transcripts.redaction.redactor import Redactor as Redactor
from interlingua.transcripts.redaction.redactor import Rules as Rules
from interlingua.transcripts.redaction.redactor import redact as redact
from interlingua.transcripts.redaction.redactor import redact_lines as redact_lines
