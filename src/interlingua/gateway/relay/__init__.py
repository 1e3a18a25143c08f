"""One request on its way: understood, asked, answered in the client's dialect."""
