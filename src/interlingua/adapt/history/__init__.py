"""Rewrites a conversation for another model: ids, thinking, roles, media, tools.

`rewriter.py` goes through the messages, `calls.py` knows which result belongs to which call,
`issuers.py` who can verify a signature, `request_parts.py` and `tool_mapping.py` which tools a
model may use.
"""
