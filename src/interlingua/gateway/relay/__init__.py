"""One request on its way: read, sent on, answered in the client's dialect."""
