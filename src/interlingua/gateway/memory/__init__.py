"""State between requests: signatures, and responses that clients continue."""
