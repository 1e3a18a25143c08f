"""The request log over HTTP: a list, one request, live; keys and caps, read-only."""
