"""Decisions in the form of each vendor, read and written both ways, and by chat models."""
