"""Keeping the rules of models fresh: what other tools' data say otherwise. Not shipped."""
