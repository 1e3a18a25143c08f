"""Serves the page at `/`, and the conversions that only it asks for."""
