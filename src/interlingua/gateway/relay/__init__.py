"""One request: read, sent on, answered in the dialect of the client."""
