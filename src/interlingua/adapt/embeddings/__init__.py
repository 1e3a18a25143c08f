"""Embeddings in the form of each vendor, read and written both ways."""
