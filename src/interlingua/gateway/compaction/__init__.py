"""Compaction of conversations in each vendor's API, with any model behind it."""
