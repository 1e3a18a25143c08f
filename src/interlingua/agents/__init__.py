"""Chats and tasks: a session, a client and tools put together."""
