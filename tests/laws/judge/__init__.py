"""Judging a translation by what the wires say, as `tests.laws.facts` reads them.

`align.py` finds which piece of one conversation is which of the other, `differences.py` says where
two wires differ, and `account.py` whether a report accounts for that.
"""
