"""Other converters of sessions beside ours, on the same files."""
