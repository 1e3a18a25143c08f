"""One conversation with a model, with tools and files; no terminal of its own.

`chat.py` sends one message and yields the answer as it arrives, and goes back by forks. `setup.py`
knows which models can be reached from this machine, and shows a request without sending it.
`files.py` makes blocks of files, and has the tools for the files of a folder.
"""

from interlingua.agents.chat.chat import AsyncChat, Chat, ChatEvent

__all__ = ["AsyncChat", "Chat", "ChatEvent"]
