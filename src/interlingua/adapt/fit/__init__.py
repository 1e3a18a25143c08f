"""Adapts a request to what one model accepts, by the rules of its profile.

`fit.py` is the entry point and sets the order; each other module does one thing: `reasoning.py`,
`sampling.py`, `tools.py`, `turns.py`, `marks.py`, `media.py`, `amounts.py`. `answers.py` translates
the answer back if the request was changed; `keys.py` decides from a body's keys whether there is
anything to do.
"""
