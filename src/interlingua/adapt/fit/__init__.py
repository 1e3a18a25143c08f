"""Adapts a request to what one model accepts, by the rules of its profile.

`fit.py` is the way in and says the order; each other module does one thing: `reasoning.py`,
`sampling.py`, `tools.py`, `turns.py`, `marks.py`, `media.py`, `amounts.py`. `answers.py` turns an
answer that had to be asked for in another way into the one that the client expects; `keys.py` tells
from a body's keys whether there is anything to do.
"""
