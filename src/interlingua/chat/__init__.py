"""Talking: a session, a client and tools put together.

`chat.py` says one thing to a model and gives what comes back, as it comes. It has no terminal and
no prompt: `cli/chat.py` does.
"""

from interlingua.chat.chat import Chat, Said

__all__ = ["Chat", "Said"]
