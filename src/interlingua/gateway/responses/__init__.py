"""Stateful Responses: WebSocket, conversations, background, items of the input."""
