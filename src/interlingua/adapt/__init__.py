"""Makes the body of a request: history first, then the rules of the model, then the wire."""
