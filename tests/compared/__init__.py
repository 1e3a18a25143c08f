"""What other converters make of the same bodies: `make compare`."""
