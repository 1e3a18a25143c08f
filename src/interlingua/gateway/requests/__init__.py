"""What passes the gateway, to look at: a list, one request, all live; and keys with caps."""
