"""Streams: bytes to frames and back, and events to messages and back."""
