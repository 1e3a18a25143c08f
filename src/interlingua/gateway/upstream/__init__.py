"""HTTP to the providers."""
