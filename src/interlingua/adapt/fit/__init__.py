"""Adapts a request to what one model accepts, by the rules of its profile.

`fit.py` is the way in and says the order; each other module does one thing: `reasoning.py`,
`sampling.py`, `choice.py`, `output.py`, `tools.py`, `names.py`, `turns.py`, `marks.py`, `media.py`,
`limits.py`. `back.py` turns an answer that had to be asked for in another way into the one that was
wanted; `dialect_choice.py` chooses the dialect, `keys.py` tells from a body's keys whether there is
anything to do.
"""
