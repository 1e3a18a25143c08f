"""What each type of event says, one Struct per type, grouped by domain.

No field holds the text of a message or the input of a tool: hashes, sizes and counts stand for
them. Texts named `redacted_…` have been cleaned by the one who emits.
"""
