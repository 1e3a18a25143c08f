"""Sessions over HTTP, and the turns that run in them."""
