"""The gateway's own paths."""
