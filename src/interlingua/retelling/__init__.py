"""The steps of retelling; `interlingua.retell` is the way in.

`teller.py` goes through the messages, `pairs.py` knows which result belongs to which call,
`issuers.py` who can verify a signature, `images.py` and `tools.py` what a model may not take.
"""
