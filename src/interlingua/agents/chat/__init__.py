"""One conversation with a model, with tools and files; no terminal of its own.

`chat.py` says one thing to a model and gives what comes back, as it comes. It has no terminal and
no prompt: `cli/chat.py` does. Around it: `setup.py` knows who can be talked to from this machine,
`attach.py` makes blocks of files, `files.py` has the tools for the files of a folder, `family.py`
goes back by forks, and `dry_run.py` shows a request that is not sent.
"""

from interlingua.agents.chat.chat import Chat, ChatEvent

__all__ = ["Chat", "ChatEvent"]
