"""Compaction of conversations, in the words of each vendor, with any model behind."""
