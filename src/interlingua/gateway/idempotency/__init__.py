"""Requests with an `Idempotency-Key`: answered once, replayed when they are sent again."""
