"""A server on loopback that stands in for providers: recorded exchanges, and faults on demand."""
