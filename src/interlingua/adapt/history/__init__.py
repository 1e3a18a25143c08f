"""Rewrites a conversation for another model: ids, thinking, roles, media, tools.

`rewriter.py` goes through the messages, `pairs.py` knows which result belongs to which call,
`issuers.py` who can verify a signature, `images.py` and `tools.py` what a model may not take.
"""
