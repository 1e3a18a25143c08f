"""A program of a user, for type checkers."""
