"""Exchanges with providers on tape: recorded, scrubbed, committed, and played again in tests."""
